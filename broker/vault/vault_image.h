/*
 * The vault file as a value: parsed, checked, changed and sealed in memory.
 * No I/O; vault_file.c does that.  Format: broker/vault/FORMAT.md.  Not
 * thread-safe.
 */
#ifndef BROKER_VAULT_IMAGE_H
#define BROKER_VAULT_IMAGE_H

#include "vault/vault.h"

#define VAULT_IMAGE_MAX (64u * 1024 * 1024)	/* bytes of one vault file */
#define VAULT_IMAGE_ENTRIES_MAX 65536u		/* versions of all secrets */
#define VAULT_IMAGE_REVOKED_MAX 100u		/* of one secret, that are remembered */

struct vault_keys;	/* what the vault key is split into; locked memory */
struct vault_image;

/* key is MASTER_KEY_LEN bytes.  NULL where memory cannot be locked. */
struct vault_keys *vault_keys_new(const uint8_t *key);
void vault_keys_free(struct vault_keys *keys);

/* An empty vault with an identity of its own, generation 0. */
struct vault_image *vault_image_new(void);
void vault_image_free(struct vault_image *image);

/* Check and parse a whole file; the image keeps no pointer into it. */
enum vault_status vault_image_decode(const struct vault_keys *keys,
    const uint8_t *file, size_t len, struct vault_image **out,
    struct vault_error *err);

/* The file that image becomes, one generation up; free *out. */
enum vault_status vault_image_encode(const struct vault_keys *keys,
    struct vault_image *image, uint8_t **out, size_t *len,
    struct vault_error *err);

/* Seal payload (the entries in plain) as a file of this identity; what
 * vault_image_encode does last, apart for the fuzzer.  *file has
 * VAULT_IMAGE_OVERHEAD + len bytes. */
#define VAULT_IMAGE_OVERHEAD 136
void vault_image_seal(const struct vault_keys *keys, const uint8_t id[16],
    uint64_t generation, const uint8_t *payload, size_t len, uint8_t *file);

uint64_t vault_image_generation(const struct vault_image *image);
/* At least that; the file that it becomes is one up. */
void vault_image_raise(struct vault_image *image, uint64_t generation);
const uint8_t *vault_image_identity(const struct vault_image *image);	/* 16 bytes */
bool vault_image_same_vault(const struct vault_image *a,
    const struct vault_image *b);

/* The operations of struct vault_ops, on the image. */
enum vault_status vault_image_put(const struct vault_keys *keys,
    struct vault_image *image, const char *name, const void *bytes, size_t len,
    bool rotate, int64_t now_s, uint32_t *version, struct vault_error *err);
enum vault_status vault_image_get(const struct vault_keys *keys,
    const struct vault_image *image, const char *name, uint32_t version,
    struct secret **out, uint32_t *got, struct vault_error *err);
enum vault_status vault_image_revoke(struct vault_image *image,
    const char *name, uint32_t version, int64_t now_s, struct vault_error *err);
void vault_image_list(const struct vault_image *image,
    void (*each)(void *arg, const char *name, uint32_t version,
    int64_t created_s, int64_t revoked_s), void *arg);

#endif
