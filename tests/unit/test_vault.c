/* The vault's own part (names, cache, order) over a store in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "vault/vault.h"

/* One name at most; version n's bytes are "secret-<n>". */
struct memory {
	uint32_t versions, revoked_up_to;
	atomic_uint gets;
	atomic_bool changed, inside;
	bool closed, full;		/* full: nothing is revoked */
};

/* The vault promises to call one function at a time. */
static void
enter(struct memory *memory)
{
	assert_false(atomic_exchange(&memory->inside, true));
}

static enum vault_status
leave(struct memory *memory, enum vault_status status)
{
	atomic_store(&memory->inside, false);
	return status;
}

static enum vault_status
memory_put(void *ctx, const char *name, const void *bytes, size_t len,
    bool rotate, uint32_t *version, struct vault_error *err)
{
	struct memory *memory = ctx;

	enter(memory);
	if (rotate && memory->versions == 0)
		return leave(memory, vault_fail(err, VAULT_MISSING, "none"));
	if (!rotate && memory->versions > 0)
		return leave(memory, vault_fail(err, VAULT_EXISTS, "there"));
	*version = ++memory->versions;
	return leave(memory, VAULT_OK);
}

static enum vault_status
memory_get(void *ctx, const char *name, uint32_t version, struct secret **out,
    uint32_t *got, struct vault_error *err)
{
	struct memory *memory = ctx;
	char text[32];

	enter(memory);
	atomic_fetch_add(&memory->gets, 1);
	*got = version == 0 ? memory->versions : version;
	if (*got == 0 || *got > memory->versions)
		return leave(memory, vault_fail(err, VAULT_MISSING, "none"));
	if (*got <= memory->revoked_up_to)
		return leave(memory, vault_fail(err, VAULT_REVOKED, "gone"));
	snprintf(text, sizeof(text), "secret-%u", *got);
	*out = secret_new(text, strlen(text));
	return leave(memory, *out != NULL ? VAULT_OK : VAULT_IO);
}

static enum vault_status
memory_revoke(void *ctx, const char *name, uint32_t version,
    struct vault_error *err)
{
	struct memory *memory = ctx;

	enter(memory);
	if (memory->full)
		return leave(memory, vault_fail(err, VAULT_IO, "no space"));
	memory->revoked_up_to = version == 0 ? memory->versions : version;
	return leave(memory, VAULT_OK);
}

static enum vault_status
memory_list(void *ctx, void (*each)(void *arg, const char *name,
    uint32_t version, int64_t created_s, int64_t revoked_s), void *arg,
    struct vault_error *err)
{
	struct memory *memory = ctx;
	uint32_t i;

	for (i = 1; i <= memory->versions; i++)
		each(arg, "name", i, 1000 + i, i <= memory->revoked_up_to ? 2000 : 0);
	return VAULT_OK;
}

static bool
memory_changed(void *ctx)
{
	struct memory *memory = ctx;

	return atomic_exchange(&memory->changed, false);
}

static void
memory_close(void *ctx)
{
	((struct memory *)ctx)->closed = true;
}

static const struct vault_ops memory_ops = { "memory", memory_put, memory_get,
    memory_revoke, memory_list, memory_changed, memory_close, NULL, NULL,
    false };

static void
assert_get(struct vault *vault, uint32_t version, const char *bytes,
    uint32_t want)
{
	struct secret *secret = NULL;
	struct vault_error err;
	uint32_t got = 0;

	assert_int_equal(vault_get(vault, "name", version, &secret, &got, &err),
	    VAULT_OK);
	assert_true(secret_equal(secret, bytes, strlen(bytes)));
	assert_int_equal(got, want);
	secret_unref(secret);
}

static void
names(void **state)
{
	char longest[VAULT_NAME_MAX + 2];

	memset(longest, 'a', sizeof(longest));
	longest[VAULT_NAME_MAX + 1] = '\0';
	assert_false(vault_name_ok(longest));
	longest[VAULT_NAME_MAX] = '\0';
	assert_true(vault_name_ok(longest));
	assert_true(vault_name_ok("github"));
	assert_true(vault_name_ok("0a.b_c-d"));
	assert_false(vault_name_ok(NULL));
	assert_false(vault_name_ok(""));
	assert_false(vault_name_ok(".a"));
	assert_false(vault_name_ok("-a"));
	assert_false(vault_name_ok("a/b"));
	assert_false(vault_name_ok("GitHub"));
	assert_false(vault_name_ok("a b"));
	assert_false(vault_name_ok("a\n"));
}

