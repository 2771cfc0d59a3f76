/* The passphrase's side of things; layout of master.json in FORMAT.md. */
#include "vault/master.h"
#include "private_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#define FILE_MAX 4096
#define SALT_LEN crypto_pwhash_SALTBYTES
#define NONCE_LEN crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define SEALED_LEN (MASTER_KEY_LEN + crypto_aead_xchacha20poly1305_ietf_ABYTES)
#define SUM_LEN 16
#define CONTEXT "csmaster"	/* crypto_kdf_CONTEXTBYTES */

/* What a file may ask for: more is no passphrase check but an attack. */
#define PASSES_MAX 64
#define MEM_KIB_MAX (4u * 1024 * 1024)

const struct master_cost master_cost_moderate = {
	crypto_pwhash_argon2id_OPSLIMIT_MODERATE,
	crypto_pwhash_argon2id_MEMLIMIT_MODERATE / 1024
};
const struct master_cost master_cost_least = {
	crypto_pwhash_argon2id_OPSLIMIT_MIN,
	crypto_pwhash_argon2id_MEMLIMIT_MIN / 1024
};

struct master {
	uint8_t key[MASTER_KEY_LEN];
};

/* master.json in binary. */
struct envelope {
	struct master_cost cost;
	uint8_t salt[SALT_LEN], nonce[NONCE_LEN], sealed[SEALED_LEN];
};

/* Everything of the envelope but the sealed key, in one spelling. */
#define AD_LEN (8 + 4 + 4 + SALT_LEN)

