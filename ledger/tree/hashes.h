/*
 * The tree beside the records: for each segment a file hashes-<first> with the
 * leaf hashes in order, then, once the segment is full, the nodes of level 8
 * (each over 256 leaves), the segment's root (level 16) and the size in bytes of
 * its records.
 *
 *   0          leaves, 32 bytes each, up to 65,536
 *   2,097,152  256 nodes of level 8
 *   2,105,344  the root of the segment, and u64 big-endian: bytes of its records
 *
 * Any node of the tree, and so any tile and any proof, is found with a few
 * reads and at most 255 hashes.  All of it follows from the records, which are
 * the truth: a file that is missing, short or wrong is made again from them.
 * So writing these files is never waited for, and failing to is no failure.
 */
#ifndef LEDGER_TREE_HASHES_H
#define LEDGER_TREE_HASHES_H

#include <stdint.h>

#include "ledger/tree/tree.h"

#define HASHES_SEGMENT 65536
#define HASHES_LEVEL 16			/* of a segment's root */
#define HASHES_BLOCK 256		/* leaves under a node that is kept */
#define HASHES_BLOCK_LEVEL 8
#define HASHES_NAME_MAX 32

/* The writer's state for the segment that grows. */
struct hashes {
	int dirfd;			/* not owned */
	int fd;				/* -1: given up for this segment */
	uint64_t first, count;
	unsigned waiting;		/* leaves not written yet */
	uint8_t leaf[HASHES_BLOCK][TREE_HASH_LEN]; /* of the block that grows */
	uint8_t node[256][TREE_HASH_LEN];	/* of the blocks that are full */
};

/* Start the file of a segment with the count leaves that it has already. */
void hashes_start(struct hashes *hashes, int dirfd, uint64_t first,
    const uint8_t (*leaves)[TREE_HASH_LEN], uint64_t count);

void hashes_add(struct hashes *hashes, const uint8_t leaf[TREE_HASH_LEN]);

/* The same for count leaves of one block of HASHES_BLOCK.  node is the block's
 * root where they are its last ones and it is known, else NULL. */
void hashes_add_leaves(struct hashes *hashes,
    const uint8_t (*leaf)[TREE_HASH_LEN], unsigned count,
    const uint8_t node[TREE_HASH_LEN]);

/* Let readers see what was added. */
void hashes_flush(struct hashes *hashes);

/* The segment is full, with so many bytes; then close. */
void hashes_finish(struct hashes *hashes, uint64_t bytes);

void hashes_stop(struct hashes *hashes);

/* What a finished file says of its segment. */
struct hashes_end {
	uint8_t root[TREE_HASH_LEN];
	uint64_t bytes;
};

/* 0, or -1 where there is no finished file. */
int hashes_read_end(int dirfd, uint64_t first, struct hashes_end *out);

/*
 * A source of nodes for proofs about the first `size` records of the ledger in
 * dirfd.  Only what a signed root confirms is to be believed.  Any thread, each
 * with its own.
 */
struct hashes_reader {
	int dirfd;
	uint64_t size;
};
struct tree_source hashes_source(struct hashes_reader *reader);

/* The tile of c2sp.org/tlog-tiles with these numbers, width (1 to 256) hashes
 * of 32 bytes, in out.  0, or -1. */
int hashes_tile(struct hashes_reader *reader, unsigned level, uint64_t index,
    unsigned width, uint8_t out[256 * TREE_HASH_LEN]);

#endif
