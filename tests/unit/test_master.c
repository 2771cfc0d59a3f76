/* master.json and the small sealed files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "private_file.h"
#include "vault/master.h"

#define PASS "correct horse", 13

static char dir[] = "/tmp/test_master.XXXXXX";
static char path[64], sealed[64];

static int
set_up(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/master.json", dir);
	snprintf(sealed, sizeof(sealed), "%s/seed", dir);
	return 0;
}

static int
tear_down(void **state)
{
	char lock[sizeof(path) + 8];

	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	unlink(path);
	unlink(sealed);
	return rmdir(dir);
}

static struct master *
create(void)
{
	struct master *master = NULL;
	struct vault_error err;

	unlink(path);
	assert_int_equal(master_create(path, PASS, &master_cost_least, &master,
	    &err), VAULT_OK);
	return master;
}

static enum vault_status
open_with(const char *passphrase, struct vault_error *err)
{
	struct master *master = NULL;
	enum vault_status status = master_open(path, passphrase,
	    strlen(passphrase), &master, err);

	assert_true((status == VAULT_OK) == (master != NULL));
	master_free(master);
	return status;
}

static void
write_file(const void *bytes, size_t len)
{
	assert_int_equal(private_file_replace(path, bytes, len), 0);
}

static void
same_keys_again(void **state)
{
	struct master *made = create(), *opened = NULL;
	uint8_t *a = secret_memory_new(32), *b = secret_memory_new(32);
	struct vault_error err;

	assert_int_equal(master_open(path, PASS, &opened, &err), VAULT_OK);
	master_key(made, "vault", a);
	master_key(opened, "vault", b);
	assert_memory_equal(a, b, 32);
	master_key(opened, "ledger", b);
	assert_memory_not_equal(a, b, 32);
	master_key(opened, "ca", a);
	assert_memory_not_equal(a, b, 32);
	secret_memory_free(a);
	secret_memory_free(b);
	master_free(opened);
	master_free(made);
	master_free(NULL);
}

static void
wrong_passphrase(void **state)
{
	struct vault_error err;

	master_free(create());
	assert_int_equal(open_with("correct horsf", &err), VAULT_WRONG_KEY);
	assert_non_null(strstr(err.text, "passphrase does not open"));
	assert_null(strstr(err.text, "horsf"));
	assert_int_equal(open_with("", &err), VAULT_INVALID);
	assert_int_equal(open_with("correct horse", &err), VAULT_OK);
}

static void
never_overwrites(void **state)
{
	struct master *master = create(), *other = NULL;
	struct vault_error err;

	assert_int_equal(master_create(path, PASS, &master_cost_least, &other,
	    &err), VAULT_EXISTS);
	assert_null(other);
	assert_int_equal(open_with("correct horse", &err), VAULT_OK);
	master_free(master);
}

static void
changes_passphrase(void **state)
{
	struct master *master = create(), *again = NULL;
	uint8_t *a = secret_memory_new(32), *b = secret_memory_new(32);
	struct vault_error err;
	uint8_t *file;
	size_t len = 0;

	assert_int_equal(master_change(master, path, "", 0, &err), VAULT_INVALID);
	assert_int_equal(open_with("correct horse", &err), VAULT_OK);
	assert_int_equal(master_change(master, path, "battery", 7, &err), VAULT_OK);
	assert_int_equal(open_with("correct horse", &err), VAULT_WRONG_KEY);
	assert_int_equal(master_open(path, "battery", 7, &again, &err), VAULT_OK);
	master_key(master, "vault", a);
	master_key(again, "vault", b);
	assert_memory_equal(a, b, 32);
	file = private_file_read(path, PRIVATE_SECRET, 4096, &len);
	assert_non_null(strstr((const char *)file, "\"passes\": 1,\n \"mem_kib\": 8,"));
	free(file);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(master_change(master, path, "battery", 7, &err), VAULT_MISSING);
	secret_memory_free(a);
	secret_memory_free(b);
	master_free(again);
	master_free(master);
}

/* Every flipped bit and every cut: never opened, and never called wrong
 * passphrase, since the passphrase is right. */