static void
put32(uint8_t *out, uint32_t value)
{
	int i;

	for (i = 0; i < 4; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

static void
associated(const struct envelope *envelope, uint8_t out[AD_LEN])
{
	memcpy(out, "csmstr\n\1", 8);
	put32(out + 8, envelope->cost.passes);
	put32(out + 12, envelope->cost.mem_kib);
	memcpy(out + 16, envelope->salt, SALT_LEN);
}

/* Tells damage from a wrong passphrase; protects nothing. */
static void
checksum(const struct envelope *envelope, uint8_t out[SUM_LEN])
{
	crypto_generichash_state state;
	uint8_t ad[AD_LEN];

	associated(envelope, ad);
	crypto_generichash_init(&state, NULL, 0, SUM_LEN);
	crypto_generichash_update(&state, ad, sizeof(ad));
	crypto_generichash_update(&state, envelope->nonce, NONCE_LEN);
	crypto_generichash_update(&state, envelope->sealed, SEALED_LEN);
	crypto_generichash_final(&state, out, SUM_LEN);
}

static enum vault_status
check_passphrase(size_t len, struct vault_error *err)
{
	if (sodium_init() < 0)
		return vault_fail(err, VAULT_IO, "libsodium does not start");
	if (len == 0)
		return vault_fail(err, VAULT_INVALID, "the passphrase is empty");
	if (len > MASTER_PASSPHRASE_MAX)
		return vault_fail(err, VAULT_INVALID, "the passphrase is longer "
		    "than %d bytes", MASTER_PASSPHRASE_MAX);
	return VAULT_OK;
}

/* Argon2id: the key under which the master key is sealed, in locked memory;
 * NULL with VAULT_IO in err. */
static uint8_t *
stretch(const struct envelope *envelope, const void *passphrase, size_t len,
    struct vault_error *err)
{
	uint8_t *key = secret_memory_new(MASTER_KEY_LEN);

	if (key == NULL) {
		vault_fail(err, VAULT_IO, "memory cannot be locked: raise "
		    "RLIMIT_MEMLOCK (ulimit -l)");
		return NULL;
	}
	if (crypto_pwhash(key, MASTER_KEY_LEN, passphrase, len, envelope->salt,
	    envelope->cost.passes, (size_t)envelope->cost.mem_kib * 1024,
	    crypto_pwhash_ALG_ARGON2ID13) == 0)
		return key;
	secret_memory_free(key);
	vault_fail(err, VAULT_IO, "Argon2id needs %u KiB of memory, and they "
	    "are not to be had", envelope->cost.mem_kib);
	return NULL;
}

/* --- the file ---------------------------------------------------------- */

static enum vault_status
save(const struct envelope *envelope, const char *path,
    int (*write)(const char *path, const void *bytes, size_t len),
    struct vault_error *err)
{
	char salt[2 * SALT_LEN + 1], nonce[2 * NONCE_LEN + 1];
	char sealed[2 * SEALED_LEN + 1], sum[2 * SUM_LEN + 1], text[1024];
	uint8_t sum_bytes[SUM_LEN];
	int len;

	checksum(envelope, sum_bytes);
	sodium_bin2hex(salt, sizeof(salt), envelope->salt, SALT_LEN);
	sodium_bin2hex(nonce, sizeof(nonce), envelope->nonce, NONCE_LEN);
	sodium_bin2hex(sealed, sizeof(sealed), envelope->sealed, SEALED_LEN);
	sodium_bin2hex(sum, sizeof(sum), sum_bytes, SUM_LEN);
	len = snprintf(text, sizeof(text), "{\n \"v\": 1,\n"
	    " \"kdf\": \"argon2id13\",\n \"passes\": %u,\n \"mem_kib\": %u,\n"
	    " \"salt\": \"%s\",\n \"nonce\": \"%s\",\n \"sealed\": \"%s\",\n"
	    " \"sum\": \"%s\"\n}\n", envelope->cost.passes,
	    envelope->cost.mem_kib, salt, nonce, sealed, sum);
	assert(len > 0 && (size_t)len < sizeof(text));

	return write(path, text, (size_t)len) == 0 ? VAULT_OK :
	    vault_fail_file(err, path, errno);
}

static bool
read_hex(const json_t *root, const char *name, uint8_t *out, size_t len)
{
	const json_t *value = json_object_get(root, name);
	const char *text = json_string_value(value), *end = NULL;
	size_t n = 0;

	/* One spelling only: lower case. */
	return text != NULL && json_string_length(value) == 2 * len &&
	    strspn(text, "0123456789abcdef") == 2 * len &&
	    sodium_hex2bin(out, len, text, 2 * len, NULL, &n, &end) == 0 &&
	    n == len;
}

static bool
read_number(const json_t *root, const char *name, uint32_t least, uint32_t most,
    uint32_t *out)
{
	const json_t *value = json_object_get(root, name);
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < least || n > most)
		return false;
	*out = (uint32_t)n;
	return true;
}

static enum vault_status
parse(const json_t *root, const char *path, struct envelope *out,
    struct vault_error *err)
{
	const char *kdf = json_string_value(json_object_get(root, "kdf"));
	uint8_t sum[SUM_LEN], want[SUM_LEN];
	uint32_t version = 0;

	if (!read_number(root, "v", 0, UINT32_MAX, &version))
		return vault_fail(err, VAULT_DAMAGED, "%s: no version", path);
	if (version != 1)
		return vault_fail(err, VAULT_INVALID, "%s: format %u, this "
		    "program knows 1: take a newer one", path, version);
	if (kdf == NULL || strcmp(kdf, "argon2id13") != 0 ||
	    json_object_size(root) != 8 ||
	    !read_number(root, "passes", master_cost_least.passes, PASSES_MAX,
	    &out->cost.passes) ||
	    !read_number(root, "mem_kib", master_cost_least.mem_kib,
	    MEM_KIB_MAX, &out->cost.mem_kib) ||
	    !read_hex(root, "salt", out->salt, SALT_LEN) ||
	    !read_hex(root, "nonce", out->nonce, NONCE_LEN) ||
	    !read_hex(root, "sealed", out->sealed, SEALED_LEN) ||
	    !read_hex(root, "sum", want, SUM_LEN))
		return vault_fail(err, VAULT_DAMAGED, "%s: a member is missing, "
		    "unknown or out of range", path);
	checksum(out, sum);
	if (memcmp(sum, want, SUM_LEN) != 0)
		return vault_fail(err, VAULT_DAMAGED, "%s: altered since it was "
		    "written", path);
	return VAULT_OK;
}

static enum vault_status
load(const char *path, struct envelope *out, struct vault_error *err)
{
	enum vault_status status;
	json_t *root = NULL;
	uint8_t *bytes;
	size_t len = 0;

	bytes = private_file_read(path, PRIVATE_SECRET, FILE_MAX, &len);
	if (bytes == NULL)
		return vault_fail_file(err, path, errno);
	root = json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(root))
		status = vault_fail(err, VAULT_DAMAGED, "%s: this is not JSON, "
		    "or cut short", path);
	else
		status = parse(root, path, out, err);
	json_decref(root);
	free(bytes);
	return status;
}

/* --- what callers use -------------------------------------------------- */

static enum vault_status
seal(const struct master *master, const char *path, const void *passphrase,
    size_t len, const struct master_cost *cost,
    int (*write)(const char *path, const void *bytes, size_t len),
    struct vault_error *err)
{
	struct envelope envelope = { .cost = *cost };
	uint8_t ad[AD_LEN], *key;

