/*
 * What the two parts of the vault file as a value share: secrets in their place
 * (vault_image.c), and the bytes of a file (vault_image_file.c).
 */
#ifndef BROKER_VAULT_IMAGE_IMPL_H
#define BROKER_VAULT_IMAGE_IMPL_H

#include "vault/vault_image.h"

#include <sodium.h>

#define ID_LEN 16
#define KEY_LEN crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define NONCE_LEN crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_LEN crypto_aead_xchacha20poly1305_ietf_ABYTES
#define WRAPPED_LEN (NONCE_LEN + KEY_LEN + TAG_LEN)

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

/* Room for one entry more, at place i; NULL: no memory. */
struct entry *vault_image_insert(struct vault_image *image, size_t i);

static inline void
put_le(uint8_t *out, uint64_t value, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

#endif
