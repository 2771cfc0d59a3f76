/*
 * Runs that were opened and not torn down yet, by the stream that opened them, and
 * what they may do (budgets.h).  Where a stream's session closes in order there are
 * none.  Constant memory: of as many at once as a broker has open, and some more.
 */
#ifndef LEDGER_VERIFY_UNENDED_H
#define LEDGER_VERIFY_UNENDED_H

#include "ledger/verify/budgets.h"

#define UNENDED_MAX 8192

struct unended;

struct unended_run {
	char id[RECORD_NAME_MAX + 1], stream[RECORD_NAME_MAX + 1];
	uint64_t number;		/* of the run, for the caller */
	uint64_t index, seq, line;	/* of its opening */
	unsigned segment;
	struct budget budget;
};

/* NULL where memory lacks. */
struct unended *unended_new(void);
void unended_free(struct unended *unended);

/* It is opened.  Copied. */
void unended_add(struct unended *unended, const struct unended_run *run);

/* Valid until the next one is added or removed; NULL: none of these. */
struct unended_run *unended_find(struct unended *unended, uint64_t number);

/* The run of that number is torn down; it may be none of these. */
void unended_remove(struct unended *unended, uint64_t number);

/* One of those that the stream opened, taken out; false: there is none. */
bool unended_take(struct unended *unended, struct record_slice stream,
    struct unended_run *run);

/* Some were not kept: there were too many, or memory lacked. */
bool unended_lost(const struct unended *unended);

#endif
