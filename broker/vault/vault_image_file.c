/*
 * Layout, checks and promises: FORMAT.md.  Everything that is read here passed
 * the payload's tag first, yet its rules are checked all the same: a tag says
 * who wrote, not that they wrote well.
 */
#include "vault/vault_image_impl.h"

#include <stdlib.h>

#define VERSION 1
#define MAGIC "csvault\n"
#define CONTEXT "csvault_"
#define CHECK_LEN 16
#define SUM_LEN 32

/* Offsets in the header. */
#define AT_VERSION 8
#define AT_ID 16
#define AT_GENERATION 32
#define AT_NONCE 40
#define AT_LENGTH 64
#define AT_CHECK 72
#define AT_SUM 88
#define HEADER_LEN 120

#define ENTRY_FIXED (1 + 4 + 8 + 8 + 4)

/* --- keys -------------------------------------------------------------- */

struct vault_keys *
vault_keys_new(const uint8_t *key)
{
	struct vault_keys *keys;

	if ((keys = secret_memory_new(sizeof(*keys))) == NULL)
		return NULL;
	crypto_kdf_derive_from_key(keys->file, KEY_LEN, 1, CONTEXT, key);
	crypto_kdf_derive_from_key(keys->check, KEY_LEN, 2, CONTEXT, key);
	crypto_kdf_derive_from_key(keys->wrap, KEY_LEN, 3, CONTEXT, key);
	return keys;
}

void
vault_keys_free(struct vault_keys *keys)
{
	secret_memory_free(keys);
}

/* --- reading ----------------------------------------------------------- */

struct reader {
	const uint8_t *p;
	size_t left;
};

static uint64_t
get_le(const uint8_t *in, size_t len)
{
	uint64_t value = 0;

	while (len-- > 0)
		value = value << 8 | in[len];
	return value;
}

/* The next len bytes, or NULL where the input ends before. */
static const uint8_t *
take(struct reader *reader, size_t len)
{
	const uint8_t *p = reader->p;

	if (len > reader->left)
		return NULL;
	reader->p += len;
	reader->left -= len;
	return p;
}

static enum vault_status
check_header(const struct vault_keys *keys, const uint8_t *file, size_t len,
    struct vault_error *err)
{
	uint8_t sum[SUM_LEN], check[CHECK_LEN];
	uint64_t version;

	if (len < 8 || memcmp(file, MAGIC, 8) != 0)
		return vault_fail(err, VAULT_DAMAGED, "no vault of countersign: "
		    "its first 8 bytes are others");
	if (len < HEADER_LEN)
		return vault_fail(err, VAULT_DAMAGED, "cut short within its "
		    "header");
	crypto_generichash(sum, SUM_LEN, file, AT_SUM, NULL, 0);
	if (memcmp(sum, file + AT_SUM, SUM_LEN) != 0)
		return vault_fail(err, VAULT_DAMAGED, "altered within its "
		    "header, bytes 0 to %d", HEADER_LEN - 1);
	version = get_le(file + AT_VERSION, 4);
	if (version != VERSION)
		return vault_fail(err, VAULT_INVALID, "written in format "
		    "version %u, this program knows %d: use the program that "
		    "wrote it", (unsigned)version, VERSION);
	if (get_le(file + AT_LENGTH, 8) != len - HEADER_LEN ||
	    len - HEADER_LEN < TAG_LEN)
		return vault_fail(err, VAULT_DAMAGED, "%zu bytes long, and its "
		    "header says otherwise: cut short or added to", len);
	crypto_generichash(check, CHECK_LEN, file, AT_CHECK, keys->check,
	    KEY_LEN);
	if (sodium_memcmp(check, file + AT_CHECK, CHECK_LEN) != 0)
		return vault_fail(err, VAULT_WRONG_KEY, "made under another "
		    "key");
	return VAULT_OK;
}

