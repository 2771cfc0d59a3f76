/*
 * The tree as the recorder grows it: leaves at once, nodes when there is time.
 *
 * A record's leaf is hashed before the next record of its stream can be
 * written; the nodes above it are needed by nobody before a checkpoint is
 * signed.  So leaves wait here until the callers of their batch have been
 * answered and there are enough of them to be hashed side by side.  The nodes
 * over each whole block (hashes.h) are hashed once, for the root and for the
 * file beside the records.  One thread.
 */
#ifndef LEDGER_RECORDER_GROW_H
#define LEDGER_RECORDER_GROW_H

#include <stdint.h>

#include "ledger/tree/hashes.h"
#include "ledger/tree/tree.h"

#define GROW_WAITING 4096		/* leaves that wait at most */

struct grow {
	uint64_t size;			/* leaves, waiting or not */
	struct tree_frontier tree;	/* over whole blocks */
	struct tree_frontier block;	/* over what is behind these */
	struct hashes hashes;		/* gets what the tree gets */
	size_t n_waiting;
	uint8_t (*waiting)[TREE_HASH_LEN];
};

/* No tree yet, and nothing to free. */
void grow_init(struct grow *grow);
/* Go on from a tree; 0, or -1 out of memory.  The hashes are started apart. */
int grow_start(struct grow *grow, const struct tree_frontier *tree);
void grow_stop(struct grow *grow);

/* 0, or -1 where the tree is full. */
int grow_add(struct grow *grow, const uint8_t leaf[TREE_HASH_LEN]);

/* Take those that wait into the tree, where that is worth while; or all. */
void grow_tidy(struct grow *grow);
void grow_up(struct grow *grow);

/* The tree over all that was added. */
void grow_tree(struct grow *grow, struct tree_frontier *out);

#endif
