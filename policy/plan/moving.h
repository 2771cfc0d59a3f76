/*
 * Numbers of the input that are different in a run's next decision: what the
 * budget has used, the moment, the uses left of a grant.  Most rules only ask
 * whether such a number is above or below another one, and their answer stays
 * the same until the number gets there.
 *
 * While a decision is evaluated, a range is kept for each of them: as long as
 * every number stays within its range, every comparison made so far comes out
 * as it did.  Where a number itself went into something (a sum, a text, an
 * answer), its range is that number alone.  So an evaluation for any numbers
 * within the ranges takes the same way to the same result.
 *
 * Which statements compare and which look closer is found when a plan is
 * loaded (plan_reads.h).
 */
#ifndef POLICY_PLAN_MOVING_H
#define POLICY_PLAN_MOVING_H

#include "policy/input.h"

/* Both ends belong to it. */
struct moving_range {
	int64_t lo, hi;
};

/* One decision; a mask is a set of numbers, bits in the order of input_moving. */
struct moving {
	int64_t now[INPUT_MOVING];	/* what they are, -1: not there */
	const struct value *leaf[INPUT_MOVING];	/* where in the document; NULL: none yet */
	struct moving_range range[INPUT_MOVING];
};

void moving_begin(struct moving *moving, const struct policy_input *input);
/* Once there is a document, before anything is evaluated. */
void moving_document(struct moving *moving, const struct value *document);

/* These numbers themselves matter. */
void moving_looked_at(struct moving *moving, uint8_t mask);
/* a and b were put in order, or may be: two values, no matter which. */
void moving_compared(struct moving *moving, const struct value *a,
    const struct value *b);

/* Some of the ranges, in order, to be kept; room for as many as mask has. */
void moving_ranges(const struct moving *moving, uint8_t mask,
    struct moving_range *out);
/* Are these numbers within those ranges? */
bool moving_within(const struct moving *moving, uint8_t mask,
    const struct moving_range *ranges);
/* What was found within those ranges is used: they are ours, too. */
void moving_narrow(struct moving *moving, uint8_t mask,
    const struct moving_range *ranges);

#endif