/* The sealed part of one entry, if it has one. */
static const char *
parse_body(struct reader *in, struct entry *entry, size_t sealed_len)
{
	const uint8_t *p;

	if (entry->revoked_s != 0)
		return sealed_len == 0 ? NULL : "a revoked version has bytes";
	if (sealed_len <= TAG_LEN || sealed_len > SECRET_MAX + TAG_LEN)
		return "a secret's length is out of bounds";
	if ((p = take(in, WRAPPED_LEN)) == NULL)
		return "a wrapped key is cut short";
	memcpy(entry->wrapped, p, WRAPPED_LEN);
	if ((p = take(in, NONCE_LEN + sealed_len)) == NULL)
		return "a sealed secret is cut short";
	if ((entry->body = malloc(NONCE_LEN + sealed_len)) == NULL)
		return "out of memory";
	entry->body_len = NONCE_LEN + sealed_len;
	memcpy(entry->body, p, entry->body_len);
	return NULL;
}

/* One entry; NULL, or the violated rule. */
static const char *
parse_entry(struct reader *in, struct entry *entry)
{
	const uint8_t *p;
	size_t name_len;

	if ((p = take(in, 1)) == NULL)
		return "an entry is missing";
	name_len = *p;
	if (name_len == 0 || name_len > VAULT_NAME_MAX ||
	    (p = take(in, name_len)) == NULL)
		return "a name's length is out of bounds";
	memcpy(entry->name, p, name_len);
	if (!vault_name_ok(entry->name) || strlen(entry->name) != name_len)
		return "a name has a character that names do not have";
	if ((p = take(in, ENTRY_FIXED - 1)) == NULL)
		return "an entry is cut short";
	entry->version = (uint32_t)get_le(p, 4);
	entry->created_s = (int64_t)get_le(p + 4, 8);
	entry->revoked_s = (int64_t)get_le(p + 12, 8);
	if (entry->version == 0)
		return "a version is 0";
	return parse_body(in, entry, get_le(p + 20, 4));
}

static bool
ascends(const struct vault_image *image)
{
	const struct entry *last = &image->entries[image->n - 1];
	int order;

	if (image->n < 2)
		return true;
	order = strcmp(last[-1].name, last->name);
	return order < 0 || (order == 0 && last[-1].version < last->version);
}

static const char *
parse_payload(struct vault_image *image, const uint8_t *payload, size_t len)
{
	struct reader in = { payload, len };
	const uint8_t *p = take(&in, 4);
	struct entry *entry;
	const char *why;
	uint64_t n;

	if (p == NULL || (n = get_le(p, 4)) > VAULT_IMAGE_ENTRIES_MAX)
		return "the number of entries is out of bounds";
	while (n-- > 0) {
		if ((entry = vault_image_insert(image, image->n)) == NULL)
			return "out of memory";
		if ((why = parse_entry(&in, entry)) != NULL)
			return why;
		if (!ascends(image))
			return "entries are out of order";
	}
	return in.left == 0 ? NULL : "there are bytes behind the last entry";
}

static enum vault_status
open_payload(const struct vault_keys *keys, const uint8_t *file, size_t len,
    struct vault_image *image, struct vault_error *err)
{
	size_t sealed_len = len - HEADER_LEN;
	enum vault_status status = VAULT_OK;
	const char *why;
	uint8_t *plain;

	if ((plain = malloc(sealed_len)) == NULL)
		return vault_fail(err, VAULT_IO, "out of memory");
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL,
	    file + HEADER_LEN, sealed_len, file, HEADER_LEN, file + AT_NONCE,
	    keys->file) != 0)
		status = vault_fail(err, VAULT_DAMAGED, "altered within its "
		    "sealed part, byte %d to the end", HEADER_LEN);
	else if ((why = parse_payload(image, plain, sealed_len - TAG_LEN)) != NULL)
		status = vault_fail(err, strcmp(why, "out of memory") == 0 ?
		    VAULT_IO : VAULT_DAMAGED, "its tag is right, but %s", why);
	free(plain);
	return status;
}

