/* The encrypted file: what it keeps, and what it notices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "private_file.h"
#include "vault/vault_file.h"
#include "vault/vault_image.h"

#define HEADER 120

static char dir[] = "/tmp/test_vault_file.XXXXXX";
static char path[64], lock[64];
static uint8_t key[32], other_key[32];

static int
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

static int
tear_down(void **state)
{
	unlink(path);
	unlink(lock);
	return rmdir(dir);
}

static struct vault *
open_vault(void)
{
	struct vault *vault = NULL;
	struct vault_error err = { 0 };

	if (vault_file_open(path, key, &vault, &err) != VAULT_OK)
		fail_msg("%s", err.text);
	return vault;
}

static struct vault *
fresh(void)
{
	struct vault_error err;

	unlink(path);
	assert_int_equal(vault_file_create(path, key, &err), VAULT_OK);
	return open_vault();
}

static uint32_t
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
static void
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

static enum vault_status
try_open(const uint8_t *with, struct vault_error *err)
{
	struct vault *vault = NULL;
	enum vault_status status = vault_file_open(path, with, &vault, err);

	assert_true((status == VAULT_OK) == (vault != NULL));
	vault_close(vault);
	return status;
}

static uint8_t *
read_file(size_t *len)
{
	uint8_t *bytes = private_file_read(path, PRIVATE_SECRET, 1 << 20, len);

	assert_non_null(bytes);
	return bytes;
}

static void
write_file(const uint8_t *bytes, size_t len)
{
	assert_int_equal(private_file_replace(path, bytes, len), 0);
}

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

/* --- damage ------------------------------------------------------------ */

static void
wrong_key(void **state)
{
	struct vault_error err;

	vault_close(fresh());
	assert_int_equal(try_open(other_key, &err), VAULT_WRONG_KEY);
	assert_non_null(strstr(err.text, "another key"));
	assert_int_equal(try_open(key, &err), VAULT_OK);
}

