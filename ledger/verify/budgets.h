/*
 * What runs were opened for, against what they and the runs below them did: a broker
 * books all that a run uses to each of those above it, too.  It takes a request from
 * the budgets before it writes that it was allowed, and never gives one back that it
 * wrote; so requests are exact.  A time is not: a broker goes by a clock that nobody
 * sets, and records by the time of day.
 */
#ifndef LEDGER_VERIFY_BUDGETS_H
#define LEDGER_VERIFY_BUDGETS_H

#include "ledger/record/record.h"

#define BUDGET_LATE_US INT64_C(300000000)	/* between the check and the record, and of clocks */

struct unended;

/* Of a run that is open; a member of unended_run. */
struct budget {
	uint64_t above;			/* the number of the run that it is below; 0: of none that is kept */
	uint64_t requests, bytes_out, cost;	/* UINT64_MAX: no limit */
	int64_t until_us;		/* its own end, or an earlier one of those above */
	bool odd;			/* it says a bound that is none */
	bool exceeded, late;		/* and it was told */
	/* with those below: */
	uint64_t admitted, outcomes;	/* outcomes and sent: of a bundle alone */
	uint64_t sent;			/* bytes, by outcomes */
	uint64_t told_bytes, told_cost;	/* by teardowns of those below */
	unsigned below;			/* open ones right below it */
	bool unsettled;			/* one below ended with something under way */
};

/* What its opening says; above: the run that it is below, or 0.  Before it is added. */
void budgets_open(struct unended *open, struct budget *budget,
    const struct record_line *opening, uint64_t above);

enum budgets_breach { BUDGETS_FINE = 0, BUDGETS_BEYOND = 1, BUDGETS_LATE = 2 };

/* n requests more, the last of them then.  BEYOND: that is the first time beyond a
 * limit, the run's own or one of those above it; *fits of the n are within.  LATE: the
 * first time behind the end. */
unsigned budgets_admit(struct unended *open, uint64_t number, unsigned n, int64_t time_us,
    unsigned *fits);

/* Is that behind the run's end? */
bool budgets_late(const struct budget *budget, int64_t time_us);

void budgets_outcome(struct unended *open, uint64_t number, const struct record_line *outcome);

/* Before it is removed.  NULL, or what its teardown contradicts. */
const char *budgets_end(struct unended *open, uint64_t number,
    const struct record_line *teardown);

#endif
