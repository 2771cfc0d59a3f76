/* The encrypted file: what it notices of damage, of forgers who have the key, and of
 * an older file in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/stat.h>

#include "scratch_vault.h"
#include "vault/vault_image.h"

#define HEADER 120

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

static uint8_t payload[4 + 65536 * 26];	/* of as many versions as there may be */
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
	static const uint8_t junk[SECRET_MAX + 256];

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
	forge(1), add_entry("a", 1, 0, SECRET_MAX + 16);
	judged(NULL);
	forge(1), add_entry("a", 1, 0, SECRET_MAX + 17);
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
	uint8_t *file = malloc(VAULT_IMAGE_OVERHEAD + payload_len);

	vault_image_seal(keys, id, generation, payload, payload_len, file);
	write_file(file, VAULT_IMAGE_OVERHEAD + payload_len);
	vault_keys_free(keys);
	free(file);
}

/* Full in either way: of versions in all, and of numbers for one name. */
static void
no_version_left(void **state)
{
	static const uint8_t id[16];
	struct vault_error err;
	struct vault *vault;
	uint32_t i;

	forge(65536);
	for (i = 1; i <= 65536; i++)
		add_entry("a", i, 5, 0);
	seal_payload(id, 9);
	vault = open_vault();
	assert_int_equal(vault_put(vault, "a", "x", 1, true, NULL, &err),
	    VAULT_INVALID);
	assert_non_null(strstr(err.text, "full"));
	vault_close(vault);

	forge(1), add_entry("a", UINT32_MAX, 5, 0);
	seal_payload(id, 9);
	vault = open_vault();
	assert_int_equal(vault_put(vault, "a", "x", 1, true, NULL, &err),
	    VAULT_INVALID);
	vault_close(vault);
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

	/* A name, a version, the time, another vault's identity: the same. */
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
	payload[10] ^= 1;
	seal_payload(id, 9);
	vault = open_vault();
	expect(vault, "a", 1, VAULT_DAMAGED, NULL);
	vault_close(vault);
	payload[10] ^= 1;
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

/* Of the same key and no older: its number tells nothing. */
static void
another_vault_while_open(void **state)
{
	struct vault *vault = fresh(), *other;
	struct vault_error err;
	unsigned i;

	store(vault, "a", "one", false);
	other = fresh();
	store(other, "a", "two", false);
	for (i = 0; i < 3; i++)
		store(other, "a", "three", true);
	vault_close(other);
	expect(vault, "a", 1, VAULT_DAMAGED, NULL);
	assert_int_equal(vault_put(vault, "a", "x", 1, true, NULL, &err),
	    VAULT_DAMAGED);
	assert_non_null(strstr(err.text, "another vault"));
	vault_close(vault);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_key),
		cmocka_unit_test(every_flip_and_cut),
		cmocka_unit_test(other_versions),
		cmocka_unit_test(files_of_others),
		cmocka_unit_test(rules_of_the_payload),
		cmocka_unit_test(no_version_left),
		cmocka_unit_test(secrets_do_not_move),
		cmocka_unit_test(rollback_while_open),
		cmocka_unit_test(another_vault_while_open),
	};

	return cmocka_run_group_tests_name("vault_damage", tests, set_up, tear_down);
}
