/*
 * The forms of a secret as a machine: where a reader stands in one of them, and
 * where one byte more may take it.  Pure; for redact*.c alone.
 *
 * A form is a row of elements (the secret's bytes, its hex digits, its base64
 * digits).  Standing between two elements, a reader may take the next one as it
 * is, or begin one of its escapes; inside an escape there is one way on.  Nothing
 * is precomputed from the secret but its length, so a position costs the same
 * for a password and for a 16 KiB key.
 */
#ifndef BROKER_REDACT_FORM_H
#define BROKER_REDACT_FORM_H

#include "slice.h"

#include <stdint.h>

enum redact_form {
	REDACT_TEXT, REDACT_HEX,
	REDACT_BASE64,	/* the secret begins a group of three bytes */
	REDACT_BASE64_1, REDACT_BASE64_2	/* one, two bytes stand before it */
};
#define REDACT_FORMS 5

struct redact_item {
	const uint8_t *p;
	uint32_t n;
	uint8_t forms;		/* bit set of enum redact_form */
};

struct redact_at {
	uint64_t start;		/* offset of the first byte of what was read */
	const char *escape;	/* what is left of an escape, or NULL between elements */
	uint32_t element;
	uint16_t item;
	uint8_t form;
	uint8_t zeros;		/* read in front of an entity's number */
	bool wrap;		/* escape is a line's end inside base64 */
	bool wrapped;		/* and here it was: no second one */
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
#define REDACT_ESCAPE_MAX 16	/* more than the bytes of the longest escape */

void redact_form_init(void);	/* once, any thread; before all else */

/* How many elements; and how many of the secret's bytes the first k stand for. */
uint32_t redact_form_elements(const struct redact_item *item, unsigned form);
uint32_t redact_form_bytes(unsigned form, uint32_t elements);

/* Where c takes a reader from *at; their number.  0: nowhere. */
size_t redact_form_step(const struct redact_item *item,
    const struct redact_at *at, uint8_t c, struct redact_at ways[REDACT_WAYS_MAX]);

/* Does c take a reader anywhere? */
bool redact_form_goes_on(const struct redact_item *item,
    const struct redact_at *at, uint8_t c);

#endif
