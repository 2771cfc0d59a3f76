/*
 * Keeps the ledger's signing seed sealed on disk while the key changes
 * (ledger_keeper): HOME/ledger/seed, and seed.next while a change is on its
 * way.  Called in the recorder, which has inherited the sealing key; the
 * daemon's own copy is wiped once the recorder runs.
 *
 * Erasing is overwriting, syncing and unlinking.  What a file system that
 * copies on write, or a disk, keeps of it is still sealed under the passphrase.
 */
#ifndef BROKER_DAEMON_KEEPER_H
#define BROKER_DAEMON_KEEPER_H

#include "ledger/recorder/append.h"


struct keeper;

/* key: 32 bytes, copied into locked memory that a fork inherits.  dir: the
 * ledger's.  NULL out of memory. */
struct keeper *keeper_new(const char *dir, const uint8_t *key);
void keeper_free(struct keeper *keeper);	/* wiped; NULL is ignored */

/* Wipe the sealing key: from now on this process's keeper can do nothing. */
void keeper_forget(struct keeper *keeper);

/* Valid as long as the keeper. */
const struct ledger_keeper *keeper_ledger(const struct keeper *keeper);

#endif
