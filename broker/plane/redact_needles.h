/* What redact_needles.c builds and redact.c reads; see redact.h. */
#ifndef BROKER_REDACT_NEEDLES_H
#define BROKER_REDACT_NEEDLES_H

#include "plane/redact.h"
#include "plane/redact_form.h"

#include <stdatomic.h>

struct redact_start {
	uint16_t item;
	uint8_t form;
};

struct redact_needles {
	atomic_uint refs;
	uint32_t n_items;
	size_t min, hold;	/* shortest find; most bytes that one can hold back */
	size_t readers;		/* so many may be on their way in one stream */
	struct redact_item *items;
	/* The forms that may begin with byte c: starts[first[c]..first[c+1]). */
	struct redact_start *starts;
	uint32_t first[257];
	/* Bit set over pairs of bytes: may a form begin with these two? */
	uint64_t pairs[1024];
	/* A bit for each form: may it have this byte first, this one second?  Where no
	 * bit is in both the two are no such pair.  Most of any stream is passed over
	 * by this test alone, which can be made for several bytes at once. */
	uint8_t as_first[256], as_second[256];
};
_Static_assert(REDACT_FORMS <= 8, "a bit for each form");

static inline bool
redact_pair(const struct redact_needles *needles, uint8_t first, uint8_t second)
{
	/* in this order two neighbours are one load on most machines */
	unsigned pair = (unsigned)first | (unsigned)second << 8;

	return needles->pairs[pair >> 6] >> (pair & 63) & 1;
}

#endif
