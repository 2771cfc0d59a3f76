/*
 * The Merkle tree of RFC 6962, section 2.1, over a ledger's lines.
 *
 *   leaf = SHA-256(0x00 || line)    node = SHA-256(0x01 || left || right)
 *
 * The line is hashed without its LF.  A tree of n leaves splits at the largest
 * power of two below n; the empty tree's root is SHA-256("").
 *
 * A frontier (RFC 9162 calls it the compact range of [0, n)) is all that one
 * needs to keep to append leaves and to know the root: one node for each set
 * bit of the size.  Nodes are named (level, index): the root of the complete
 * subtree over the leaves [index << level, (index + 1) << level).
 *
 * Nothing here keeps global state; every function may be called on any thread.
 */
#ifndef LEDGER_TREE_TREE_H
#define LEDGER_TREE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_HASH_LEN 32
#define TREE_LEAF_PREFIX 0x00
#define TREE_NODE_PREFIX 0x01
#define TREE_LEVELS 63			/* sizes stay below 2^63 */
#define TREE_PROOF_MAX (TREE_LEVELS + 1) /* hashes of any proof */
#define TREE_TEXT_MAX 3072		/* bytes of any serialised frontier, and NUL */

void tree_leaf(const void *line, size_t len, uint8_t out[TREE_HASH_LEN]);
/* out may be left or right. */
void tree_node(const uint8_t left[TREE_HASH_LEN],
    const uint8_t right[TREE_HASH_LEN], uint8_t out[TREE_HASH_LEN]);

struct tree_frontier {
	uint64_t size;			/* leaves so far */
	/* node[k] is meant only where bit k of size is set */
	uint8_t node[TREE_LEVELS][TREE_HASH_LEN];
};

void tree_frontier_init(struct tree_frontier *frontier);

/* 0, or -1 where the tree is full. */
int tree_frontier_append(struct tree_frontier *frontier,
    const uint8_t leaf[TREE_HASH_LEN]);

/* The same for count leaves, hashed side by side (sha256/): many cost a fraction
 * of as many single ones.  On -1 nothing was appended. */
int tree_frontier_append_leaves(struct tree_frontier *frontier,
    const uint8_t (*leaf)[TREE_HASH_LEN], size_t count);

/*
 * Append a complete subtree of 2^level leaves at once.  0, or -1 where the
 * size is no multiple of 2^level, or the tree would be full.
 */
int tree_frontier_append_node(struct tree_frontier *frontier, unsigned level,
    const uint8_t node[TREE_HASH_LEN]);

void tree_frontier_root(const struct tree_frontier *frontier,
    uint8_t out[TREE_HASH_LEN]);

/* Sizes equal, and every meant node too. */
bool tree_frontier_equal(const struct tree_frontier *a,
    const struct tree_frontier *b);

/*
 * As text: the size in decimal on a line, then each node in base64 on a line,
 * largest subtree first.  The length without the NUL it adds, or -1 where cap
 * is too small (TREE_TEXT_MAX always suffices).
 */
int tree_frontier_format(const struct tree_frontier *frontier, char *out,
    size_t cap);

/* Exactly that and nothing after it; 0, or -1. */
int tree_frontier_parse(struct tree_frontier *frontier, const char *text,
    size_t len);

/*
 * Where a proof's hashes come from: a file of tiles, or leaves in memory.
 * node is called only for complete subtrees; 0, or -1 to give up.
 */
struct tree_source {
	int (*node)(void *context, unsigned level, uint64_t index,
	    uint8_t out[TREE_HASH_LEN]);
	void *context;
};

/* A source over count leaf hashes that lie one after the other. */
struct tree_leaves {
	const uint8_t (*leaf)[TREE_HASH_LEN];
	uint64_t count;
};
struct tree_source tree_leaves_source(struct tree_leaves *leaves);

/* The root of the first size leaves; 0, or -1 where the source gave up. */
int tree_root(const struct tree_source *source, uint64_t size,
    uint8_t out[TREE_HASH_LEN]);

struct tree_proof {
	unsigned count;
	uint8_t hash[TREE_PROOF_MAX][TREE_HASH_LEN];
};

/* RFC 6962, 2.1.1: that leaf index is in the tree of size leaves.  0, or -1
 * where index >= size or the source gave up. */
int tree_prove_inclusion(const struct tree_source *source, uint64_t index,
    uint64_t size, struct tree_proof *out);
bool tree_verify_inclusion(const struct tree_proof *proof, uint64_t index,
    uint64_t size, const uint8_t leaf[TREE_HASH_LEN],
    const uint8_t root[TREE_HASH_LEN]);

/* RFC 6962, 2.1.2: that the tree of new_size begins with the one of old_size.
 * The proof is empty where old_size is 0 or both are equal.  0, or -1 where
 * old_size > new_size or the source gave up. */
int tree_prove_consistency(const struct tree_source *source, uint64_t old_size,
    uint64_t new_size, struct tree_proof *out);
bool tree_verify_consistency(const struct tree_proof *proof, uint64_t old_size,
    uint64_t new_size, const uint8_t old_root[TREE_HASH_LEN],
    const uint8_t new_root[TREE_HASH_LEN]);

#endif