enum vault_status
vault_image_decode(const struct vault_keys *keys, const uint8_t *file,
    size_t len, struct vault_image **out, struct vault_error *err)
{
	struct vault_image *image;
	enum vault_status status;

	*out = NULL;
	if ((status = check_header(keys, file, len, err)) != VAULT_OK)
		return status;
	if ((image = calloc(1, sizeof(*image))) == NULL)
		return vault_fail(err, VAULT_IO, "out of memory");
	memcpy(image->id, file + AT_ID, ID_LEN);
	image->generation = get_le(file + AT_GENERATION, 8);
	status = open_payload(keys, file, len, image, err);
	if (status == VAULT_OK)
		*out = image;
	else
		vault_image_free(image);
	return status;
}

/* --- writing ----------------------------------------------------------- */

void
vault_image_seal(const struct vault_keys *keys, const uint8_t id[16],
    uint64_t generation, const uint8_t *payload, size_t len, uint8_t *file)
{
	_Static_assert(VAULT_IMAGE_OVERHEAD == HEADER_LEN + TAG_LEN, "overhead");

	memset(file, 0, HEADER_LEN);
	memcpy(file, MAGIC, 8);
	put_le(file + AT_VERSION, VERSION, 4);
	memcpy(file + AT_ID, id, ID_LEN);
	put_le(file + AT_GENERATION, generation, 8);
	randombytes_buf(file + AT_NONCE, NONCE_LEN);
	put_le(file + AT_LENGTH, len + TAG_LEN, 8);
	crypto_generichash(file + AT_CHECK, CHECK_LEN, file, AT_CHECK,
	    keys->check, KEY_LEN);
	crypto_generichash(file + AT_SUM, SUM_LEN, file, AT_SUM, NULL, 0);
	crypto_aead_xchacha20poly1305_ietf_encrypt(file + HEADER_LEN, NULL,
	    payload, len, file, HEADER_LEN, NULL, file + AT_NONCE, keys->file);
}

static size_t
entry_len(const struct entry *entry)
{
	size_t len = ENTRY_FIXED + strlen(entry->name);

	return entry->body == NULL ? len : len + WRAPPED_LEN + entry->body_len;
}

static uint8_t *
write_entry(const struct entry *entry, uint8_t *p)
{
	size_t name_len = strlen(entry->name);

	*p++ = (uint8_t)name_len;
	memcpy(p, entry->name, name_len);
	p += name_len;
	put_le(p, entry->version, 4);
	put_le(p + 4, (uint64_t)entry->created_s, 8);
	put_le(p + 12, (uint64_t)entry->revoked_s, 8);
	put_le(p + 20, entry->body == NULL ? 0 : entry->body_len - NONCE_LEN, 4);
	p += ENTRY_FIXED - 1;
	if (entry->body == NULL)
		return p;
	memcpy(p, entry->wrapped, WRAPPED_LEN);
	memcpy(p + WRAPPED_LEN, entry->body, entry->body_len);
	return p + WRAPPED_LEN + entry->body_len;
}

enum vault_status
vault_image_encode(const struct vault_keys *keys, struct vault_image *image,
    uint8_t **out, size_t *len, struct vault_error *err)
{
	uint8_t *payload = NULL, *file = NULL, *p;
	size_t payload_len = 4, i;

	*out = NULL;
	for (i = 0; i < image->n; i++)
		payload_len += entry_len(&image->entries[i]);
	if (payload_len > VAULT_IMAGE_MAX - VAULT_IMAGE_OVERHEAD)
		return vault_fail(err, VAULT_INVALID, "the vault is full: %u "
		    "bytes at most", VAULT_IMAGE_MAX);
	payload = malloc(payload_len);
	file = malloc(VAULT_IMAGE_OVERHEAD + payload_len);
	if (payload == NULL || file == NULL) {
		free(payload);
		free(file);
		return vault_fail(err, VAULT_IO, "out of memory");
	}
	put_le(payload, image->n, 4);
	p = payload + 4;
	for (i = 0; i < image->n; i++)
		p = write_entry(&image->entries[i], p);
	vault_image_seal(keys, image->id, ++image->generation, payload,
	    payload_len, file);
	free(payload);
	*out = file;
	*len = VAULT_IMAGE_OVERHEAD + payload_len;
	return VAULT_OK;
}
