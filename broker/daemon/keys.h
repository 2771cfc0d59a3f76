/*
 * The daemon's keys between the passphrase and those who use them.  They live
 * in one page that forked children do not inherit; passphrase and master key
 * are wiped before keys_open returns.
 */
#ifndef BROKER_DAEMON_KEYS_H
#define BROKER_DAEMON_KEYS_H

#include "ask.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keys;

/* Ask, open HOME/master.json, derive.  NULL with a message. */
struct keys *keys_open(const struct ask_passphrase *from, bool must_lock,
    char *err, size_t err_len);
void keys_free(struct keys *keys);	/* wiped; NULL-safe */

/* 32 bytes each. */
const uint8_t *keys_vault(const struct keys *keys);
const uint8_t *keys_ca(const struct keys *keys);
const uint8_t *keys_pseudonym(const struct keys *keys);

/* Unseal HOME/ledger/seed; the seed is there until keys_forget_ledger. */
#define KEYS_SEED_LABEL "ledger seed"
int keys_unseal_seed(struct keys *keys, char *err, size_t err_len);
const uint8_t *keys_seed(const struct keys *keys);
/* What it is sealed under; 32 bytes, until then too. */
const uint8_t *keys_ledger(const struct keys *keys);
/* Wipe the seed and the key that it was sealed under. */
void keys_forget_ledger(struct keys *keys);

#endif
