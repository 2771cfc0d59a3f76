/*
 * A vault's file of the test's own, and what the tests of it say again and again.
 * Include it after cmocka.h.
 */
#ifndef TESTS_SCRATCH_VAULT_H
#define TESTS_SCRATCH_VAULT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "private_file.h"
#include "vault/vault_file.h"

static char dir[] = "/tmp/test_vault.XXXXXX";
static char path[64], lock[64];
static uint8_t key[32], other_key[32];

static inline int
set_up(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/vault", dir);
	snprintf(lock, sizeof(lock), "%s/vault.lock", dir);
	memset(key, 7, sizeof(key));
	memset(other_key, 8, sizeof(other_key));
	return sodium_init() < 0 ? -1 : 0;
}

static inline int
tear_down(void **state)
{
	unlink(path);
	unlink(lock);
	return rmdir(dir);
}

static inline struct vault *
open_vault(void)
{
	struct vault *vault = NULL;
	struct vault_error err = { 0 };

	if (vault_file_open(path, key, &vault, &err) != VAULT_OK)
		fail_msg("%s", err.text);
	return vault;
}

static inline struct vault *
fresh(void)
{
	struct vault_error err;

	unlink(path);
	assert_int_equal(vault_file_create(path, key, &err), VAULT_OK);
	return open_vault();
}

static inline uint32_t
store(struct vault *vault, const char *name, const char *text, bool rotate)
{
	struct vault_error err = { 0 };
	uint32_t version = 0;

	if (vault_put(vault, name, text, strlen(text), rotate, &version, &err) !=
	    VAULT_OK)
		fail_msg("%s", err.text);
	return version;
}

/* vault_get gives text ("" for none), or this status. */
static inline void
expect(struct vault *vault, const char *name, uint32_t version,
    enum vault_status status, const char *text)
{
	struct secret *secret = NULL;
	struct vault_error err = { 0 };
	uint32_t got = 0;

	assert_int_equal(vault_get(vault, name, version, &secret, &got, &err),
	    status);
	if (status == VAULT_OK) {
		assert_true(secret_equal(secret, text, strlen(text)));
		assert_true(version == 0 || got == version);
	} else {
		assert_null(secret);
		assert_non_null(strchr(err.text, ' '));
	}
	secret_unref(secret);
}

static inline enum vault_status
try_open(const uint8_t *with, struct vault_error *err)
{
	struct vault *vault = NULL;
	enum vault_status status = vault_file_open(path, with, &vault, err);

	assert_true((status == VAULT_OK) == (vault != NULL));
	vault_close(vault);
	return status;
}

static inline uint8_t *
read_file(size_t *len)
{
	uint8_t *bytes = private_file_read(path, PRIVATE_SECRET, 1 << 20, len);

	assert_non_null(bytes);
	return bytes;
}

static inline void
write_file(const uint8_t *bytes, size_t len)
{
	assert_int_equal(private_file_replace(path, bytes, len), 0);
}

#endif
