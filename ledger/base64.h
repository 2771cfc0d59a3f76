/*
 * Base64 with padding (RFC 4648, section 4) in its one canonical spelling.
 *
 * libsodium (1.0.18) takes bytes of 128 and above for characters of the
 * alphabet: another text of the same value, which other implementations
 * refuse.  Decode outside text by these, or cut it by base64_ascii before.
 */
#ifndef LEDGER_BASE64_H
#define LEDGER_BASE64_H

#include <stddef.h>
#include <stdint.h>

/* All len characters, into at most cap bytes; how many goes to *got.  -1 for
 * anything else, trailing bits and lacking padding too. */
int base64_read(uint8_t *out, size_t cap, const char *text, size_t len, size_t *got);

/* How many bytes at the beginning are below 128. */
size_t base64_ascii(const char *text, size_t len);

#endif