static void
every_flip_and_cut(void **state)
{
	struct vault *vault = fresh();
	struct vault_keys *keys = vault_keys_new(key);
	struct vault_image *image = NULL;
	struct vault_error err;
	enum vault_status status;
	uint8_t *file, *longer;
	size_t len = 0, i;

	store(vault, "a", "one", false);
	store(vault, "a", "two", true);
	vault_close(vault);
	file = read_file(&len);
	for (i = 0; i < 8 * len; i++) {
		file[i / 8] ^= (uint8_t)(1 << i % 8);
		status = vault_image_decode(keys, file, len, &image, &err);
		if (status != VAULT_DAMAGED || image != NULL)
			fail_msg("bit %zu of byte %zu: status %d", i % 8, i / 8,
			    status);
		file[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (i = 0; i < len; i++)
		assert_int_equal(vault_image_decode(keys, file, i, &image, &err),
		    VAULT_DAMAGED);
	longer = calloc(1, len + 1);
	memcpy(longer, file, len);
	assert_int_equal(vault_image_decode(keys, longer, len + 1, &image, &err),
	    VAULT_DAMAGED);
	free(longer);
	assert_int_equal(vault_image_decode(keys, file, len, &image, &err),
	    VAULT_OK);
	vault_image_free(image);

	/* And through the disk, once in each part. */
	for (i = 4; i < len; i += 40) {
		file[i] ^= 1;
		write_file(file, len);
		assert_int_equal(try_open(key, &err), VAULT_DAMAGED);
		assert_non_null(strstr(err.text, path));
		file[i] ^= 1;
	}
	free(file);
	vault_keys_free(keys);
}

static void
other_versions(void **state)
{
	static const uint8_t versions[] = { 0, 2, 255 };
	struct vault_error err;
	uint8_t *file;
	size_t len = 0, i;

	vault_close(fresh());
	file = read_file(&len);
	for (i = 0; i < sizeof(versions); i++) {
		file[8] = versions[i];
		crypto_generichash(file + 88, 32, file, 88, NULL, 0);
		write_file(file, len);
		assert_int_equal(try_open(key, &err), VAULT_INVALID);
		assert_non_null(strstr(err.text, "this program knows 1"));
	}
	free(file);
}

static void
files_of_others(void **state)
{
	struct vault_error err;
	char elsewhere[80];

	vault_close(fresh());
	chmod(path, 0604);
	assert_int_equal(try_open(key, &err), VAULT_INVALID);
	chmod(path, 0620);
	assert_int_equal(try_open(key, &err), VAULT_INVALID);
	chmod(path, 0600);
	assert_int_equal(try_open(key, &err), VAULT_OK);
	snprintf(elsewhere, sizeof(elsewhere), "%s.there", path);
	assert_int_equal(rename(path, elsewhere), 0);
	assert_int_equal(try_open(key, &err), VAULT_MISSING);
	assert_int_equal(symlink(elsewhere, path), 0);
	assert_int_equal(try_open(key, &err), VAULT_INVALID);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(try_open(key, &err), VAULT_INVALID);
	rmdir(path);
	unlink(elsewhere);
}

/* --- forged payloads: whoever has the key still has to write well ------ */

static uint8_t payload[4096];
static size_t payload_len;

static void
add(const void *bytes, size_t len)
{
	memcpy(payload + payload_len, bytes, len);
	payload_len += len;
}

static void
add_le(uint64_t value, size_t len)
{
	while (len-- > 0) {
		payload[payload_len++] = (uint8_t)value;
		value >>= 8;
	}
}

static void
add_entry(const char *name, uint32_t version, int64_t revoked_s, uint32_t n)
{
	static const uint8_t junk[512];

	add_le(strlen(name), 1);
	add(name, strlen(name));
	add_le(version, 4);
	add_le(1, 8);
	add_le((uint64_t)revoked_s, 8);
	add_le(n, 4);
	if (n > 0)
		add(junk, 72 + 24 + n);
}

static void
forge(uint32_t n)
{
	payload_len = 0;
	add_le(n, 4);
}

/* The payload is refused, and the message has these words (NULL: taken). */
static void
judged(const char *words)
{
	static const uint8_t id[16];
	struct vault_keys *keys = vault_keys_new(key);
	struct vault_image *image = NULL;
	struct vault_error err = { 0 };
	uint8_t *file = malloc(VAULT_IMAGE_OVERHEAD + payload_len);
	enum vault_status status;

	vault_image_seal(keys, id, 1, payload, payload_len, file);
	status = vault_image_decode(keys, file,
	    VAULT_IMAGE_OVERHEAD + payload_len, &image, &err);
	assert_int_equal(status, words == NULL ? VAULT_OK : VAULT_DAMAGED);
	if (words != NULL && strstr(err.text, words) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", err.text, words);
	vault_image_free(image);
	vault_keys_free(keys);
	free(file);
}

static void
rules_of_the_payload(void **state)
{
	payload_len = 0;
	judged("number of entries");
	forge(65537);
	judged("number of entries");
	forge(1);
	judged("entry is missing");
	forge(0);
	judged(NULL);
	add_le(0, 1);
	judged("behind the last");
	forge(1), add_entry("a", 1, 0, 20);
	judged(NULL);
	forge(1), add_entry("a", 0, 0, 20);
	judged("version is 0");
	forge(1), add_entry("A", 1, 0, 20);
	judged("character");
	forge(1), add_entry("", 1, 0, 20);
	judged("name's length");
	forge(1), add_entry("a", 1, 0, 16);
	judged("secret's length");
	forge(1), add_entry("a", 1, 0, 0);
	judged("secret's length");
	forge(1), add_entry("a", 1, 5, 20);
	judged("revoked version has bytes");
	forge(1), add_entry("a", 1, 5, 0);
	judged(NULL);
	forge(2), add_entry("a", 1, 0, 20), add_entry("a", 1, 0, 20);
	judged("out of order");
	forge(2), add_entry("a", 2, 0, 20), add_entry("a", 1, 0, 20);
	judged("out of order");
	forge(2), add_entry("b", 1, 0, 20), add_entry("a", 1, 0, 20);
	judged("out of order");
	forge(2), add_entry("a", 1, 0, 20), add_entry("a", 2, 0, 20);
	judged(NULL);
	forge(1), add_entry("a", 1, 0, 20), payload_len--;
	judged("sealed secret is cut");
	forge(1), add_entry("a", 1, 0, 20), payload_len -= 50;
	judged("wrapped key is cut");
	forge(1), add_le(1, 1), add("a\0", 1), add_le(0, 3);
	judged("entry is cut");
}

/* FORMAT.md by hand: the payload of the file at path, in plain. */
static void
open_payload(uint8_t *id)
{
	uint8_t k1[32], *file;
	unsigned long long n = 0;
	size_t len = 0;

	file = read_file(&len);
	crypto_kdf_derive_from_key(k1, 32, 1, "csvault_", key);
	assert_int_equal(crypto_aead_xchacha20poly1305_ietf_decrypt(payload, &n,
	    NULL, file + HEADER, len - HEADER, file, HEADER, file + 40, k1), 0);
	payload_len = (size_t)n;
	memcpy(id, file + 16, 16);
	free(file);
}

static void
seal_payload(const uint8_t *id, uint64_t generation)
{
	struct vault_keys *keys = vault_keys_new(key);
	uint8_t file[sizeof(payload) + VAULT_IMAGE_OVERHEAD];

	vault_image_seal(keys, id, generation, payload, payload_len, file);
	write_file(file, VAULT_IMAGE_OVERHEAD + payload_len);
	vault_keys_free(keys);
}

/* Two secrets of one length; their sealed parts change places. */
static void
secrets_do_not_move(void **state)
{
	struct vault *vault = fresh();
	uint8_t id[16], swap[72 + 24 + 19];
	uint8_t *a, *b;

	store(vault, "a", "one", false);
	store(vault, "b", "two", false);
	vault_close(vault);
	open_payload(id);
	assert_int_equal(payload_len, 4 + 2 * (26 + sizeof(swap)));
	a = payload + 4 + 26;
	b = a + sizeof(swap) + 26;
	memcpy(swap, a, sizeof(swap));
	memcpy(a, b, sizeof(swap));
	memcpy(b, swap, sizeof(swap));
	seal_payload(id, 9);
	vault = open_vault();
	expect(vault, "a", 0, VAULT_DAMAGED, NULL);
	expect(vault, "b", 0, VAULT_DAMAGED, NULL);
	vault_close(vault);

	/* A name, a version, another vault's identity: the same. */
	vault = fresh();
	store(vault, "a", "one", false);
	vault_close(vault);
	open_payload(id);
	payload[5] = 'c';
	seal_payload(id, 9);
	vault = open_vault();
	expect(vault, "c", 0, VAULT_DAMAGED, NULL);
	vault_close(vault);
	payload[5] = 'a';
	payload[6] = 2;
	seal_payload(id, 9);
	vault = open_vault();
	expect(vault, "a", 2, VAULT_DAMAGED, NULL);
	vault_close(vault);
	payload[6] = 1;
	id[0] ^= 1;
	seal_payload(id, 9);
	vault = open_vault();
	expect(vault, "a", 1, VAULT_DAMAGED, NULL);
	vault_close(vault);
}

static void
rollback_while_open(void **state)
{
	struct vault *vault = fresh();
	struct vault_error err;
	uint8_t *old;
	size_t len = 0;

	store(vault, "a", "one", false);
	old = read_file(&len);
	store(vault, "a", "two", true);
	assert_int_equal(vault_revoke(vault, "a", 1, &err), VAULT_OK);
	write_file(old, len);
	expect(vault, "a", 1, VAULT_DAMAGED, NULL);
	assert_int_equal(vault_put(vault, "a", "x", 1, true, NULL, &err),
	    VAULT_DAMAGED);
	assert_non_null(strstr(err.text, "older"));
	vault_close(vault);

	/* Another vault under the same key in its place. */
	vault = open_vault();
	store(vault, "b", "x", false);
	unlink(path);
	assert_int_equal(vault_file_create(path, key, &err), VAULT_OK);
	expect(vault, "a", 1, VAULT_DAMAGED, NULL);
	vault_close(vault);
	free(old);
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
		cmocka_unit_test(revocation_erases),
		cmocka_unit_test(revocation_spares_copies),
		cmocka_unit_test(lists_in_order),
		cmocka_unit_test(many_secrets),
		cmocka_unit_test(wrong_key),
		cmocka_unit_test(every_flip_and_cut),
		cmocka_unit_test(other_versions),
		cmocka_unit_test(files_of_others),
		cmocka_unit_test(rules_of_the_payload),
		cmocka_unit_test(secrets_do_not_move),
		cmocka_unit_test(rollback_while_open),
		cmocka_unit_test(two_processes),
		cmocka_unit_test(four_writers),
		cmocka_unit_test(killed_writers),
	};

	return cmocka_run_group_tests_name("vault_file", tests, set_up,
	    tear_down);
}
