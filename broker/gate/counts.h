/*
 * Refusals told by their number: where there are too many to be written one by
 * one (plane/flood.h, gate/refusals.h).  A bucket says which are; a table counts
 * the others by whose they were, kind, rule and place.
 *
 * Whatever comes, the table has COUNTS_MAX places: from half of them on the place
 * is not told apart any more, and what finds none in the end is told as refusals
 * by `several` rules.  No number is lost.  The caller locks.
 */
#ifndef BROKER_GATE_COUNTS_H
#define BROKER_GATE_COUNTS_H

#include "gate/gate.h"

#define COUNTS_MS 10000		/* a count is told when it is so old */
#define COUNTS_MAX 32

struct counts {
	struct gate_counted one[COUNTS_MAX];
	int64_t since_ms[COUNTS_MAX];
	unsigned n;
};

/* One more like what, whose count and times are not looked at.  now_ms is
 * monotonic, now_us the time of day. */
void counts_add(struct counts *counts, const struct gate_counted *what,
    int64_t now_ms, int64_t now_us);

/* Take one that is COUNTS_MS old, or (all) any; false where there is none. */
bool counts_take(struct counts *counts, int64_t now_ms, bool all,
    struct gate_counted *out);

/*
 * A bucket of `burst`, into which one comes back a second, kept as the moment at
 * which it will be full (0: full).  False where it is empty.
 */
bool bucket_spend(int64_t *full_ms, unsigned burst, int64_t now_ms);

/* What is counted of a refusal; place: where it was to go, or NULL. */
void counted_of(struct gate_counted *out, const struct gate_verdict *refusal,
    int64_t uid, const char *kind, const struct target *place);

#endif
