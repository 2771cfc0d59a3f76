/*
 * Looks into a gzip file that is a body (no content coding of it: a download), on
 * its way.  Nothing in it can be replaced, so a find ends the answer; and what the
 * reader could unpack the find from is held back until it is none.  Knows nothing of
 * sockets.
 */
#ifndef BROKER_PEEK_H
#define BROKER_PEEK_H

#include "redact/redact.h"

#define PEEK_PIECE 1024	/* bytes of the file that are looked at, or held back, at once */
#define PEEK_EARLY 3	/* so many bytes of a find may have been passed on */

struct peek;

enum peek_result {
	PEEK_PASS,	/* all that was looked at may go on */
	PEEK_HOLD,	/* what was looked at since the last PASS may be part of a find */
	PEEK_FOUND,	/* final */
	PEEK_OVER,	/* no gzip, damaged from here on, or more than a hundred times as
			 * large unpacked: nothing is looked at any more */
	PEEK_MEMORY
};

/* Whether a file may be gzip, by its first byte. */
static inline bool
peek_worth(char first)
{
	return first == '\x1f';
}

/* Looks for what `redact` looks for.  NULL: no memory. */
struct peek *peek_new(const struct redact *redact);
void peek_free(struct peek *peek);	/* wipes; NULL-safe */

enum peek_result peek_look(struct peek *peek, struct slice piece);
/* The file ends here: FOUND or OVER (or MEMORY). */
enum peek_result peek_end(struct peek *peek);

#endif