static void
every_flip_and_cut(void **state)
{
	struct vault_error err;
	enum vault_status status;
	uint8_t *file;
	size_t len = 0, i;

	master_free(create());
	file = private_file_read(path, PRIVATE_SECRET, 4096, &len);
	assert_non_null(file);
	for (i = 0; i < 8 * len; i++) {
		file[i / 8] ^= (uint8_t)(1 << i % 8);
		write_file(file, len);
		status = open_with("correct horse", &err);
		if (status != VAULT_DAMAGED && status != VAULT_INVALID)
			fail_msg("bit %zu of byte %zu: status %d", i % 8, i / 8,
			    status);
		file[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (i = 0; i < len - 1; i++) {	/* the last byte is a newline */
		write_file(file, i);
		assert_int_equal(open_with("correct horse", &err), VAULT_DAMAGED);
	}
	write_file(file, len);
	assert_int_equal(open_with("correct horse", &err), VAULT_OK);
	free(file);
}

/* Replace the first of `from` in the file by `to`, and try. */
static enum vault_status
edited(const char *from, const char *to, struct vault_error *err)
{
	char text[4096];
	uint8_t *file;
	size_t len = 0;
	char *at;

	master_free(create());
	file = private_file_read(path, PRIVATE_SECRET, 4096, &len);
	at = strstr((char *)file, from);
	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - (char *)file),
	    (char *)file, to, at + strlen(from));
	free(file);
	write_file(text, strlen(text));
	return open_with("correct horse", err);
}

static void
strict_members(void **state)
{
	struct vault_error err;

	assert_int_equal(edited("\"v\": 1", "\"v\": 1, \"v\": 1", &err),
	    VAULT_DAMAGED);
	assert_int_equal(edited("\"v\": 1", "\"v\": 1, \"x\": 1", &err),
	    VAULT_DAMAGED);
	assert_int_equal(edited("\"v\": 1", "\"v\": 2", &err), VAULT_INVALID);
	assert_non_null(strstr(err.text, "format 2"));
	assert_int_equal(edited("\"passes\": 1", "\"passes\": 65", &err),
	    VAULT_DAMAGED);
	assert_int_equal(edited("\"passes\": 1", "\"passes\": 2", &err),
	    VAULT_DAMAGED);
	assert_int_equal(edited("\"mem_kib\": 8", "\"mem_kib\": 4194305", &err),
	    VAULT_DAMAGED);
	assert_int_equal(edited("argon2id13", "argon2i13", &err), VAULT_DAMAGED);
}

static void
files_of_others(void **state)
{
	struct vault_error err;

	master_free(create());
	chmod(path, 0640);
	assert_int_equal(open_with("correct horse", &err), VAULT_INVALID);
	assert_non_null(strstr(err.text, "chmod 600"));
	chmod(path, 0602);
	assert_int_equal(open_with("correct horse", &err), VAULT_INVALID);
	chmod(path, 0600);
	if (chown(path, 12345, (gid_t)-1) == 0) {	/* who may give files away */
		assert_int_equal(open_with("correct horse", &err), VAULT_INVALID);
		assert_int_equal(chown(path, geteuid(), (gid_t)-1), 0);
	}
	unlink(path);
	assert_int_equal(open_with("correct horse", &err), VAULT_MISSING);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(open_with("correct horse", &err), VAULT_INVALID);
	unlink(path);
}

static void
costs(void **state)
{
	struct master_cost none = { 0, 8 }, little = { 1, 7 };
	struct master *master = NULL;
	struct vault_error err;

	assert_true(master_cost_moderate.passes >= 3);
	assert_true(master_cost_moderate.mem_kib >= 256 * 1024);
	unlink(path);
	assert_int_equal(master_create(path, PASS, &none, &master, &err),
	    VAULT_INVALID);
	assert_int_equal(master_create(path, PASS, &little, &master, &err),
	    VAULT_INVALID);
	assert_int_equal(access(path, F_OK), -1);
}

