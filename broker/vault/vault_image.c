/* Secrets in their place: what is sealed for a name and version opens for no other. */
#include "vault/vault_image_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define AD_MAX (ID_LEN + 1 + VAULT_NAME_MAX + 4 + 8)

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

struct entry *
vault_image_insert(struct vault_image *image, size_t i)
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

/* A login whose refresh tokens are used once leaves a revoked version each time: of name,
 * whose versions lie in [begin, end), the oldest are forgotten, and never the last. */
static void
forget_revoked(struct vault_image *image, size_t begin, size_t end)
{
	struct entry *entries = image->entries;
	size_t revoked = 0, kept = begin;

	for (size_t i = begin; i < end; i++)
		revoked += entries[i].revoked_s != 0;
	for (size_t i = begin; i < end; i++)
		if (entries[i].revoked_s != 0 && i + 1 < end &&
		    revoked > VAULT_IMAGE_REVOKED_MAX)
			revoked--;
		else
			entries[kept++] = entries[i];
	memmove(&entries[kept], &entries[end], (image->n - end) * sizeof(*entries));
	image->n -= end - kept;
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
	if ((place = vault_image_insert(image, i)) == NULL) {
		free(made.body);
		return vault_fail(err, VAULT_IO, "out of memory");
	}
	*place = made;
	*version = made.version;
	forget_revoked(image, lower_bound(image, name), i + 1);
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
