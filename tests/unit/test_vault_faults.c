/*
 * The file store when the N-th system call or allocation fails: a failed call
 * says so and changes nothing, and what is on disk opens.
 *
 * The calls below stand in front of the C library's for the whole program;
 * they count down only while armed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sodium.h>

#include "vault/master.h"
#include "vault/vault_file.h"

enum fault { NONE, WRITE, SHORT_WRITE, FSYNC, RENAME, UNLINK, MALLOC };

static enum fault armed;
static int countdown, fault_errno;
static bool struck;

/* Is this the call that fails? */
static bool
strikes(enum fault fault)
{
	if (armed != fault || --countdown != 0)
		return false;
	struck = true;
	errno = fault_errno;
	return true;
}

ssize_t write(int fd, const void *bytes, size_t len);
int fsync(int fd);
int rename(const char *from, const char *to);
int unlink(const char *path);

ssize_t
write(int fd, const void *bytes, size_t len)
{
	if (strikes(WRITE))
		return -1;
	if (strikes(SHORT_WRITE))
		len = len / 2;
	return syscall(SYS_write, fd, bytes, len);
}

int
fsync(int fd)
{
	return strikes(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int
rename(const char *from, const char *to)
{
	if (strikes(RENAME))
		return -1;
	return (int)syscall(SYS_renameat2, -100, from, -100, to, 0);
}

int
unlink(const char *path)
{
	if (strikes(UNLINK))
		return -1;
	return (int)syscall(SYS_unlinkat, -100, path, 0);
}

#ifndef __SANITIZE_ADDRESS__
void *__libc_malloc(size_t len);
void *__libc_calloc(size_t n, size_t len);
void *__libc_realloc(void *old, size_t len);

void *
malloc(size_t len)
{
	return strikes(MALLOC) ? NULL : __libc_malloc(len);
}

void *
calloc(size_t n, size_t len)
{
	return strikes(MALLOC) ? NULL : __libc_calloc(n, len);
}

void *
realloc(void *old, size_t len)
{
	return strikes(MALLOC) ? NULL : __libc_realloc(old, len);
}
#endif

/* --- the store under them ---------------------------------------------- */

static char dir[] = "/tmp/test_vault_faults.XXXXXX";
static char path[64], other[80];
static uint8_t key[32];

static int
set_up(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/vault", dir);
	memset(key, 7, sizeof(key));
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const names[] = { "vault", "vault.lock", "vault.new",
	    "master.json", "master.json.new" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(other, sizeof(other), "%s/%s", dir, names[i]);
		unlink(other);
	}
	return rmdir(dir);
}

static void
arm(enum fault fault, int n, int error)
{
	armed = fault;
	countdown = n;
	fault_errno = error;
	struck = false;
}

/* The vault as another process would find it: this version, these bytes. */
static void
expect_on_disk(const char *name, uint32_t version, const char *text)
{
	struct vault *vault = NULL;
	struct secret *secret = NULL;
	struct vault_error err = { 0 };
	uint32_t got = 0;

	if (vault_file_open(path, key, &vault, &err) != VAULT_OK)
		fail_msg("%s", err.text);
	assert_int_equal(vault_get(vault, name, 0, &secret, &got, &err), VAULT_OK);
	assert_int_equal(got, version);
	assert_true(secret_equal(secret, text, strlen(text)));
	secret_unref(secret);
	vault_close(vault);
}

static struct vault *
with_one_secret(void)
{
	struct vault *vault = NULL;
	struct vault_error err = { 0 };

	unlink(path);
	assert_int_equal(vault_file_create(path, key, &err), VAULT_OK);
	assert_int_equal(vault_file_open(path, key, &vault, &err), VAULT_OK);
	assert_int_equal(vault_put(vault, "a", "old", 3, false, NULL, &err),
	    VAULT_OK);
	return vault;
}

/* Rotate with the n-th call failing; false once no call was left to fail. */
static bool
rotate_with(enum fault fault, int n, int error)
{
	struct vault *vault = with_one_secret();
	struct secret *secret = NULL;
	struct vault_error err = { 0 };
	enum vault_status status;
	uint32_t version = 0, got = 0;
	bool stored;

	arm(fault, n, error);
	status = vault_put(vault, "a", "new", 3, true, &version, &err);
	armed = NONE;
	assert_true(struck || status == VAULT_OK);
	assert_true(fault != FSYNC || struck == (status == VAULT_IO));
	/* The very last step, the directory's fsync, comes after the rename. */
	stored = status == VAULT_OK || (fault == FSYNC && n == 2);
	if (stored)
		expect_on_disk("a", 2, "new");
	else {
		assert_int_equal(status, VAULT_IO);
		assert_true(strlen(err.text) > 0);
		assert_int_equal(version, 0);
		expect_on_disk("a", 1, "old");
	}

	/* This process goes on with what the disk has. */
	assert_int_equal(vault_get(vault, "a", 0, &secret, &got, &err), VAULT_OK);
	assert_int_equal(got, stored ? 2 : 1);
	assert_true(secret_equal(secret, stored ? "new" : "old", 3));
	secret_unref(secret);
	assert_int_equal(vault_put(vault, "a", "newer", 5, true, &version, &err),
	    VAULT_OK);
	assert_int_equal(version, got + 1);
	expect_on_disk("a", version, "newer");
	vault_close(vault);
	return struck;
}

static void
every_call(enum fault fault, int error, int at_least)
{
	int n = 1;

	while (rotate_with(fault, n, error))
		n++;
	assert_true(n > at_least);
}

static void
writes(void **state)
{
	every_call(WRITE, ENOSPC, 1);
	every_call(WRITE, EIO, 1);
}

static void
fsyncs(void **state)
{
	every_call(FSYNC, EIO, 2);
}

static void
renames(void **state)
{
	every_call(RENAME, EACCES, 1);
	every_call(UNLINK, EACCES, 1);
}

static void
short_and_interrupted_writes_are_no_failure(void **state)
{
	struct vault *vault = with_one_secret();
	struct vault_error err = { 0 };

	arm(SHORT_WRITE, 1, 0);
	assert_int_equal(vault_put(vault, "a", "new", 3, true, NULL, &err),
	    VAULT_OK);
	assert_true(struck);
	arm(WRITE, 1, EINTR);
	assert_int_equal(vault_put(vault, "a", "newer", 5, true, NULL, &err),
	    VAULT_OK);
	assert_true(struck);
	armed = NONE;
	expect_on_disk("a", 3, "newer");
	vault_close(vault);
}

static void
allocations_of_a_rotation(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	skip();		/* the sanitizer's allocator stands there */
#endif
	every_call(MALLOC, ENOMEM, 3);
}

/* A revocation that cannot be stored is none: said, and the secret stays. */
static void
revocations(void **state)
{
	enum fault faults[] = { WRITE, FSYNC, RENAME };
	struct vault_error err = { 0 };
	struct vault *vault;
	size_t i;

	for (i = 0; i < 3; i++) {
		vault = with_one_secret();
		arm(faults[i], 1, EIO);
		assert_int_equal(vault_revoke(vault, "a", 0, &err), VAULT_IO);
		armed = NONE;
		expect_on_disk("a", 1, "old");
		vault_close(vault);
	}
}

/* What a revocation overwrites goes to the disk as well: after the new file and
 * its directory, and without it the revocation holds. */
static void
erasing_reaches_the_disk(void **state)
{
	struct vault *vault = with_one_secret();
	struct vault_error err = { 0 };

	arm(FSYNC, 3, EIO);
	assert_int_equal(vault_revoke(vault, "a", 0, &err), VAULT_OK);
	armed = NONE;
	assert_true(struck);
	vault_close(vault);
}

static void
allocations_of_opening(void **state)
{
	struct vault *vault = with_one_secret();
	struct secret *secret;
	struct vault_error err = { 0 };
	enum vault_status status;
	int n;

#ifdef __SANITIZE_ADDRESS__
	vault_close(vault);
	skip();
#endif
	vault_close(vault);
	for (n = 1, struck = true; struck; n++) {
		secret = NULL;
		arm(MALLOC, n, ENOMEM);
		status = vault_file_open(path, key, &vault, &err);
		if (status == VAULT_OK) {
			status = vault_get(vault, "a", 0, &secret, NULL, &err);
			vault_close(vault);
		}
		armed = NONE;
		assert_true(status == VAULT_OK || (struck && status == VAULT_IO));
		if (status == VAULT_OK)
			assert_true(secret_equal(secret, "old", 3));
		secret_unref(secret);
	}
	assert_true(n > 8);
}

/* init that fails half way leaves no master.json behind. */
static void
master_files(void **state)
{
	enum fault faults[] = { WRITE, FSYNC };
	struct master *master = NULL;
	struct vault_error err = { 0 };
	size_t i;

	snprintf(other, sizeof(other), "%s/master.json", dir);
	for (i = 0; i < 2; i++) {
		arm(faults[i], 1, ENOSPC);
		assert_int_equal(master_create(other, "pass", 4,
		    &master_cost_least, &master, &err), VAULT_IO);
		armed = NONE;
		assert_null(master);
		assert_non_null(strstr(err.text, "the disk is full"));
		assert_int_equal(access(other, F_OK), -1);
	}
	assert_int_equal(master_create(other, "pass", 4, &master_cost_least,
	    &master, &err), VAULT_OK);
	master_free(master);
	assert_int_equal(master_open(other, "pass", 4, &master, &err), VAULT_OK);
	master_free(master);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes),
		cmocka_unit_test(fsyncs),
		cmocka_unit_test(renames),
		cmocka_unit_test(short_and_interrupted_writes_are_no_failure),
		cmocka_unit_test(allocations_of_a_rotation),
		cmocka_unit_test(revocations),
		cmocka_unit_test(erasing_reaches_the_disk),
		cmocka_unit_test(allocations_of_opening),
		cmocka_unit_test(master_files),
	};

	return cmocka_run_group_tests_name("vault_faults", tests, set_up,
	    tear_down);
}
