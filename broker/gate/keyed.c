#include "gate/keyed.h"

#include <assert.h>

#include <sodium.h>

struct keyed *
keyed_new(const uint8_t *person)
{
	struct keyed *keyed = sodium_malloc(sizeof(*keyed));

	if (keyed == NULL)
		return NULL;
	randombytes_buf(keyed, sizeof(*keyed));
	if (person != NULL)
		memcpy(keyed->person, person, KEYED_LEN);
	return keyed;
}

void
keyed_free(struct keyed *keyed)
{
	sodium_free(keyed);	/* wipes */
}

void
keyed_digest(const uint8_t key[KEYED_LEN], struct slice bytes,
    uint8_t out[KEYED_LEN])
{
	crypto_generichash(out, KEYED_LEN, (const unsigned char *)bytes.p,
	    bytes.n, key, KEYED_LEN);
}

_Static_assert(TABLE_KEY_LEN == crypto_shorthash_siphashx24_BYTES &&
    sizeof(((struct keyed *)0)->token) == crypto_shorthash_siphashx24_KEYBYTES,
    "a table's keys are SipHash");

void
keyed_token(const struct keyed *keyed, struct slice text,
    uint8_t out[TABLE_KEY_LEN])
{
	crypto_shorthash_siphashx24(out, (const unsigned char *)text.p, text.n,
	    keyed->token);
}

struct slice
keyed_text(const uint8_t key[KEYED_LEN], struct slice bytes,
    char out[KEYED_TEXT_MAX])
{
	uint8_t digest[KEYED_LEN];

	keyed_digest(key, bytes, digest);
	memcpy(out, "hmac:", 5);
	sodium_bin2hex(out + 5, KEYED_TEXT_MAX - 5, digest, 16);
	return slice_of(out);
}

void
keyed_mint(const char *prefix, size_t len, char *out, size_t cap)
{
	uint8_t bytes[32];
	size_t at = strlen(prefix);

	assert(len <= sizeof(bytes));
	assert(at + sodium_base64_ENCODED_LEN(len,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING) <= cap);
	randombytes_buf(bytes, len);
	memcpy(out, prefix, at);
	sodium_bin2base64(out + at, cap - at, bytes, len,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(bytes, sizeof(bytes));
}
