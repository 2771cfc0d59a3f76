/*
 * The refusals of a run, when there are too many of them: an agent is refused as
 * often as it likes to be, and each is a durable record.
 *
 * As many as the pack says (data.limits.refusals, REFUSALS_BURST where it says
 * nothing) are records of their own, and one more a second; runs below another
 * share that of the one at the top, or each would bring its own.  The first by
 * each rule always is one, in each run and for REFUSALS_RULES rules, so that
 * nothing new is hidden behind many of the same.  What comes beyond is counted
 * (counts.h), each run's apart, told every COUNTS_MS and before its teardown.
 *
 * What is counted is answered at once and lost where the broker is killed before
 * it is told; the teardown, which would count it too, then is not there either.
 */
#ifndef BROKER_GATE_REFUSALS_H
#define BROKER_GATE_REFUSALS_H

#include "gate/counts.h"

#define REFUSALS_BURST 2000
#define REFUSALS_RULES 64

/* Of one run; under gate->refusals_lock. */
struct refusals {
	int64_t full_ms;		/* bucket; of the run at the top */
	uint64_t rules[REFUSALS_RULES];	/* digests of those that were recorded */
	unsigned n_rules;
	struct counts *counts;		/* NULL: there never was one too many */
	bool listed;			/* among the gate's, who holds a reference then */
	struct run *next;
};

void refusals_free(struct refusals *refusals);

/* At the end of the gate: nobody is left to tell. */
void refusals_forget(struct gate *gate);

/* For who closes the run: one of its counts. */
bool refusals_take_last(struct gate *gate, struct run *run,
    struct gate_counted *out);

#endif
