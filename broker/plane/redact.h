/*
 * Finds one secret in all the forms it may come back in, in a stream that
 * arrives in any pieces, and puts a fixed marker in its place.
 *
 * Forms: raw, base64 and base64url at three alignments, percent (full and
 * mixed), JSON escapes, hex in both cases, HTML entities, and Basic of
 * user:secret.  The automaton's state depth is the exact number of bytes held
 * back; nothing more is delayed.  Every split of a stream gives what one block
 * gives.  The marker tells neither length nor tail.
 */
#ifndef BROKER_REDACT_H
#define BROKER_REDACT_H

#include "slice.h"

#include <stdint.h>

#define REDACT_MARKER "[redacted]"

struct redact_needles;	/* immutable, counted; locked memory, it holds the secret */

/* user: the Basic user of the binding, or NULL.  NULL where out of memory. */
struct redact_needles *redact_needles_new(struct slice secret, const char *user);
struct redact_needles *redact_needles_ref(struct redact_needles *needles);
void redact_needles_unref(struct redact_needles *needles);

struct redact;	/* one stream's state */

struct redact *redact_new(struct redact_needles *needles);
void redact_free(struct redact *redact);
void redact_reset(struct redact *redact);

/* The most that redact_feed can write for len bytes of input. */
size_t redact_bound(const struct redact *redact, size_t len);

/* Returns bytes written to out.  last: the stream is over, hold nothing back. */
size_t redact_feed(struct redact *redact, const char *in, size_t len,
    bool last, char *out);

uint32_t redact_count(const struct redact *redact);	/* replaced so far */

#endif
