/*
 * Takes a content coding off (RFC 9110 section 8.4.1): gzip, x-gzip, and
 * deflate with or without its zlib wrapper.  Incremental: any split of the
 * input gives the same output, and no call writes more than it was given room
 * for, so a bomb costs its reader nothing but time.
 */
#ifndef BROKER_INFLATE_H
#define BROKER_INFLATE_H

#include "slice.h"

struct inflate;

enum inflate_result {
	INFLATE_OK,	/* all input used, or the room is full: call again */
	INFLATE_END,	/* the coded data is whole; what follows it stays in *in */
	INFLATE_BAD	/* not this coding, damaged, or bytes behind its end */
};

bool inflate_knows(struct slice coding);	/* any case */

/* NULL for an unknown coding or where out of memory. */
struct inflate *inflate_new(struct slice coding);
void inflate_free(struct inflate *inflate);	/* NULL-safe */

/* Consumes from *in and writes up to cap bytes to out, *written of them.  With
 * nothing left to consume it gives out what is still inside. */
enum inflate_result inflate_feed(struct inflate *inflate, struct slice *in,
    char *out, size_t cap, size_t *written);

/* Was the end of the coded data seen? (A body that stops before is damaged.) */
bool inflate_complete(const struct inflate *inflate);

#endif
