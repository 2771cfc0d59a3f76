/*
 * Pairs what was seen with what was recorded, one to one.  Both have a key, a
 * stretch of time and maybe a status; a pair has one key, its stretches meet, and
 * where both have a status it is one.  As many pairs as there can be, and of those
 * as many as there can be with records that are not last.  Pure, any thread.
 */
#ifndef LEDGER_COVERAGE_MATCH_H
#define LEDGER_COVERAGE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct match_slot {
	const char *key;
	int64_t from_us, to_us;		/* both included */
	size_t of;			/* the caller's */
	int status;			/* 0: any */
	bool last;			/* a record that is to be taken behind all others */
};

#define MATCH_STEPS_MAX 200000000	/* looks at a record before it gives up */

/*
 * Sorts both.  What is seen must be of one length in time: then taking for each
 * in order of time the record that ends first leaves the fewest without one, where
 * nothing but time decides; where more does, pairs are changed until no change
 * gives one more.  pair is told of each pair by `of`.  0; 1 where that took
 * MATCH_STEPS_MAX steps, so that more pairs are possible; -1 where memory lacks.
 */
int match_run(struct match_slot *record, size_t records, struct match_slot *seen,
    size_t count, void (*pair)(void *context, size_t record, size_t seen),
    void *context);

#endif
