/*
 * What records say they were admitted under: the member `parent` of a body is
 * the leaf hash of an earlier record, of a type that can admit this one.
 *
 *   run, teardown               a run
 *   grant                       a run, a grant (revoked), a decision
 *   use, decision, refusal      a run, a grant, a decision
 *   outcome                     a use, a decision
 *
 * Leaves of records that can admit are remembered, the latest ones that were
 * used of them, in constant memory; what is not among them is looked up in a
 * second walk over the records.
 */
#ifndef LEDGER_VERIFY_LINKS_H
#define LEDGER_VERIFY_LINKS_H

#include "ledger/verify/load.h"

#define LINKS_LOOSE_MAX 1024	/* looked up in the second walk */

struct links;

/* only: records of this run are looked at alone, in a bundle; or NULL.
 * NULL where memory lacks. */
struct links *links_new(const struct load *load, const char *only);
void links_free(struct links *links);

/* The lines in order, up to the tree's size `end`. */
void links_batch(struct links *links, const struct walk_batch *batch, uint64_t end);

/* Once all were taken: findings for what does not fit, in the signed records.
 * again walks over the records once more where that is needed. */
void links_judge(struct links *links, struct verify_result *result,
    int (*again)(const struct load *, int (*)(void *, const struct walk_batch *),
    void *));

#endif
