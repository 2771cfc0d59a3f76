/* What the witness's files and its rules share.  Private to witness*.c, and of
 * its one thread. */
#ifndef LEDGER_ANCHOR_WITNESS_IMPL_H
#define LEDGER_ANCHOR_WITNESS_IMPL_H

#include <stdbool.h>
#include <sys/types.h>

#include "ledger/anchor/cosign.h"
#include "ledger/anchor/witness.h"
#include "ledger/tree/epochs.h"

#define WITNESS_STATE_MAX (COSIGN_PLAIN_MAX + COSIGN_LINE_MAX)

/* One log: an origin with the keys that may sign for it. */
struct watched {
	char origin[NOTE_NAME_MAX + 1], id[33];
	struct epochs *key;	/* each with those that follow from it */
	unsigned keys;
	struct checkpoint at;	/* the latest; size 0: none */
	char *note;		/* as cosigned; NULL: none */
	size_t note_len;
	unsigned evidence;	/* files kept */
};

struct witness {
	int dirfd, lock_fd;
	struct note_key key;
	uint8_t *sk;		/* locked memory */
	struct watched *log;
	unsigned logs;
	bool broken;		/* what is kept is not known: nothing is cosigned */
};

/* NULL: not watched. */
struct watched *witness_find(const struct witness *witness,
    const char *origin);

/* Take a note with our own signature for the log's state.  0, or -1 with a
 * problem. */
int witness_take_state(struct witness *witness, struct watched *log,
    const char *text, size_t len, struct problem *problem);

/* Follow a log's keys, from whichever watched one they follow: 200, 400 or 409
 * with the reason. */
unsigned witness_follow(struct watched *log, const char *text, size_t len,
    const char **why);

/* Names of a log's files. */
void witness_state_name(const struct watched *log, char out[64]);
void witness_epochs_name(const struct watched *log, char out[64]);

#endif
