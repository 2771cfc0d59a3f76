/*
 * Reads a ledger's lines in order, once, in constant memory: splits them,
 * hashes each, reads its envelope, and folds aligned batches into subtrees.
 * Hashing and reading are spread over threads; batches are handed over in
 * order on the calling thread.
 */
#ifndef LEDGER_WALK_H
#define LEDGER_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/record.h"
#include "ledger/tree.h"

#define WALK_LEVEL 10
#define WALK_LINES (1u << WALK_LEVEL)	/* lines of a batch at most */
#define WALK_THREADS_MAX 16

struct walk_line {
	const char *text;		/* without LF; of an overlong one, its beginning */
	uint32_t len;
	const char *rule;		/* NULL, or the rule that it breaks */
	const uint8_t *leaf;		/* TREE_HASH_LEN bytes; as long as the batch */
	uint8_t prev[TREE_HASH_LEN];	/* decoded; meant where rule is NULL */
	struct record_line record;	/* meant where rule is NULL */
};

struct walk_batch {
	uint64_t index;			/* of the first line in the tree */
	unsigned segment;
	uint64_t line;			/* of the first line in its file, from 1 */
	unsigned count;
	const struct walk_line *lines;
	bool whole;			/* an aligned subtree of WALK_LINES leaves: node is its root */
	uint8_t node[TREE_HASH_LEN];
};

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
	/* 0, or another value to stop with */
	int (*batch)(void *context, const struct walk_batch *batch);
	/* an unterminated end of a segment; the same */
	int (*torn)(void *context, unsigned segment, uint64_t line, uint64_t bytes);
	void *context;
	uint64_t bytes;			/* out: read in all */
};

/* 0 at the end; what a callback returned; or -1 with a message in err. */
int walk_run(struct walk *walk, char *err, size_t err_len);

#endif
