/*
 * How old records may be at most: a run's opening names the `anchor` record before
 * it, which holds what others said last (ledger/anchor/after.h), and is not older
 * than they say; nor is what follows the opening.
 *
 * Of a bundle it is its run that is asked, and the anchor's record lies in a file
 * beside the records.  Of a ledger each opening is; kept are the anchors that came
 * last, since an opening names the latest.
 */
#ifndef LEDGER_VERIFY_BOUND_H
#define LEDGER_VERIFY_BOUND_H

#include "ledger/verify/load.h"
#include "ledger/verify/walk.h"

#define BOUND_FILE "ledger/after"	/* of a bundle: the anchor's record */

struct bound;
struct pass;

/* The anchors and openings of a batch. */
struct bound_part {
	unsigned count;
	struct bound_fact {
		uint16_t line;
		uint8_t kind;
		uint8_t verdict;	/* of an anchor: what it proves */
		const char *why;
		int64_t time_s, latest_s;
		uint64_t after;		/* of an opening: the index that it names, */
		uint8_t leaf[TREE_HASH_LEN];	/* and the leaf */
	} fact[WALK_LINES];
};

/* options must live as long.  NULL where memory lacks. */
struct bound *bound_new(const struct load *load, const struct verify_options *options);
void bound_free(struct bound *bound);

/* Of a batch by itself, any thread. */
void bound_look(const struct bound *bound, const struct walk_batch *batch,
    struct bound_part *part);

/* The batches in order, up to the tree's size `end`. */
void bound_batch(struct bound *bound, const struct walk_batch *batch,
    const struct bound_part *part, uint64_t end);

/* Once the records are found to be those that were signed: findings. */
void bound_judge(struct bound *bound, struct verify_result *result);

/* Behind the judgement of anchors: between which times the run's records were made,
 * and whether that is as near as the policy wants.  Nothing without a policy. */
void bound_state(const struct bound *bound, struct verify_result *result);

#endif
