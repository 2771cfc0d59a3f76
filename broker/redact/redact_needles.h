/* What redact_needles.c builds and redact.c reads; see redact.h. */
#ifndef BROKER_REDACT_NEEDLES_H
#define BROKER_REDACT_NEEDLES_H

#include "redact/redact.h"
#include "redact/redact_form.h"

#include <stdatomic.h>

#define REDACT_LOOK 4	/* first bytes of a form that are looked at together; none is shorter */

struct redact_needles {
	atomic_uint refs;
	uint32_t n_items;
	size_t min, hold;	/* shortest find; most bytes that one can hold back */
	size_t readers;		/* so many may be on their way in one stream */
	struct redact_item *items;
	/* may[k][c]: the ways to begin that may have c as byte k, a bit for each.  Where
	 * no bit is in all of the first few, nothing begins.  Nearly all of any stream
	 * is passed over by this alone, which can be asked of several places at once. */
	uint16_t may[REDACT_LOOK][256];
};

/* A way to begin is a form; of text there are three, or the escapes of one byte
 * would pass for those of the next. */
enum { REDACT_BY_PERCENT = REDACT_FORMS, REDACT_BY_ESCAPE, REDACT_BEGINS };
_Static_assert(REDACT_BEGINS <= 16, "a bit for each");

static inline unsigned
redact_forms_of(unsigned begins)
{
	return begins >> REDACT_FORMS != 0 ? begins | 1u << REDACT_TEXT : begins;
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
