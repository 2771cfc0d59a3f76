/* The encrypted file store; format in broker/vault/FORMAT.md. */
#ifndef BROKER_VAULT_FILE_H
#define BROKER_VAULT_FILE_H

#include "vault/vault.h"

/* key is MASTER_KEY_LEN bytes and is copied into locked memory. */
enum vault_status vault_file_create(const char *path, const uint8_t *key,
    struct vault_error *err);
enum vault_status vault_file_open(const char *path, const uint8_t *key,
    struct vault **out, struct vault_error *err);

#endif
