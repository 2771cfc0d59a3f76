/*
 * Layout, checks and promises: FORMAT.md.  Everything that is read here passed
 * the payload's tag first, yet its rules are checked all the same: a tag says
 * who wrote, not that they wrote well.
 */
#include "vault/vault_image.h"

#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

#define VERSION 1
#define MAGIC "csvault\n"
#define CONTEXT "csvault_"
#define ID_LEN 16
#define CHECK_LEN 16
#define SUM_LEN 32
#define KEY_LEN crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define NONCE_LEN crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_LEN crypto_aead_xchacha20poly1305_ietf_ABYTES

/* Offsets in the header. */
#define AT_VERSION 8
#define AT_ID 16
#define AT_GENERATION 32
#define AT_NONCE 40
#define AT_LENGTH 64
#define AT_CHECK 72
#define AT_SUM 88
#define HEADER_LEN 120

#define WRAPPED_LEN (NONCE_LEN + KEY_LEN + TAG_LEN)
#define ENTRY_FIXED (1 + 4 + 8 + 8 + 4)
#define AD_MAX (ID_LEN + 1 + VAULT_NAME_MAX + 4 + 8)

struct vault_keys {
	uint8_t file[KEY_LEN], check[KEY_LEN], wrap[KEY_LEN];
};

struct entry {
	char name[VAULT_NAME_MAX + 1];
	uint32_t version;
	int64_t created_s, revoked_s;
	uint8_t wrapped[WRAPPED_LEN];	/* nonce, sealed content key */
	uint8_t *body;			/* nonce, sealed secret; NULL if revoked */
	size_t body_len;		/* with the nonce */
};

struct vault_image {
	uint8_t id[ID_LEN];
	uint64_t generation;
	struct entry *entries;	/* ascending by name and version */
	size_t n, cap;
};

/* --- bytes ------------------------------------------------------------- */

struct reader {
	const uint8_t *p;
	size_t left;
};