static void
put_rotate_revoke(void **state)
{
	struct memory memory = { 0 };
	struct vault *vault = vault_new(&memory_ops, &memory);
	struct secret *held = NULL, *none = NULL;
	struct vault_error err;
	uint32_t version = 0;

	assert_string_equal(vault_backend(vault), "memory");
	assert_int_equal(vault_put(vault, "name", "x", 1, true, &version, &err),
	    VAULT_MISSING);
	assert_int_equal(vault_put(vault, "name", "x", 1, false, &version, &err),
	    VAULT_OK);
	assert_int_equal(version, 1);
	assert_int_equal(vault_put(vault, "name", "x", 1, false, NULL, &err),
	    VAULT_EXISTS);

	assert_get(vault, 0, "secret-1", 1);
	assert_int_equal(vault_get(vault, "name", 0, &held, NULL, &err), VAULT_OK);
	assert_int_equal(vault_put(vault, "name", "x", 1, true, &version, &err),
	    VAULT_OK);
	assert_get(vault, 0, "secret-2", 2);	/* the next request's */
	assert_true(secret_equal(held, "secret-1", 8));	/* the one in flight */
	assert_get(vault, 1, "secret-1", 1);

	assert_int_equal(vault_revoke(vault, "name", 0, &err), VAULT_OK);
	assert_int_equal(vault_get(vault, "name", 0, &none, NULL, &err),
	    VAULT_REVOKED);
	assert_int_equal(vault_get(vault, "name", 1, &none, NULL, &err),
	    VAULT_REVOKED);
	assert_null(none);
	assert_true(secret_equal(held, "secret-1", 8));
	secret_unref(held);
	vault_close(vault);
	assert_true(memory.closed);
	vault_close(NULL);
}

static void
bad_input_never_reaches_the_store(void **state)
{
	struct memory memory = { 0 };
	struct vault *vault = vault_new(&memory_ops, &memory);
	struct secret *secret = NULL;
	struct vault_error err;

	assert_int_equal(vault_put(vault, "Bad", "x", 1, false, NULL, &err),
	    VAULT_INVALID);
	assert_int_equal(vault_put(vault, "name", "canary\r\nx", 9, false, NULL,
	    &err), VAULT_INVALID);
	assert_non_null(strstr(err.text, "CR, LF or NUL"));
	assert_null(strstr(err.text, "canary"));
	assert_int_equal(vault_get(vault, "../x", 0, &secret, NULL, &err),
	    VAULT_INVALID);
	assert_int_equal(vault_revoke(vault, "", 0, &err), VAULT_INVALID);
	assert_int_equal(memory.versions, 0);
	vault_close(vault);
}

static void
asks_the_store_once(void **state)
{
	struct memory memory = { .versions = 2 };
	struct vault *vault = vault_new(&memory_ops, &memory);
	int i;

	for (i = 0; i < 1000; i++) {
		assert_get(vault, 0, "secret-2", 2);
		assert_get(vault, 1, "secret-1", 1);
	}
	assert_int_equal(memory.gets, 2);
	vault_close(vault);
}

/* Another process revokes: seen without anybody calling revoke here. */
static void
sees_changes_from_outside(void **state)
{
	struct memory memory = { .versions = 1 };
	struct vault *vault = vault_new(&memory_ops, &memory);
	struct secret *secret = NULL;
	struct vault_error err;
	enum vault_status status = VAULT_OK;
	int i;

	assert_get(vault, 0, "secret-1", 1);
	memory.revoked_up_to = 1;
	memory.changed = true;
	for (i = 0; i < 6000 && status == VAULT_OK; i++) {
		struct timespec pause = { 0, 10000000 };

		status = vault_get(vault, "name", 0, &secret, NULL, &err);
		secret_unref(secret);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(status, VAULT_REVOKED);
	vault_close(vault);
}

struct race {
	struct vault *vault;
	atomic_uint least;	/* the version that rotate has returned */
	atomic_bool over, wrong;
};

static void *
reader(void *arg)
{
	struct race *race = arg;
	struct secret *secret;
	struct vault_error err;
	char text[32];
	uint32_t got, least;

	while (!atomic_load(&race->over)) {
		least = atomic_load(&race->least);
		got = 0;
		if (vault_get(race->vault, "name", 0, &secret, &got, &err) !=
		    VAULT_OK) {
			atomic_store(&race->wrong, true);
			break;
		}
		snprintf(text, sizeof(text), "secret-%u", got);
		if (got < least || !secret_equal(secret, text, strlen(text)))
			atomic_store(&race->wrong, true);
		secret_unref(secret);
	}
	return NULL;
}

/* Whoever asks after rotate has returned gets the new version, never an old. */
static void
rotation_under_threads(void **state)
{
	struct memory memory = { .versions = 1 };
	struct race race = { .vault = vault_new(&memory_ops, &memory) };
	struct vault_error err;
	pthread_t threads[4];
	uint32_t version = 0;
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, reader, &race);
	for (i = 0; i < 500; i++) {
		assert_int_equal(vault_put(race.vault, "name", "x", 1, true,
		    &version, &err), VAULT_OK);
		atomic_store(&race.least, version);
	}
	atomic_store(&race.over, true);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_false(race.wrong);
	vault_close(race.vault);
}

