/*
 * The recorder: takes submissions from the channel, has them written, commits
 * them in batches, answers, signs checkpoints.  It is the loop; what it writes
 * is scribe.h's, and where is store.h's business.
 *
 * A batch is whatever was queued while the one before was on its way to the
 * disk.  There is no pause to make batches larger.
 */
#ifndef LEDGER_RECORDER_RECORDER_H
#define LEDGER_RECORDER_RECORDER_H

#include "ledger/problem.h"
#include "ledger/recorder/channel.h"
#include "ledger/recorder/scribe.h"
#include "ledger/recorder/store.h"

#define RECORDER_BATCH 2048	/* records between two commits */

struct recorder_setup {
	struct channel *channel;
	int owner_fd;		/* hung up where the producers' process is gone */
	const char *dir, *stream, *policy;
	uint8_t *sk;		/* NOTE_SK_LEN, locked */
	const struct ledger_keeper *keeper;	/* NULL: the key never changes */
	unsigned epoch_s;	/* 0: not by time */
	uint64_t epoch_records;	/* 0: not by number */
	bool sync, check_all;
	unsigned checkpoint_ms;
	uint64_t reserve_bytes;
	const char *place;	/* for the `open` record: "process", "thread" */
	const char *confined;	/* the same: confine_report's text, or "" */
	bool key_locked;	/* the same: sk cannot be swapped out */
};

struct recorder;

/* Open the ledger, append `open` (and `recover`), sign that.  NULL with a
 * problem. */
struct recorder *recorder_start(const struct recorder_setup *setup,
    unsigned ports, struct problem *problem);

/*
 * Serve until told to stop, then append `close` and sign it; or until the
 * owner is gone, then write what it left, and sign that.  Frees everything.  0
 * where all that was acknowledged is closed and signed, else -1.
 */
int recorder_run(struct recorder *recorder);

#endif
