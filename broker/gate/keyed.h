/*
 * Keyed digests and what is minted at random.  Tokens are kept only as digests
 * under a key that lives and dies with the daemon: after a restart no old token
 * can be recognised, by anybody.
 *
 * What records show is BLAKE2b.  Tokens, whose digests nobody sees, are SipHash-2-4
 * with 128 bits: without the key it is as hard to meet one of them as to guess a
 * token, and a request looks for two, where BLAKE2b takes six times as long over so
 * short a text.
 */
#ifndef BROKER_GATE_KEYED_H
#define BROKER_GATE_KEYED_H

#include "slice.h"
#include "gate/table.h"

#include <stdint.h>

#define KEYED_LEN 32
#define KEYED_TEXT_MAX 40	/* "hmac:", 32 hex digits, NUL */

/* In locked memory. */
struct keyed {
	uint8_t token[16];		/* tokens, placeholders, ids in tables */
	uint8_t query[KEYED_LEN];	/* queries, arguments, tainted paths in records */
	uint8_t person[KEYED_LEN];	/* principals in records */
};

/* person: 32 bytes, or NULL for a random key.  NULL where memory cannot be locked. */
struct keyed *keyed_new(const uint8_t *person);
void keyed_free(struct keyed *keyed);

void keyed_digest(const uint8_t key[KEYED_LEN], struct slice bytes,
    uint8_t out[KEYED_LEN]);

/* The key of a table's node. */
void keyed_token(const struct keyed *keyed, struct slice text,
    uint8_t out[TABLE_KEY_LEN]);

/* "hmac:" and the first 128 bits in hex: what a record shows instead. */
struct slice keyed_text(const uint8_t key[KEYED_LEN], struct slice bytes,
    char out[KEYED_TEXT_MAX]);

/* prefix and len random bytes (at most 32) in base64url, NUL-terminated. */
void keyed_mint(const char *prefix, size_t len, char *out, size_t cap);

#endif
