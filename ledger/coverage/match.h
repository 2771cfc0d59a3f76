/*
 * Pairs what was seen with what was recorded, one to one.  Both have a key and a
 * stretch of time; a pair has one key, and its stretches meet.  As many pairs as
 * there can be.  Pure, any thread.
 */
#ifndef LEDGER_COVERAGE_MATCH_H
#define LEDGER_COVERAGE_MATCH_H

#include <stddef.h>
#include <stdint.h>

struct match_slot {
	const char *key;
	int64_t from_us, to_us;		/* both included */
	size_t of;			/* the caller's */
};

/*
 * Sorts both.  What is seen must be of one length in time: then taking for each
 * in order of time the record that ends first leaves the fewest without one.
 * pair is told of each pair by `of`.  0, or -1 where memory lacks.
 */
int match_run(struct match_slot *record, size_t records, struct match_slot *seen,
    size_t count, void (*pair)(void *context, size_t record, size_t seen),
    void *context);

#endif
