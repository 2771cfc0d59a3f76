/*
 * Well-formed UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing
 * beyond U+10FFFF.  Pure, any thread.
 */
#ifndef LEDGER_UTF8_H
#define LEDGER_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes (1 to 4) of the character that starts at text, or 0 where
 * none of the len bytes there forms one. */
size_t utf8_char(const char *text, size_t len);

/* The same, step by step through text that may be anything (len is not 0): how many
 * bytes to go on by, and the character in *c; 1 and UTF8_NONE where there is none. */
#define UTF8_NONE UINT32_MAX
size_t utf8_next(const char *text, size_t len, uint32_t *c);

/* Not to be shown as it is: invisible, a control, for private use, changing how what
 * stands beside it is shown, or UTF8_NONE. */
bool utf8_is_odd(uint32_t c);

#endif
