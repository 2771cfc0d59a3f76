/*
 * Reads a ledger's lines in order, once, in constant memory: splits them,
 * hashes each, reads its envelope, and folds them into subtrees.  Each of the
 * threads, of which the caller's is one, reads a batch and does with it all that
 * can be done without the batches before it; then batches are handed over in
 * order, one after the other, on whichever thread has time.
 */
#ifndef LEDGER_WALK_H
#define LEDGER_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/record/record.h"
#include "ledger/tree/tree.h"
#include "ledger/verify/subtree.h"

#define WALK_LINES SUBTREE_LEAVES	/* lines of a batch at most */
#define WALK_THREADS_MAX 16

struct walk_line {
	const char *text;		/* without LF; of an overlong one, its beginning */
	uint32_t len;
	const char *rule;		/* NULL, or the rule that it breaks */
	const uint8_t *leaf;		/* TREE_HASH_LEN bytes; as long as the batch */
	uint8_t prev[TREE_HASH_LEN];	/* decoded; meant where rule is NULL */
	struct record_line record;	/* meant where rule is NULL */
};

/* No batch reaches over a multiple of WALK_LINES in the tree. */
struct walk_batch {
	uint64_t index;			/* of the first line in the tree */
	unsigned segment;
	uint64_t line;			/* of the first line in its file, from 1 */
	unsigned count;
	size_t bytes;			/* of its lines with their LFs */
	const struct walk_line *lines;
	const struct subtree *subtree;	/* the tree over them */
	void *facts;			/* what `look` made of it */
};

/* Append the leaves of its lines [from, to) to the tree, which has as many as
 * stand before them, by the largest subtrees that there are.  0, or -1: the tree
 * is full or has another size. */
int walk_append(const struct walk_batch *batch, unsigned from, unsigned to,
    struct tree_frontier *tree);

struct walk_segment {
	char path[64];			/* below dirfd */
	uint64_t first;			/* index that the name gives */
	uint64_t bytes;			/* to be read at most: what grows is not chased */
};

struct walk {
	int dirfd;
	const struct walk_segment *segments;
	unsigned segment_count;
	uint64_t first;			/* index of the first line */
	unsigned threads;		/* 0 and 1: none beside the caller's */
	/* facts_size bytes about a batch by itself, on any thread and for several
	 * batches at once; NULL: none */
	void (*look)(void *context, const struct walk_batch *batch, void *facts);
	size_t facts_size;
	/* 0, or another value to stop with; in order */
	int (*batch)(void *context, const struct walk_batch *batch);
	/* an unterminated end of a segment; the same.  NULL: it is passed over */
	int (*torn)(void *context, unsigned segment, uint64_t line, uint64_t bytes);
	void *context;
	uint64_t bytes;			/* out: read in all */
};

/* 0 at the end; what a callback returned; or -1 with a message in err. */
int walk_run(struct walk *walk, char *err, size_t err_len);

#endif
