/*
 * Takes a content coding off (RFC 9110 section 8.4.1): gzip, x-gzip, and
 * deflate with or without its zlib wrapper; over zlib.  Incremental: any split of
 * the input gives the same output, and no call writes more than it was given room
 * for, so a bomb costs its reader nothing but time: memory is zlib's window and
 * tables, about 40 KiB a stream.
 */
#ifndef BROKER_INFLATE_H
#define BROKER_INFLATE_H

#include "slice.h"

struct inflate;

enum inflate_result {
	INFLATE_OK,	/* all input used, or the room is full: call again */
	INFLATE_END,	/* the coded data is whole; what follows it stays in *in */
	INFLATE_BAD	/* not this coding, damaged, or bytes behind its end; final */
};

/* Any case; false for every other coding, and for two at once. */
bool inflate_knows(struct slice coding);

/* NULL for an unknown coding or where out of memory. */
struct inflate *inflate_new(struct slice coding);
void inflate_free(struct inflate *inflate);	/* wipes its window; NULL-safe */

/*
 * Consumes from *in and writes up to cap (not 0) bytes to out, *written of them.
 * With nothing left to consume it gives out what is still inside.  Of gzip, END
 * is never said: another member may follow, and what follows and is none is BAD.
 */
enum inflate_result inflate_feed(struct inflate *inflate, struct slice *in,
    char *out, size_t cap, size_t *written);

/* May the input end here? (A body that stops inside a member is damaged; one of
 * no bytes at all is not.) */
bool inflate_complete(const struct inflate *inflate);

#endif
