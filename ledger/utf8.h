/*
 * Well-formed UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing
 * beyond U+10FFFF.  Pure, any thread.
 */
#ifndef LEDGER_UTF8_H
#define LEDGER_UTF8_H

#include <stddef.h>

/* Length in bytes (1 to 4) of the character that starts at text, or 0 where
 * none of the len bytes there forms one. */
size_t utf8_char(const char *text, size_t len);

#endif
