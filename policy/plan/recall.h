/*
 * What rules gave in earlier decisions of one thread.  A rule is a function of
 * the members of the input that it looks at (plan_reads.h), of its further
 * arguments and of the pack's data: where all of these are what they were, so
 * is its value, and what it took to find it is spared.  A run asks the same
 * again and again with only the budget and the clock moved on; of these it is
 * enough that they are within the range where nothing changes (moving.h).
 *
 * Only the input document of policy_decide() and the pack's own data count:
 * under `with` nothing is recalled or kept.  What is recalled costs the steps
 * that finding it did, so that limits are met at about the same place.
 */
#ifndef POLICY_PLAN_RECALL_H
#define POLICY_PLAN_RECALL_H

#include "policy/input.h"
#include "policy/plan/moving.h"
#include "policy/plan/plan.h"

struct recall;

/* NULL without memory. */
struct recall *recall_new(void);
void recall_free(struct recall *recall);

/* Before a decision.  pack is a number that no other pack ever had; fields are
 * those that the input has. */
void recall_begin(struct recall *recall, const struct plan *plan,
    uint64_t pack, const struct policy_input *input, uint64_t fields);

/* The numbers of this decision, to be told what happens to them. */
struct moving *recall_moving(struct recall *recall);

/* A call under way, from its beginning to recall_keep(). */
struct recall_call {
	const char *key;	/* in the arena of the decision */
	size_t key_len;
	uint64_t hash;
};

/*
 * True where the value (NULL: undefined) and its steps are known.  Else *call
 * is what recall_keep() wants once the value is there; its key is NULL where
 * nothing is to be kept.  func may be an entry point, which has no args.
 */
bool recall_find(struct recall *recall, struct arena *arena,
    const struct plan_func *func, const struct value *const *args,
    struct recall_call *call, const struct value **result, uint64_t *steps);
void recall_keep(struct recall *recall, const struct plan_func *func,
    const struct recall_call *call, const struct value *result,
    uint64_t steps);

#endif