static void
count_entry(void *arg, const struct vault_entry *entry)
{
	unsigned *sum = arg;

	assert_string_equal(entry->name, "name");
	*sum += entry->version + (entry->revoked_s != 0 ? 100 : 0);
}

static void
lists(void **state)
{
	struct memory memory = { .versions = 3, .revoked_up_to = 1 };
	struct vault *vault = vault_new(&memory_ops, &memory);
	struct vault_error err;
	unsigned sum = 0;

	assert_int_equal(vault_list(vault, count_entry, &sum, &err), VAULT_OK);
	assert_int_equal(sum, 106);
	vault_close(vault);
}

static void
assert_revoked(struct vault *vault, uint32_t version)
{
	struct secret *none = NULL;
	struct vault_error err;

	assert_int_equal(vault_get(vault, "name", version, &none, NULL, &err),
	    VAULT_REVOKED);
	assert_null(none);
}

/* A store that cannot erase is no reason to go on using what is revoked. */
static void
revoked_though_the_store_fails(void **state)
{
	struct memory memory = { .versions = 2, .full = true };
	struct vault *vault = vault_new(&memory_ops, &memory);
	struct vault_error err;
	unsigned sum = 0;

	assert_get(vault, 0, "secret-2", 2);
	assert_int_equal(vault_revoke(vault, "name", 2, &err), VAULT_IO);
	assert_revoked(vault, 0);
	assert_revoked(vault, 2);
	assert_get(vault, 1, "secret-1", 1);
	assert_int_equal(vault_revoke(vault, "name", 0, &err), VAULT_IO);
	assert_revoked(vault, 1);
	assert_int_equal(vault_list(vault, count_entry, &sum, &err), VAULT_OK);
	assert_int_equal(sum, 200 + 3);		/* both are listed as revoked */

	assert_int_equal(vault_put(vault, "name", "x", 1, true, NULL, &err),
	    VAULT_OK);
	assert_get(vault, 0, "secret-3", 3);	/* it was not there before */
	assert_revoked(vault, 2);
	assert_revoked(vault, 1);
	assert_int_equal(vault_withhold(vault, "name", 3, &err), VAULT_OK);
	assert_revoked(vault, 0);
	vault_close(vault);
}

/* One version, and none that came after it. */
static void
one_revoked_though_the_store_fails(void **state)
{
	struct memory memory = { .versions = 3, .full = true };
	struct vault *vault = vault_new(&memory_ops, &memory);
	struct vault_error err;

	assert_int_equal(vault_revoke(vault, "name", 2, &err), VAULT_IO);
	assert_get(vault, 1, "secret-1", 1);
	assert_revoked(vault, 2);
	assert_get(vault, 3, "secret-3", 3);
	assert_get(vault, 0, "secret-3", 3);
	vault_close(vault);
}

/* Once the store has done it, it is the store that is asked. */
static void
revoked_again_once_it_can(void **state)
{
	struct memory memory = { .versions = 2, .full = true };
	struct vault *vault = vault_new(&memory_ops, &memory);
	struct vault_error err;
	unsigned asked;

	assert_int_equal(vault_revoke(vault, "name", 1, &err), VAULT_IO);
	assert_int_equal(vault_revoke(vault, "name", 0, &err), VAULT_IO);
	memory.full = false;
	assert_int_equal(vault_revoke(vault, "name", 0, &err), VAULT_OK);
	memory.revoked_up_to = 0;	/* a copy was put back */
	asked = memory.gets;
	assert_get(vault, 1, "secret-1", 1);
	assert_get(vault, 2, "secret-2", 2);
	assert_int_equal(memory.gets, asked + 2);
	assert_int_equal(vault_withhold(vault, "No", 1, &err), VAULT_INVALID);
	vault_close(vault);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(put_rotate_revoke),
		cmocka_unit_test(revoked_though_the_store_fails),
		cmocka_unit_test(one_revoked_though_the_store_fails),
		cmocka_unit_test(revoked_again_once_it_can),
		cmocka_unit_test(bad_input_never_reaches_the_store),
		cmocka_unit_test(asks_the_store_once),
		cmocka_unit_test(sees_changes_from_outside),
		cmocka_unit_test(rotation_under_threads),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests_name("vault", tests, NULL, NULL);
}
