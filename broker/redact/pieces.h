/*
 * Tells a secret in a streamed answer that is cut into the strings of one member: of
 * events or lines of JSON, each with a few letters of it.  Between two pieces stands as
 * much other text as the sender likes, so nothing can be held back until they are one,
 * and nothing replaced.  What can be done is to stop when half of it has gone by:
 * by then it is no chance, and the rest of it stays unknown.
 *
 * Only as the bytes stand, or escaped as JSON escapes them; of one member, from the
 * secret's beginning; in the members that such answers have.
 */
#ifndef BROKER_PIECES_H
#define BROKER_PIECES_H

#include "redact/redact.h"

#define PIECES_LEAST 16		/* bytes of a secret, or all of it, that are no chance */
#define PIECES_MOST 256

struct pieces;

/* Is an answer of this Content-Type so written? */
bool pieces_expected(struct slice type);

struct pieces *pieces_new(struct redact_needles *needles);	/* refs them; NULL: no memory */
void pieces_free(struct pieces *pieces);	/* wipes; NULL-safe */

/* The next bytes of the stream; whether half of the secret has been in one member. */
bool pieces_feed(struct pieces *pieces, struct slice bytes);

#endif
