/* UTF-8 as Rego strings need it.  Shortest forms only, no surrogates. */
#ifndef POLICY_VALUE_UTF8_H
#define POLICY_VALUE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes from the start are valid. */
size_t utf8_valid_prefix(const char *p, size_t n);
/* How many bytes from the start are printable ASCII that a JSON string holds as
 * it is: no quote, no backslash. */
size_t utf8_plain_prefix(const char *p, size_t n);
/* The code point at p (U+FFFD and 1 byte where invalid); n must not be 0. */
uint32_t utf8_decode(const char *p, size_t n, size_t *used);
/* At most 4 bytes; the length. */
size_t utf8_encode(uint32_t rune, char *out);
size_t utf8_count(const char *p, size_t n);
/* The byte offset of code point number at (n where there are fewer). */
size_t utf8_offset(const char *p, size_t n, size_t at);

#endif
