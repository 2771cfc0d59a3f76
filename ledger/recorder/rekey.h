/*
 * Epoch keys, on the recorder's side: a new signing key is brought in by a
 * `key` record, sealed with the old key's last checkpoint, proved in the file
 * `epochs` (tree/epochs.h), and only then used; the old secret is erased.
 *
 *   1  the new seed is kept beside the one in force          keeper: save_next
 *   2  the `key` record is written, durable
 *   3  the checkpoint that ends with it is signed by the old key, durable
 *   4  its entry in `epochs` is written, durable
 *   5  the new seed takes the old one's place, which is erased  keeper: advance
 *
 * A crash between any two of them is finished at the next start: up to 1 the
 * new seed is dropped, from 2 on the change is completed before anything else
 * is written.  So there is no `key` record that does not begin an epoch.
 */
#ifndef LEDGER_RECORDER_REKEY_H
#define LEDGER_RECORDER_REKEY_H

#include "ledger/problem.h"
#include "ledger/recorder/append.h"
#include "ledger/recorder/scribe.h"
#include "ledger/recorder/store.h"

enum rekey_status {
	REKEY_DONE,
	REKEY_LATER,	/* no space or no keeper's help now; nothing was changed */
	REKEY_FAILED	/* nothing more may be signed by this process */
};

/* Before anything is written: a change that a crash interrupted.  keeper may be
 * NULL.  0, or -1 with a problem. */
int rekey_resume(struct store *store, const struct replay *replay,
    const struct ledger_keeper *keeper, struct problem *problem);

/* Begin an epoch now; reason is "interval", "size" or "command".  Everything
 * added before must be committed. */
enum rekey_status rekey_now(struct store *store, struct scribe *scribe,
    const struct ledger_keeper *keeper, const char *reason);

#endif