static void
put_le(uint8_t *out, uint64_t value, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

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

/* --- the image --------------------------------------------------------- */

struct vault_image *
vault_image_new(void)
{
	struct vault_image *image;

	if (sodium_init() < 0 || (image = calloc(1, sizeof(*image))) == NULL)
		return NULL;
	randombytes_buf(image->id, ID_LEN);
	return image;
}

void
vault_image_free(struct vault_image *image)
{
	size_t i;

	if (image == NULL)
		return;
	for (i = 0; i < image->n; i++)
		free(image->entries[i].body);
	free(image->entries);
	free(image);
}

uint64_t
vault_image_generation(const struct vault_image *image)
{
	return image->generation;
}

void
vault_image_raise(struct vault_image *image, uint64_t generation)
{
	if (image->generation < generation)
		image->generation = generation;
}

const uint8_t *
vault_image_identity(const struct vault_image *image)
{
	return image->id;
}

bool
vault_image_same_vault(const struct vault_image *a, const struct vault_image *b)
{
	return memcmp(a->id, b->id, ID_LEN) == 0;
}

/* Room for one entry more, at place i. */
static struct entry *
insert(struct vault_image *image, size_t i)
{
	size_t cap = image->cap == 0 ? 8 : 2 * image->cap;
	struct entry *more;

	if (image->n == image->cap) {
		more = reallocarray(image->entries, cap, sizeof(*more));
		if (more == NULL)
			return NULL;
		image->entries = more;
		image->cap = cap;
	}
	memmove(&image->entries[i + 1], &image->entries[i],
	    (image->n - i) * sizeof(*image->entries));
	image->entries[i] = (struct entry){ 0 };
	image->n++;
	return &image->entries[i];
}

/* Where name's versions begin, or would: the first entry not below it. */
static size_t
lower_bound(const struct vault_image *image, const char *name)
{
	size_t low = 0, high = image->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(image->entries[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is(const struct vault_image *image, size_t i, const char *name)
{
	return i < image->n && strcmp(image->entries[i].name, name) == 0;
}

/* What ties a secret's two seals to its place. */
static size_t
associated(const struct vault_image *image, const struct entry *entry,
    uint8_t out[AD_MAX])
{
	size_t name_len = strlen(entry->name);
	uint8_t *p = out;

	memcpy(p, image->id, ID_LEN);
	p += ID_LEN;
	*p++ = (uint8_t)name_len;
	memcpy(p, entry->name, name_len);
	p += name_len;
	put_le(p, entry->version, 4);
	put_le(p + 4, (uint64_t)entry->created_s, 8);
	return (size_t)(p + 12 - out);
}

/* --- reading ----------------------------------------------------------- */

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
		if ((entry = insert(image, image->n)) == NULL)
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

/* --- put, get, revoke, list -------------------------------------------- */

/* Fresh content key, wrapped; the secret sealed under it. */
static enum vault_status
seal_entry(const struct vault_keys *keys, const struct vault_image *image,
    struct entry *entry, const void *bytes, size_t len, struct vault_error *err)
{
	uint8_t ad[AD_MAX], *content;
	size_t ad_len = associated(image, entry, ad);

	content = secret_memory_new(KEY_LEN);
	entry->body_len = NONCE_LEN + len + TAG_LEN;
	entry->body = malloc(entry->body_len);
	if (content == NULL || entry->body == NULL) {
		secret_memory_free(content);
		free(entry->body);
		entry->body = NULL;
		return vault_fail(err, VAULT_IO, "out of (locked) memory");
	}
	randombytes_buf(content, KEY_LEN);
	randombytes_buf(entry->wrapped, NONCE_LEN);
	randombytes_buf(entry->body, NONCE_LEN);
	crypto_aead_xchacha20poly1305_ietf_encrypt(entry->wrapped + NONCE_LEN,
	    NULL, content, KEY_LEN, ad, ad_len, NULL, entry->wrapped, keys->wrap);
	crypto_aead_xchacha20poly1305_ietf_encrypt(entry->body + NONCE_LEN,
	    NULL, bytes, len, ad, ad_len, NULL, entry->body, content);
	secret_memory_free(content);
	return VAULT_OK;
}

enum vault_status
vault_image_put(const struct vault_keys *keys, struct vault_image *image,
    const char *name, const void *bytes, size_t len, bool rotate, int64_t now_s,
    uint32_t *version, struct vault_error *err)
{
	size_t i = lower_bound(image, name);
	struct entry made = { .version = 1, .created_s = now_s }, *place;
	enum vault_status status;

	if (is(image, i, name) && !rotate)
		return vault_fail(err, VAULT_EXISTS, "%s is there already: "
		    "rotate it to store a new version", name);
	if (!is(image, i, name) && rotate)
		return vault_fail(err, VAULT_MISSING, "there is no secret %s to "
		    "rotate", name);
	for (; is(image, i, name); i++)
		made.version = image->entries[i].version + 1;
	if (image->n >= VAULT_IMAGE_ENTRIES_MAX || made.version == 0)
		return vault_fail(err, VAULT_INVALID, "the vault is full: %u "
		    "versions at most", VAULT_IMAGE_ENTRIES_MAX);
	snprintf(made.name, sizeof(made.name), "%s", name);
	status = seal_entry(keys, image, &made, bytes, len, err);
	if (status != VAULT_OK)
		return status;
	if ((place = insert(image, i)) == NULL) {
		free(made.body);
		return vault_fail(err, VAULT_IO, "out of memory");
	}
	*place = made;
	*version = made.version;
	return VAULT_OK;
}

static enum vault_status
open_entry(const struct vault_keys *keys, const struct vault_image *image,
    const struct entry *entry, struct secret **out, struct vault_error *err)
{
	uint8_t ad[AD_MAX], *content, *plain;
	size_t ad_len = associated(image, entry, ad);
	size_t len = entry->body_len - NONCE_LEN - TAG_LEN;
	enum vault_status status = VAULT_OK;

	content = secret_memory_new(KEY_LEN);
	plain = secret_memory_new(len);
	if (content == NULL || plain == NULL)
		status = vault_fail(err, VAULT_IO, "memory cannot be locked: "
		    "raise RLIMIT_MEMLOCK (ulimit -l)");
	else if (crypto_aead_xchacha20poly1305_ietf_decrypt(content, NULL, NULL,
	    entry->wrapped + NONCE_LEN, KEY_LEN + TAG_LEN, ad, ad_len,
	    entry->wrapped, keys->wrap) != 0 ||
	    crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL,
	    entry->body + NONCE_LEN, len + TAG_LEN, ad, ad_len, entry->body,
	    content) != 0)
		status = vault_fail(err, VAULT_DAMAGED, "%s version %u does not "
		    "open: it was not sealed for this place", entry->name,
		    entry->version);
	else if ((*out = secret_new(plain, len)) == NULL)
		status = vault_fail(err, VAULT_IO, "memory cannot be locked: "
		    "raise RLIMIT_MEMLOCK (ulimit -l)");
	secret_memory_free(content);
	secret_memory_free(plain);
	return status;
}

enum vault_status
vault_image_get(const struct vault_keys *keys, const struct vault_image *image,
    const char *name, uint32_t version, struct secret **out, uint32_t *got,
    struct vault_error *err)
{
	const struct entry *newest, *given = NULL, *entry;
	size_t i = lower_bound(image, name);

	*out = NULL;
	if (!is(image, i, name))
		return vault_fail(err, VAULT_MISSING, "there is no secret %s",
		    name);
	newest = &image->entries[i];
	for (; is(image, i, name); i++) {
		newest = &image->entries[i];	/* they are in order */
		if (newest->version == version)
			given = newest;
	}
	if (version != 0 && given == NULL)
		return vault_fail(err, VAULT_MISSING, "%s has no version %u",
		    name, version);
	if (version == 0 && newest->revoked_s != 0)
		return vault_current_revoked(err, name, newest->version);
	entry = version != 0 ? given : newest;
	if (entry->revoked_s != 0)
		return vault_fail(err, VAULT_REVOKED, "%s version %u is revoked",
		    name, version);
	*got = entry->version;
	return open_entry(keys, image, entry, out, err);
}

enum vault_status
vault_image_revoke(struct vault_image *image, const char *name,
    uint32_t version, int64_t now_s, struct vault_error *err)
{
	size_t i = lower_bound(image, name), found = 0, done = 0;
	struct entry *entry;

	for (; is(image, i, name); i++) {
		entry = &image->entries[i];
		if (version != 0 && entry->version != version)
			continue;
		found++;
		if (entry->revoked_s != 0)
			continue;
		done++;
		entry->revoked_s = now_s != 0 ? now_s : 1;
		sodium_memzero(entry->wrapped, WRAPPED_LEN);
		sodium_memzero(entry->body, entry->body_len);
		free(entry->body);
		entry->body = NULL;
		entry->body_len = 0;
	}
	return vault_revoked(err, name, found, done);
}

void
vault_image_list(const struct vault_image *image,
    void (*each)(void *arg, const char *name, uint32_t version,
    int64_t created_s, int64_t revoked_s), void *arg)
{
	size_t i;

	for (i = 0; i < image->n; i++)
		each(arg, image->entries[i].name, image->entries[i].version,
		    image->entries[i].created_s, image->entries[i].revoked_s);
}
