/*
 * A ledger's directory, as its one writer holds it: lock, key, tree, segments,
 * checkpoints.
 *
 *   lock           flock'd by the writer; holds its process id
 *   log.vkey       the public key; its name is the ledger's origin
 *   records-*      the segments (segment.h)
 *   epochs         how later keys follow from it (tree/epochs.h), if any do
 *   checkpoint     the latest signed checkpoint, replaced as a whole
 *   checkpoints    all of them, one after the other, each with an empty line
 *   hashes-*       the tree beside the segments (hashes.h)
 *   recovered-*    torn ends that were cut off
 *
 * Records are added to memory first and reach the disk together with
 * store_commit; only then may anybody be told.  After a call has failed the
 * store must only be abandoned.  One thread.
 */
#ifndef LEDGER_RECORDER_STORE_H
#define LEDGER_RECORDER_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/problem.h"
#include "ledger/recorder/append.h"
#include "ledger/recorder/grow.h"
#include "ledger/recorder/replay.h"
#include "ledger/recorder/segment.h"
#include "ledger/tree/epochs.h"
#include "ledger/tree/note.h"
#include "ledger/tree/tree.h"

#define STORE_SEED_LEN 32
#define STORE_BUFFER (1024 * 1024)	/* bytes of records between two writes */

struct store {
	int dirfd, lock_fd, log_fd;
	struct note_key key;		/* in force */
	struct epochs epochs;		/* all of them, the origin's first */
	uint64_t epochs_size;		/* bytes of that file */
	int64_t born_s;			/* when the origin's key was made */
	uint8_t *sk;			/* NOTE_SK_LEN, locked memory; not owned */
	bool sync;			/* false: for benchmarks only */
	struct grow grow;		/* the tree over all that was added */
	struct tree_frontier before;	/* without the last one, where asked for */
	bool keep_before;
	size_t last_len;		/* bytes of the last line, without LF */
	uint64_t committed;		/* size of the tree that is on disk */
	uint64_t signed_size;		/* size of the latest checkpoint */
	uint64_t log_size;		/* bytes of checkpoints */
	uint64_t log_set_aside;
	struct segment segment;
	char *buffer;			/* STORE_BUFFER bytes */
	size_t buffered;
	uint64_t buffered_count;
};

/* ---- store_create.c ---- */

/* Make an empty ledger; see ledger_create. */
int store_create(const char *dir, const char *origin,
    const uint8_t sk[NOTE_SK_LEN], struct problem *problem);

/* ---- store_open.c ---- */

/*
 * Lock the ledger in dir, hold it against its latest checkpoint and get ready
 * to append.  What was found is in *replay (to be freed), what was cut off in
 * *torn (len 0: nothing).  sk must live as long as the store; where a crash
 * came between two keys, the keeper's next one takes its place.  0, or -1 with a
 * problem and nothing to abandon.
 */
int store_open(struct store *store, const char *dir,
    uint8_t sk[NOTE_SK_LEN], const struct ledger_keeper *keeper, bool sync,
    bool check_all, uint64_t reserve, struct replay *replay,
    struct replay_torn *torn, struct problem *problem);

/* ---- store.c ---- */

/* For rekey.c.  Sign the tree as committed with the key in force, again: the
 * same bytes.  The length, or -1. */
int store_sign(struct store *store, char *out, size_t cap);
/* Space for an entry of `epochs`; 0, or -1 where there is none. */
int store_prepare_epoch(struct store *store);
/* Append an entry, durably, and have the key that it brings in force: sk is to
 * follow.  0, or -1. */
int store_add_epoch(struct store *store, const char *entry, size_t len);
/* The last line added, before anything else is; its length. */
size_t store_last_line(const struct store *store, char *out);

enum store_status { STORE_OK, STORE_FULL, STORE_FAILED };

/* Room for one line of up to RECORD_LINE_MAX bytes, to be composed in place at
 * *line.  Control records may use the reserve. */
enum store_status store_room(struct store *store, bool control, char **line);

/* Add the line of len bytes that was composed there; its LF is added here. */
int store_add(struct store *store, size_t len, uint8_t leaf[TREE_HASH_LEN]);

/* Make everything added durable. */
int store_commit(struct store *store);

/* What need not be done while somebody waits for an answer. */
void store_tidy(struct store *store);

/* Sign the tree as committed, durably; nothing where it is signed already. */
int store_checkpoint(struct store *store);

/* Get ready for what comes, while nothing is to be done, by one step of
 * segment_prepare; and whether there is something to get. */
bool store_wants_space(const struct store *store);
int store_prepare(struct store *store);

/* Cut the last segment to its records and let go.  Committed before. */
int store_close(struct store *store);

/* Let go and leave everything on disk as it is. */
void store_abandon(struct store *store);

#endif
