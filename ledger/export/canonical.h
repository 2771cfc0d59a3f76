/*
 * JSON with sorted members and one way to write each string: RFC 8785, and the
 * form with nothing beyond ASCII that VLC-1 hashes.  For objects of few members
 * whose names are plain; members are added in the order of their names.
 */
#ifndef LEDGER_EXPORT_CANONICAL_H
#define LEDGER_EXPORT_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct canonical {
	char *buf;
	size_t cap, len;
	bool ascii;		/* \u for what is beyond ASCII, as VLC-1 has it */
	bool overflow, comma;
};

void canonical_begin(struct canonical *c, char *buf, size_t cap, bool ascii);
/* key NULL: the outermost. */
void canonical_object(struct canonical *c, const char *key);
void canonical_object_end(struct canonical *c);
void canonical_array(struct canonical *c, const char *key);
void canonical_array_end(struct canonical *c);
/* text is UTF-8; what is not becomes U+FFFD. */
void canonical_text(struct canonical *c, const char *key, const char *text);
void canonical_number(struct canonical *c, const char *key, uint64_t value);
/* Terminated with NUL.  The length, or -1 where it did not fit. */
int canonical_end(struct canonical *c);

#endif
