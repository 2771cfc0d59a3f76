/*
 * Content codings of upstream bodies, decoded piece by piece so that redaction
 * sees what the client would see.  Over zlib; RFC 1950, 1951, 1952.
 *
 * Output is only ever written where the caller has room, so a small body that
 * swells without end costs its reader time and bandwidth but no memory: zlib's
 * window and tables, about 40 KiB a stream.
 */
#ifndef BROKER_INFLATE_H
#define BROKER_INFLATE_H

#include "slice.h"

enum inflate_coding {
	INFLATE_IDENTITY,	/* nothing to decode */
	INFLATE_GZIP,		/* gzip, x-gzip */
	INFLATE_DEFLATE,	/* zlib's format, or the bare one that some send */
	INFLATE_UNKNOWN		/* all others, and more than one: refuse the body */
};

/* What a Content-Encoding field asks for; of several fields, call it once with
 * each and refuse where more than one is not identity. */
enum inflate_coding inflate_coding(struct slice value);

struct inflate;

/* For GZIP or DEFLATE; NULL where out of memory. */
struct inflate *inflate_new(enum inflate_coding coding);
void inflate_free(struct inflate *inflate);	/* wipes its window; NULL-safe */

enum inflate_result {
	INFLATE_MORE,	/* all of *in is taken: bring more, or end */
	INFLATE_FULL,	/* cap bytes are written: empty out and call again */
	INFLATE_END,	/* the body is over; *in keeps what follows */
	INFLATE_BAD	/* damaged, or something follows the end: cut the stream */
};

/*
 * Takes from *in and writes at most cap (not 0) bytes to out, *n of them.  END
 * is only said for DEFLATE: after one gzip member another may follow, and what
 * follows and is none is BAD.  So when the input is over, ask inflate_whole.
 */
enum inflate_result inflate_feed(struct inflate *inflate, struct slice *in,
    char *out, size_t cap, size_t *n);

/* May the input end here?  Not inside a member; but an empty body may. */
bool inflate_whole(const struct inflate *inflate);

#endif
