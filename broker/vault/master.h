/*
 * One passphrase, one Argon2id, several keys: the vault's and the ledger
 * signing key's.  The recorder gets only its own, so that neither half of the
 * daemon can open what belongs to the other.
 *
 * HOME/master.json holds version, Argon2id parameters and salt, and a keyed
 * check value that tells a wrong passphrase from a damaged file.
 */
#ifndef BROKER_MASTER_H
#define BROKER_MASTER_H

#include "vault/vault.h"

#define MASTER_KEY_LEN 32

struct master;	/* locked memory; wiped by master_free */

/* Make HOME/master.json (must not exist) and derive from it. */
enum vault_status master_create(const char *path, const void *passphrase,
    size_t len, struct master **out, struct vault_error *err);
enum vault_status master_open(const char *path, const void *passphrase,
    size_t len, struct master **out, struct vault_error *err);
void master_free(struct master *master);

/* The key for one purpose ("vault", "ledger", "ca"); out is MASTER_KEY_LEN
 * bytes of the caller's locked memory. */
void master_key(const struct master *master, const char *purpose, uint8_t *out);

/* Small sealed files (the ledger's seed, the CA's key): XChaCha20-Poly1305
 * under one purpose's key, the file's name as associated data. */
enum vault_status sealed_write(const char *path, const uint8_t *key,
    const char *label, const void *bytes, size_t len, struct vault_error *err);
enum vault_status sealed_read(const char *path, const uint8_t *key,
    const char *label, struct secret **out, struct vault_error *err);

#endif
