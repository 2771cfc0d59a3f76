/* The encrypted file: what it keeps, and whoever else writes to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "scratch_vault.h"
#include "vault/vault_image.h"

#define HEADER 120

static void
keeps_versions(void **state)
{
	struct vault *vault = fresh();
	struct vault_error err;
	struct stat st;

	assert_string_equal(vault_backend(vault), "file");
	assert_int_equal(store(vault, "github", "first", false), 1);
	assert_int_equal(store(vault, "github", "second", true), 2);
	assert_int_equal(store(vault, "another", "third\n", false), 1);
	assert_int_equal(vault_put(vault, "github", "x", 1, false, NULL, &err),
	    VAULT_EXISTS);
	assert_int_equal(vault_put(vault, "new", "x", 1, true, NULL, &err),
	    VAULT_MISSING);
	vault_close(vault);

	vault = open_vault();
	expect(vault, "github", 0, VAULT_OK, "second");
	expect(vault, "github", 1, VAULT_OK, "first");
	expect(vault, "github", 2, VAULT_OK, "second");
	expect(vault, "github", 3, VAULT_MISSING, NULL);
	expect(vault, "another", 0, VAULT_OK, "third");
	expect(vault, "nobody", 0, VAULT_MISSING, NULL);
	vault_close(vault);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(vault_file_create(path, key, &err), VAULT_EXISTS);
}

static void
revokes(void **state)
{
	struct vault *vault = fresh();
	struct vault_error err;

	store(vault, "a", "one", false);
	store(vault, "a", "two", true);
	assert_int_equal(vault_revoke(vault, "a", 2, &err), VAULT_OK);
	expect(vault, "a", 2, VAULT_REVOKED, NULL);
	/* What was rotated out does not come back. */
	expect(vault, "a", 0, VAULT_REVOKED, NULL);
	expect(vault, "a", 1, VAULT_OK, "one");
	assert_int_equal(vault_revoke(vault, "a", 2, &err), VAULT_REVOKED);
	assert_int_equal(vault_revoke(vault, "a", 9, &err), VAULT_MISSING);
	assert_int_equal(vault_revoke(vault, "b", 0, &err), VAULT_MISSING);
	assert_int_equal(vault_revoke(vault, "a", 0, &err), VAULT_OK);
	expect(vault, "a", 0, VAULT_REVOKED, NULL);
	assert_int_equal(vault_revoke(vault, "a", 0, &err), VAULT_REVOKED);
	assert_int_equal(store(vault, "a", "three", true), 3);	/* never 2 again */
	vault_close(vault);
	vault = open_vault();
	expect(vault, "a", 1, VAULT_REVOKED, NULL);
	expect(vault, "a", 0, VAULT_OK, "three");
	vault_close(vault);
}

/* A login whose refresh token is replaced at each use does not fill the vault. */
static void
forgets_the_oldest_revoked(void **state)
{
	const uint32_t times = 2 * VAULT_IMAGE_REVOKED_MAX;
	struct vault *vault = fresh();
	struct vault_error err;
	uint32_t version;

	store(vault, "b", "another", false);
	store(vault, "a", "one", false);
	store(vault, "a", "two stays", true);
	assert_int_equal(vault_revoke(vault, "a", 1, &err), VAULT_OK);
	for (version = 3; version < times; version++) {
		assert_int_equal(store(vault, "a", "next", true), version);
		assert_int_equal(vault_revoke(vault, "a", version, &err), VAULT_OK);
	}
	assert_int_equal(store(vault, "a", "last", true), times);
	vault_close(vault);
	vault = open_vault();
	expect(vault, "a", 0, VAULT_OK, "last");
	expect(vault, "a", 2, VAULT_OK, "two stays");
	expect(vault, "a", times - VAULT_IMAGE_REVOKED_MAX, VAULT_REVOKED, NULL);
	expect(vault, "a", times - VAULT_IMAGE_REVOKED_MAX - 1, VAULT_MISSING, NULL);
	expect(vault, "a", 1, VAULT_MISSING, NULL);
	expect(vault, "b", 0, VAULT_OK, "another");
	assert_int_equal(vault_revoke(vault, "a", times, &err), VAULT_OK);
	assert_int_equal(store(vault, "a", "after", true), times + 1);
	vault_close(vault);
}

/* The file that held a revoked secret is overwritten, not only unlinked. */
static void
revocation_erases(void **state)
{
	struct vault *vault = fresh();
	struct vault_error err;
	uint8_t before[4096], byte;
	ssize_t len, i;
	int fd;

	store(vault, "a", "one", false);
	fd = open(path, O_RDONLY);
	len = read(fd, before, sizeof(before));
	assert_true(len > HEADER);
	assert_int_equal(vault_revoke(vault, "a", 1, &err), VAULT_OK);
	for (i = 0; i < len; i++) {
		assert_int_equal(pread(fd, &byte, 1, i), 1);
		assert_int_equal(byte, 0);
	}
	close(fd);
	vault_close(vault);
}

/* A hard link is somebody's copy: it is left alone. */
static void
revocation_spares_copies(void **state)
{
	struct vault *vault = fresh();
	struct vault_error err;
	char copy[80];

	snprintf(copy, sizeof(copy), "%s.copy", path);
	store(vault, "a", "one", false);
	assert_int_equal(link(path, copy), 0);
	assert_int_equal(vault_revoke(vault, "a", 1, &err), VAULT_OK);
	vault_close(vault);
	assert_int_equal(rename(copy, path), 0);
	vault = open_vault();
	expect(vault, "a", 0, VAULT_OK, "one");
	vault_close(vault);
}

struct seen {
	unsigned n;
	char text[256];
};