/* No cost given: the file says moderate.  Slow by design: once. */
static void
default_cost(void **state)
{
	struct master *master = NULL;
	struct vault_error err;
	uint8_t *file;
	size_t len = 0;

	unlink(path);
	assert_int_equal(master_create(path, PASS, NULL, &master, &err), VAULT_OK);
	master_free(master);
	file = private_file_read(path, PRIVATE_SECRET, 4096, &len);
	assert_non_null(strstr((char *)file, "\"mem_kib\": 262144"));
	assert_non_null(strstr((char *)file, "\"passes\": 3"));
	free(file);
}

static void
sealed_files(void **state)
{
	uint8_t key[32], other[32], *file;
	struct secret *secret = NULL;
	struct vault_error err;
	enum vault_status status;
	size_t len = 0, i;

	randombytes_buf(key, 32);
	randombytes_buf(other, 32);
	assert_int_equal(sealed_write(sealed, key, "seed", "0123456789", 10, &err),
	    VAULT_OK);
	assert_int_equal(sealed_read(sealed, key, "seed", &secret, &err), VAULT_OK);
	assert_true(secret_equal(secret, "0123456789", 10));
	secret_unref(secret);
	assert_int_equal(sealed_read(sealed, other, "seed", &secret, &err),
	    VAULT_WRONG_KEY);
	assert_int_equal(sealed_read(sealed, key, "ca.key", &secret, &err),
	    VAULT_WRONG_KEY);
	assert_int_equal(sealed_read(sealed, key, "salt", &secret, &err),
	    VAULT_WRONG_KEY);
	assert_null(secret);

	file = private_file_read(sealed, PRIVATE_SECRET, 4096, &len);
	for (i = 0; i < 8 * len; i++) {
		file[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(private_file_replace(sealed, file, len), 0);
		status = sealed_read(sealed, key, "seed", &secret, &err);
		if (status != VAULT_DAMAGED && status != VAULT_INVALID)
			fail_msg("bit %zu: status %d", i, status);
		file[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (i = 0; i < len; i++) {
		assert_int_equal(private_file_replace(sealed, file, i), 0);
		assert_int_equal(sealed_read(sealed, key, "seed", &secret, &err),
		    VAULT_DAMAGED);
	}
	/* The head and a tag of nothing, with the digest that they have. */
	crypto_generichash(file + 8, 32, file + 40, 24 + 16, NULL, 0);
	assert_int_equal(private_file_replace(sealed, file, 64 + 16), 0);
	assert_int_equal(sealed_read(sealed, key, "seed", &secret, &err),
	    VAULT_DAMAGED);
	free(file);
	assert_int_equal(sealed_write(sealed, key, "seed", "", 0, &err),
	    VAULT_INVALID);
	file = calloc(1, SECRET_MAX + 1);
	assert_non_null(file);
	assert_int_equal(sealed_write(sealed, key, "seed", file, SECRET_MAX + 1,
	    &err), VAULT_INVALID);
	assert_int_equal(sealed_write(sealed, key, "seed", file, SECRET_MAX,
	    &err), VAULT_OK);
	assert_int_equal(sealed_read(sealed, key, "seed", &secret, &err), VAULT_OK);
	assert_true(secret_equal(secret, (char *)file, SECRET_MAX));
	secret_unref(secret);
	free(file);
	unlink(sealed);
	assert_int_equal(sealed_read(sealed, key, "seed", &secret, &err),
	    VAULT_MISSING);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_keys_again),
		cmocka_unit_test(wrong_passphrase),
		cmocka_unit_test(never_overwrites),
		cmocka_unit_test(changes_passphrase),
		cmocka_unit_test(every_flip_and_cut),
		cmocka_unit_test(strict_members),
		cmocka_unit_test(files_of_others),
		cmocka_unit_test(costs),
		cmocka_unit_test(default_cost),
		cmocka_unit_test(sealed_files),
	};

	return cmocka_run_group_tests_name("master", tests, set_up, tear_down);
}