	if (envelope.cost.passes < master_cost_least.passes ||
	    envelope.cost.passes > PASSES_MAX ||
	    envelope.cost.mem_kib < master_cost_least.mem_kib ||
	    envelope.cost.mem_kib > MEM_KIB_MAX)
		return vault_fail(err, VAULT_INVALID, "no such cost of "
		    "Argon2id: 1 to %d passes, 8 KiB to 4 GiB", PASSES_MAX);
	randombytes_buf(envelope.salt, SALT_LEN);
	randombytes_buf(envelope.nonce, NONCE_LEN);
	if ((key = stretch(&envelope, passphrase, len, err)) == NULL)
		return VAULT_IO;
	associated(&envelope, ad);
	crypto_aead_xchacha20poly1305_ietf_encrypt(envelope.sealed, NULL,
	    master->key, MASTER_KEY_LEN, ad, sizeof(ad), NULL, envelope.nonce,
	    key);
	secret_memory_free(key);
	return save(&envelope, path, write, err);
}

enum vault_status
master_create(const char *path, const void *passphrase, size_t len,
    const struct master_cost *cost, struct master **out,
    struct vault_error *err)
{
	enum vault_status status;
	struct master *master;

	*out = NULL;
	if ((status = check_passphrase(len, err)) != VAULT_OK)
		return status;
	if ((master = secret_memory_new(sizeof(*master))) == NULL)
		return vault_fail(err, VAULT_IO, "memory cannot be locked: "
		    "raise RLIMIT_MEMLOCK (ulimit -l)");
	crypto_kdf_keygen(master->key);
	status = seal(master, path, passphrase, len,
	    cost != NULL ? cost : &master_cost_moderate, private_file_create, err);
	if (status == VAULT_OK)
		*out = master;
	else
		master_free(master);
	return status;
}

enum vault_status
master_change(const struct master *master, const char *path,
    const void *passphrase, size_t len, struct vault_error *err)
{
	struct envelope old = { 0 };
	enum vault_status status;
	int lock;

	if ((status = check_passphrase(len, err)) != VAULT_OK)
		return status;
	if ((lock = private_file_lock(path, true)) == -1)
		return vault_fail_file(err, path, errno);
	status = load(path, &old, err);
	if (status == VAULT_OK)
		status = seal(master, path, passphrase, len, &old.cost,
		    private_file_replace, err);
	close(lock);
	return status;
}

enum vault_status
master_open(const char *path, const void *passphrase, size_t len,
    struct master **out, struct vault_error *err)
{
	struct envelope envelope = { 0 };
	struct master *master = NULL;
	enum vault_status status;
	uint8_t ad[AD_LEN], *key;

	*out = NULL;
	if ((status = check_passphrase(len, err)) != VAULT_OK ||
	    (status = load(path, &envelope, err)) != VAULT_OK)
		return status;
	if ((key = stretch(&envelope, passphrase, len, err)) == NULL)
		return VAULT_IO;
	associated(&envelope, ad);
	if ((master = secret_memory_new(sizeof(*master))) == NULL)
		status = vault_fail(err, VAULT_IO, "memory cannot be locked: "
		    "raise RLIMIT_MEMLOCK (ulimit -l)");
	else if (crypto_aead_xchacha20poly1305_ietf_decrypt(master->key, NULL,
	    NULL, envelope.sealed, SEALED_LEN, ad, sizeof(ad), envelope.nonce,
	    key) != 0)
		status = vault_fail(err, VAULT_WRONG_KEY, "the passphrase does "
		    "not open %s: only the one that it was made with does; "
		    "countersign-config(5) says what is left without it", path);
	secret_memory_free(key);
	if (status == VAULT_OK)
		*out = master;
	else
		master_free(master);
	return status;
}

void
master_free(struct master *master)
{
	secret_memory_free(master);
}

void
master_key(const struct master *master, const char *purpose, uint8_t *out)
{
	/* Subkey 1, 2, ...: the order is part of the format. */
	static const char *const purposes[] = { "vault", "ledger", "ca", "api",
	    "scan" };
	uint64_t i;

	for (i = 0; i < sizeof(purposes) / sizeof(purposes[0]); i++)
		if (strcmp(purposes[i], purpose) == 0)
			break;
	assert(i < sizeof(purposes) / sizeof(purposes[0]));
	crypto_kdf_derive_from_key(out, MASTER_KEY_LEN, i + 1, CONTEXT,
	    master->key);
}
