/* What redact_needles.c builds and redact.c reads; see redact.h. */
#ifndef BROKER_REDACT_NEEDLES_H
#define BROKER_REDACT_NEEDLES_H

#include "redact/redact.h"
#include "redact/redact_form.h"

#include <stdatomic.h>

#define REDACT_LOOK 4	/* first bytes of a form that are looked at together; none is shorter */

struct redact_needles {
	atomic_uint refs;
	uint32_t n_items, n_once;	/* n_once: those in front that are no base64 yet */
	size_t min, hold;	/* shortest find; most bytes that one can hold back */
	size_t readers;		/* so many may be on their way in one stream */
	struct redact_item *items;
	/* may[k][c]: the ways to begin that may have c as byte k, a bit for each.  Where
	 * no bit is in all of the first few, nothing begins.  Nearly all of any stream
	 * is passed over by this alone, which can be asked of several places at once. */
	uint32_t may[REDACT_LOOK][256];
};

/* A way to begin is a form; of text there are three, or the escapes of one byte
 * would pass for those of the next; and of what is base64 before it is encoded so
 * again, one for each of its own alignments. */
enum { REDACT_BY_PERCENT = REDACT_FORMS, REDACT_BY_ESCAPE, REDACT_TWICE,
	REDACT_BEGINS = REDACT_TWICE + 9 };
_Static_assert(REDACT_BEGINS <= 32, "a bit for each");

/* The form of an item that begins in this way; REDACT_FORMS: none. */
static inline unsigned
redact_form_of(const struct redact_item *item, unsigned begin)
{
	if (item->twice != 0)
		return begin >= REDACT_TWICE && (begin - REDACT_TWICE) / 3 == item->twice - 1u ?
		    REDACT_BASE64 + (begin - REDACT_TWICE) % 3 : REDACT_FORMS;
	return begin < REDACT_FORMS ? begin : begin < REDACT_TWICE ? REDACT_TEXT :
	    REDACT_FORMS;
}

/* The forms of an item that begin in one of these ways. */
static inline unsigned
redact_forms_of(const struct redact_item *item, unsigned begins)
{
	unsigned forms;

	if (item->twice != 0)
		forms = (begins >> (REDACT_TWICE + 3 * (item->twice - 1)) & 7) << REDACT_BASE64;
	else
		forms = begins & ((1u << REDACT_FORMS) - 1);
	if (item->twice == 0 && (begins >> REDACT_FORMS & 3) != 0)
		forms |= 1u << REDACT_TEXT;
	return forms & item->forms;
}

/* The ways to begin with the first n bytes at p, of which REDACT_LOOK count. */
static inline unsigned
redact_may_begin(const struct redact_needles *needles, const uint8_t *p, size_t n)
{
	unsigned begins = needles->may[0][p[0]];

	for (size_t k = 1; k < REDACT_LOOK && k < n; k++)
		begins &= needles->may[k][p[k]];
	return begins;
}

#endif
