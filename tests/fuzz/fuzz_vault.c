/*
 * A vault file of any bytes (first byte 'f'), and one whose payload is any
 * bytes under the right key (any other first byte): refused, or the same again
 * after it was written and read once more.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "vault/vault_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct vault_keys *keys;

struct listing {
	const struct vault_image *image;
	uint64_t sum;
};

/* What can be read at all; a forged secret must not open. */
static void
visit(void *arg, const char *name, uint32_t version, int64_t created_s,
    int64_t revoked_s)
{
	struct listing *listing = arg;
	struct secret *secret = NULL;
	struct vault_error err;
	uint32_t got = 0;

	assert(vault_name_ok(name) && version > 0);
	assert(vault_image_get(keys, listing->image, name, version, &secret,
	    &got, &err) != VAULT_OK);
	listing->sum = listing->sum * 31 + version + (uint64_t)created_s +
	    3 * (uint64_t)revoked_s;
}

static uint64_t
sum_of(const struct vault_image *image)
{
	struct listing listing = { image, 0 };

	vault_image_list(image, visit, &listing);
	return listing.sum;
}

static void
again(struct vault_image *image)
{
	struct vault_image *second = NULL;
	struct vault_error err;
	uint8_t *file = NULL;
	size_t len = 0;

	assert(vault_image_encode(keys, image, &file, &len, &err) == VAULT_OK);
	assert(vault_image_decode(keys, file, len, &second, &err) == VAULT_OK);
	assert(sum_of(image) == sum_of(second));
	assert(vault_image_same_vault(image, second));
	vault_image_free(second);
	free(file);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t key[32], id[16];
	struct vault_image *image = NULL;
	struct vault_error err;
	uint8_t *file;

	if (keys == NULL && (keys = vault_keys_new(key)) == NULL)
		abort();
	if (len == 0)
		return 0;
	if (data[0] == 'f') {
		vault_image_decode(keys, data + 1, len - 1, &image, &err);
	} else {
		if ((file = malloc(VAULT_IMAGE_OVERHEAD + len - 1)) == NULL)
			return 0;
		vault_image_seal(keys, id, 1, data + 1, len - 1, file);
		vault_image_decode(keys, file, VAULT_IMAGE_OVERHEAD + len - 1,
		    &image, &err);
		free(file);
	}
	if (image != NULL)
		again(image);
	vault_image_free(image);
	return 0;
}