static void
note(void *arg, const struct vault_entry *entry)
{
	struct seen *seen = arg;
	size_t used = strlen(seen->text);

	seen->n++;
	assert_true(entry->created_s > 1600000000);
	snprintf(seen->text + used, sizeof(seen->text) - used, "%s/%u%s ",
	    entry->name, entry->version, entry->revoked_s != 0 ? "!" : "");
}

static void
lists_in_order(void **state)
{
	struct vault *vault = fresh();
	struct vault_error err;
	struct seen seen = { 0 };

	store(vault, "b", "x", false);
	store(vault, "a", "x", false);
	store(vault, "b", "x", true);
	store(vault, "a.b", "x", false);
	assert_int_equal(vault_revoke(vault, "b", 1, &err), VAULT_OK);
	assert_int_equal(vault_list(vault, note, &seen, &err), VAULT_OK);
	assert_string_equal(seen.text, "a/1 a.b/1 b/1! b/2 ");
	vault_close(vault);
}

static void
many_secrets(void **state)
{
	struct vault_keys *keys = vault_keys_new(key);
	struct vault_image *image = vault_image_new(), *again = NULL;
	struct secret *secret = NULL;
	struct vault_error err;
	uint8_t *file = NULL;
	char name[32], text[32];
	uint32_t version = 0;
	size_t len = 0;
	int i;

	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "s%d", i * 7919 % 3000);
		snprintf(text, sizeof(text), "text-%d", i * 7919 % 3000);
		assert_int_equal(vault_image_put(keys, image, name, text,
		    strlen(text), false, 1, &version, &err), VAULT_OK);
	}
	assert_int_equal(vault_image_encode(keys, image, &file, &len, &err),
	    VAULT_OK);
	assert_int_equal(vault_image_decode(keys, file, len, &again, &err),
	    VAULT_OK);
	for (i = 0; i < 3000; i += 97) {
		snprintf(name, sizeof(name), "s%d", i);
		snprintf(text, sizeof(text), "text-%d", i);
		assert_int_equal(vault_image_get(keys, again, name, 0, &secret,
		    &version, &err), VAULT_OK);
		assert_true(secret_equal(secret, text, strlen(text)));
		secret_unref(secret);
	}
	free(file);
	vault_image_free(image);
	vault_image_free(again);
	vault_keys_free(keys);
}

/* --- several at once --------------------------------------------------- */

static void
two_processes(void **state)
{
	struct vault *a = fresh(), *b = open_vault();

	store(a, "x", "one", false);
	expect(b, "x", 0, VAULT_OK, "one");
	assert_int_equal(store(b, "x", "two", true), 2);
	assert_int_equal(store(a, "x", "three", true), 3);
	expect(b, "x", 3, VAULT_OK, "three");
	vault_close(a);
	vault_close(b);
}

static void *
rotate_fifty(void *arg)
{
	struct vault *vault = open_vault();
	uint8_t *taken = arg;
	int i;

	for (i = 0; i < 50; i++)
		taken[store(vault, "x", "y", true)]++;
	vault_close(vault);
	return NULL;
}

/* Writers with a vault of their own each, as processes have: none is lost. */
static void
four_writers(void **state)
{
	struct vault *vault = fresh();
	uint8_t taken[4][256] = { 0 };
	pthread_t threads[4];
	int i;

	store(vault, "x", "y", false);
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, rotate_fifty, taken[i]);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (i = 2; i <= 201; i++)
		assert_int_equal(taken[0][i] + taken[1][i] + taken[2][i] +
		    taken[3][i], 1);
	vault_close(vault);
}

/* Rotate until killed; tell each version that was stored. */
static void
rotate_for_ever(int out)
{
	struct vault *vault = NULL;
	struct vault_error err;
	uint32_t version = 0;

	if (vault_file_open(path, key, &vault, &err) != VAULT_OK)
		_exit(3);
	while (vault_put(vault, "x", "a secret of some length", 23, true,
	    &version, &err) == VAULT_OK)
		if (write(out, &version, sizeof(version)) != sizeof(version))
			break;
	_exit(4);
}

static void
killed_writers(void **state)
{
	struct vault *vault = fresh();
	struct vault_error err;
	struct timespec pause_for = { 0, 0 };
	uint32_t told = 1, version = 0, got = 0;
	struct secret *secret;
	int round, ends[2], status;
	pid_t pid;

	store(vault, "x", "a secret of some length", false);
	vault_close(vault);
	for (round = 0; round < 30; round++) {
		assert_int_equal(pipe(ends), 0);
		if ((pid = fork()) == 0)
			rotate_for_ever(ends[1]);
		close(ends[1]);
		/* Let it store a few, then kill it wherever it is. */
		for (int i = 0; i <= round % 3; i++)
			assert_int_equal(read(ends[0], &told, 4), 4);
		pause_for.tv_nsec = round * 37000L;
		nanosleep(&pause_for, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status));
		while (read(ends[0], &version, 4) == 4)
			told = version;
		close(ends[0]);

		vault = open_vault();
		assert_int_equal(vault_get(vault, "x", 0, &secret, &got, &err),
		    VAULT_OK);
		assert_true(got == told || got == told + 1);
		secret_unref(secret);
		vault_close(vault);
	}
	snprintf(err.text, sizeof(err.text), "%s.new", path);
	unlink(err.text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_versions),
		cmocka_unit_test(revokes),
		cmocka_unit_test(forgets_the_oldest_revoked),
		cmocka_unit_test(revocation_erases),
		cmocka_unit_test(revocation_spares_copies),
		cmocka_unit_test(lists_in_order),
		cmocka_unit_test(many_secrets),
		cmocka_unit_test(two_processes),
		cmocka_unit_test(four_writers),
		cmocka_unit_test(killed_writers),
	};

	return cmocka_run_group_tests_name("vault_file", tests, set_up, tear_down);
}
