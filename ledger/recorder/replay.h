/*
 * Reading a ledger back when it is opened: the tree, where every stream stands,
 * and the torn end that a crash may have left.
 *
 * Nothing up to the size of the last signed checkpoint is ever touched: a root
 * that does not match, a missing record, a broken line or chain refuses the
 * ledger.  Behind that size, complete lines that continue their streams are
 * kept, since their writers may have been told so; the end from the first line
 * that has no LF or holds a NUL is cut off, since nobody was told of it.
 *
 * Of segments that are full and signed only the root is taken, from the files
 * beside them (hashes.h), so that a start costs the same after a year: the
 * signed root confirms those roots.  It does not read those records again;
 * countersign-verify does, and so does `all` here.  Where the short way does
 * not lead to the signed root, the long way decides.
 */
#ifndef LEDGER_RECORDER_REPLAY_H
#define LEDGER_RECORDER_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/problem.h"
#include "ledger/record/record.h"
#include "ledger/tree/note.h"
#include "ledger/tree/tree.h"

#define REPLAY_STREAMS_MAX 256

/* Where one stream stands. */
struct replay_stream {
	char name[RECORD_NAME_MAX + 1];
	uint64_t next_seq;
	uint8_t last[RECORD_HASH_LEN];	/* leaf of its last record */
	int64_t time_us;		/* of that record */
	bool open;			/* an open without a close behind it */
};

struct replay {
	struct tree_frontier tree;	/* over all records that are kept */
	uint64_t segment_first;		/* the last segment: its first index, */
	uint64_t segment_count;		/* records, */
	uint64_t segment_size;		/* and bytes */
	uint64_t torn_len;		/* bytes behind them without trailing NULs */
	struct replay_stream *streams;	/* to be freed by replay_free */
	unsigned n_streams;
	uint8_t (*leaves)[TREE_HASH_LEN]; /* of the last segment; freed too */
	char *key_line;			/* the last `key` record read, or NULL; freed too */
	size_t key_len;
	struct tree_frontier key_before;	/* the tree before it */
	uint64_t first_read;		/* index of the first record that was read */
};

/* Read the segments in the directory and hold them against the checkpoint.  0,
 * or -1 with a problem. */
int replay_run(struct replay *replay, int dirfd,
    const struct checkpoint *checkpoint, bool all, struct problem *problem);
void replay_free(struct replay *replay);

/* NULL where the ledger has no such stream. */
const struct replay_stream *replay_find(const struct replay *replay,
    const char *name);

/* What was cut off, for the `recover` record. */
struct replay_torn {
	char file[RECORD_NAME_MAX];	/* recovered-<time>-<index> */
	uint64_t len;
	uint8_t sha256[32];
};

/* Set the torn bytes aside in a file of their own, durably.  The segment is
 * cut by segment_open afterwards.  0, or -1 with a problem. */
int replay_set_aside(const struct replay *replay, int dirfd, int64_t time_us,
    struct replay_torn *torn, struct problem *problem);

#endif
