/*
 * A witness (c2sp.org/tlog-witness): it remembers, for each log that it was
 * told to watch, the latest tree that it has seen, and cosigns a checkpoint only
 * if its tree begins with that one.  So a log that shows two histories needs
 * the help of its witnesses.
 *
 *   key            PRIVATE+KEY+<name>+<id>+<base64(4 || seed)>, mode 0600
 *   logs           the logs' vkeys, one a line; several of one origin are all
 *                  good for it
 *   epochs-<id>    how a log's later keys follow from the one in logs
 *                  (epochs.h), as the log showed it
 *   lock           flock'd by the one process that cosigns
 *   state-<id>     the latest checkpoint cosigned, with our own signature; id is
 *                  the first half of SHA-256 of the origin, in hex
 *   evidence-<id>-<digest>  a checkpoint that a log's key signed and that does
 *                  not go with the one in its state file
 *
 * A state is on disk before its cosignature is given away.  A state file that
 * does not hold our own signature refuses the start: to forget is to be
 * willing to cosign a fork.  Putting back an older one cannot be seen from
 * here.  One thread.
 */
#ifndef LEDGER_ANCHOR_WITNESS_H
#define LEDGER_ANCHOR_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/problem.h"
#include "ledger/tree/note.h"

#define WITNESS_KEYS_MAX 1024	/* of all logs */
#define WITNESS_EVIDENCE_MAX 64	/* checkpoints kept for one log; half of them of bad proofs */
#define WITNESS_REPLY_MAX 512

/* A new key in dir, which is made where it is not there; its vkey in *key.
 * Refuses where there is one.  0, or -1 with a problem. */
int witness_create(const char *dir, const char *name, struct note_key *key,
    struct problem *problem);

/* Add a log to those watched by dir.  0; 1 where it is among them already; -1
 * with a problem, where there is no witness's key too. */
int witness_add_log(const char *dir, const struct note_key *log,
    struct problem *problem);

/* The witness's key, and each key that it watches with the latest checkpoint
 * cosigned for its log (NULL: none), without its lock.  0, or -1 with a problem. */
int witness_look(const char *dir, struct note_key *key,
    void (*log)(void *context, const struct note_key *log,
    const struct checkpoint *at), void *context, struct problem *problem);

struct witness;

/* NULL with a problem. */
struct witness *witness_open(const char *dir, struct problem *problem);
void witness_close(struct witness *witness);	/* NULL is ignored */

const struct note_key *witness_key(const struct witness *witness);
unsigned witness_origins(const struct witness *witness);

struct witness_reply {
	unsigned status;		/* of HTTP */
	const char *type;		/* of the content */
	size_t len;
	char body[WITNESS_REPLY_MAX];	/* NUL behind it */
	const char *event;		/* for a log: "cosigned", "inconsistent", ... */
	char origin[NOTE_NAME_MAX + 1];	/* a log that is watched, or "" */
	uint64_t size;			/* of what was submitted */
};

/*
 * add-checkpoint: 200 with our signature, 409 with the size that we are at, 409
 * with an empty body for a second root of one size, 422 for a proof that does
 * not hold, 404 and 403 for an unknown log or key, 400; 500 where the state
 * cannot be written, and as long as it cannot.  Where it is not known whether the
 * new one is in its place, nothing is cosigned until the next start.
 */
void witness_add_checkpoint(struct witness *witness, const char *body,
    size_t len, uint64_t now_s, struct witness_reply *reply);

/*
 * Our own extension, POST /epochs: a log shows how its later keys follow from
 * one that is watched (its file `epochs`).  200, 404 for an unknown log, 400 for
 * what does not follow, 409 for less than is known or another key than that.
 */
#define WITNESS_EPOCHS_MAX (1024 * 1024)	/* bytes of them */
void witness_add_epochs(struct witness *witness, const char *body, size_t len,
    struct witness_reply *reply);

/* The latest checkpoint cosigned of the log with that id; NULL where there is
 * none.  Valid until the next call. */
const char *witness_latest(const struct witness *witness, const char *id,
    size_t *len);

/* The id under which an origin is kept: 32 hex digits and NUL. */
void witness_origin_id(const char *origin, char out[33]);

#endif
