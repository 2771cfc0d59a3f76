/*
 * The tree over up to SUBTREE_LEAVES neighbours, hashed many nodes at a time:
 * an aligned subtree of RFC 6962, or the part of one that there are leaves for.
 * Private to verify.
 */
#ifndef LEDGER_VERIFY_SUBTREE_H
#define LEDGER_VERIFY_SUBTREE_H

#include "ledger/sha256/sha256.h"
#include "ledger/tree/tree.h"

#define SUBTREE_LEVEL 10		/* of the root */
#define SUBTREE_LEAVES (1u << SUBTREE_LEVEL)

/* Two hashes as the message of the node above them. */
struct subtree_pair {
	uint8_t prefix;
	uint8_t hash[2][TREE_HASH_LEN];
};
_Static_assert(sizeof(struct subtree_pair) == 1 + 2 * TREE_HASH_LEN,
    "a pair is hashed where it lies");

/* The hashes of the leaves' places, then level by level up to the root. */
struct subtree {
	struct subtree_pair pair[SUBTREE_LEAVES];
	struct sha256_job job[SUBTREE_LEAVES];	/* scratch, also of those who hash leaves */
};

void subtree_init(struct subtree *subtree);

/* Where the leaf of a place is, to be read or set. */
uint8_t *subtree_leaf(struct subtree *subtree, unsigned place);

/* The leaves of the places [first, end) are set: all nodes over them alone. */
void subtree_fold(struct subtree *subtree, unsigned first, unsigned end);

/* Append the leaves of [first, end), which lie within what was folded, to the
 * tree, whose size is first modulo SUBTREE_LEAVES, by the largest subtrees that
 * there are.  0, or -1: the tree is full or has another size. */
int subtree_append(const struct subtree *subtree, unsigned first, unsigned end,
    struct tree_frontier *tree);

#endif
