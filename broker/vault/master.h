/*
 * One passphrase, one Argon2id, several keys: the vault's, the ledger signing
 * key's, the CA's.  The recorder gets only its own, so that neither half of
 * the daemon can open what belongs to the other.
 *
 * HOME/master.json holds the Argon2id parameters and salt, and a random master
 * key sealed under what Argon2id makes of the passphrase; a digest over the
 * whole tells a damaged file from a wrong passphrase.  Format: FORMAT.md.
 * One thread at a time.
 */
#ifndef BROKER_MASTER_H
#define BROKER_MASTER_H

#include "vault/vault.h"

#define MASTER_KEY_LEN 32
#define MASTER_PASSPHRASE_MAX 1024

struct master;	/* locked memory; wiped by master_free */

/* What one guess of the passphrase costs: Argon2id passes and memory. */
struct master_cost {
	uint32_t passes, mem_kib;
};
extern const struct master_cost master_cost_moderate;	/* 3 passes, 256 MiB */
extern const struct master_cost master_cost_least;	/* 1 pass, 8 KiB: for tests */

/*
 * Make HOME/master.json (VAULT_EXISTS where it is there already).  cost is
 * what the caller chose, or NULL for moderate; it is kept in the file.
 */
enum vault_status master_create(const char *path, const void *passphrase,
    size_t len, const struct master_cost *cost, struct master **out,
    struct vault_error *err);

/* VAULT_MISSING without a file, VAULT_WRONG_KEY for another passphrase,
 * VAULT_DAMAGED for an altered file, VAULT_INVALID for one that others may
 * touch or of another version. */
enum vault_status master_open(const char *path, const void *passphrase,
    size_t len, struct master **out, struct vault_error *err);
void master_free(struct master *master);

/*
 * Seal the same master key under another passphrase, at the file's own cost, in
 * the place of the old file.  Nothing else is written anew: what lies sealed
 * under the master key stays as it is, and a copy of the old file still opens
 * with the old passphrase.  On failure the old file is in place.
 */
enum vault_status master_change(const struct master *master, const char *path,
    const void *passphrase, size_t len, struct vault_error *err);

/* The key for one purpose ("vault", "ledger", "ca", "api", "scan"; another is
 * an error of ours); out is MASTER_KEY_LEN bytes of the caller's locked
 * memory (secret_memory_new). */
void master_key(const struct master *master, const char *purpose, uint8_t *out);

/*
 * Small sealed files (the ledger's seed, the CA's key): XChaCha20-Poly1305
 * under one purpose's key, label (at most 64 bytes) as associated data, so
 * that one file cannot stand in for another.  Written as a whole, 0600.
 */
enum vault_status sealed_write(const char *path, const uint8_t *key,
    const char *label, const void *bytes, size_t len, struct vault_error *err);
enum vault_status sealed_read(const char *path, const uint8_t *key,
    const char *label, struct secret **out, struct vault_error *err);

#endif
