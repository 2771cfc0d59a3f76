/*
 * The forms of a secret as a machine: where a reader stands in one of them, and
 * where one byte more may take it.  Pure; for redact*.c alone.
 *
 * A form is a row of elements (the secret's bytes, its hex digits, its base64
 * digits).  Standing between two elements, a reader may take the next one as it
 * is, begin one of its escapes, or a filler that means nothing (a wrapped line, a
 * colon between hex digits); inside an escape there is one way on.  Nothing
 * is precomputed from the secret but its length, so a position costs the same
 * for a password and for a 16 KiB key.
 */
#ifndef BROKER_REDACT_FORM_H
#define BROKER_REDACT_FORM_H

#include "slice.h"

#include <stdint.h>

enum redact_form {
	REDACT_TEXT, REDACT_HEX,
	/* digits of six bits and of five; their first one has so many of the
	 * neighbour's: 0, 2, 4, and 0 to 4 */
	REDACT_BASE64, REDACT_BASE64_END = REDACT_BASE64 + 2,
	REDACT_BASE32, REDACT_BASE32_END = REDACT_BASE32 + 4,
	REDACT_UTF16,		/* a NUL between any two bytes: either order of them */
	REDACT_NUMBERS,		/* each byte in decimal */
	REDACT_REVERSED, REDACT_ROT13,
	REDACT_FORMS
};

struct redact_item {
	const uint8_t *p;
	uint32_t n;
	uint16_t forms;		/* bit set of enum redact_form */
	uint8_t twice;		/* not 0: the secret in base64, at alignment twice - 1 */
};

struct redact_at {
	uint64_t start;		/* offset of the first byte of what was read */
	const char *escape;	/* what is left of an escape, or NULL between elements */
	uint32_t element;
	uint16_t item;
	uint8_t form;
	uint8_t zeros;		/* read in front of an entity's number */
	uint8_t fillers;	/* read since the last element */
	bool filler;		/* escape is one of them */
	bool escaped;		/* the last byte ended an escape */
	bool done;		/* all elements read */
};

#define REDACT_WAYS_MAX 40	/* one byte takes a reader to fewer places */
/* For arrays of them: what is read was written, and zeroing 1,280 bytes (which the
 * build does to locals else) would be most of what a byte costs. */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define REDACT_WAYS_UNSET __attribute__((uninitialized))
#endif
#endif
#ifndef REDACT_WAYS_UNSET
#define REDACT_WAYS_UNSET
#endif
#define REDACT_PADDING_MAX 8	/* zeros in front of an entity's number */
#define REDACT_FILLERS_MAX 12	/* between two elements that are numbers */
#define REDACT_ESCAPE_MAX 16	/* more than the bytes of the longest escape */

void redact_form_init(void);	/* once, any thread; before all else */

/* How many of the secret's bytes the first so many elements stand for. */
uint32_t redact_form_bytes(unsigned form, uint32_t elements);

/* Where c takes a reader from *at; their number.  0: nowhere. */
size_t redact_form_step(const struct redact_item *item,
    const struct redact_at *at, uint8_t c, struct redact_at ways[REDACT_WAYS_MAX]);

/* The bytes that may take a reader anywhere, and few others; their number. */
size_t redact_form_candidates(const struct redact_at *at, uint8_t bytes[256]);

#endif
