/*
 * Keyed digests (BLAKE2b) and what is minted at random.  Tokens are kept only
 * as digests under a key that lives and dies with the daemon: after a restart
 * no old token can be recognised, by anybody.
 */
#ifndef BROKER_GATE_KEYED_H
#define BROKER_GATE_KEYED_H

#include "slice.h"

#include <stdint.h>

#define KEYED_LEN 32
#define KEYED_TEXT_MAX 40	/* "hmac:", 32 hex digits, NUL */

/* In locked memory. */
struct keyed {
	uint8_t token[KEYED_LEN];	/* tokens, placeholders, cache keys */
	uint8_t query[KEYED_LEN];	/* queries, arguments, tainted paths in records */
	uint8_t person[KEYED_LEN];	/* principals in records */
};

/* person: 32 bytes, or NULL for a random key.  NULL where memory cannot be locked. */
struct keyed *keyed_new(const uint8_t *person);
void keyed_free(struct keyed *keyed);

void keyed_digest(const uint8_t key[KEYED_LEN], struct slice bytes,
    uint8_t out[KEYED_LEN]);

/* "hmac:" and the first 128 bits in hex: what a record shows instead. */
struct slice keyed_text(const uint8_t key[KEYED_LEN], struct slice bytes,
    char out[KEYED_TEXT_MAX]);

/* prefix and len random bytes (at most 32) in base64url, NUL-terminated. */
void keyed_mint(const char *prefix, size_t len, char *out, size_t cap);

#endif
