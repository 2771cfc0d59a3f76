/*
 * Finds a secret in all the forms it may come back in, in a stream that arrives
 * in any pieces, and puts a fixed marker in its place.
 *
 * What is found is a language, not a list of strings: the secret's bytes one
 * after another, each of them raw or escaped in any way (percent, JSON \u, \u{}, \x,
 * octal and short escapes, HTML entities by name or by a decimal or hexadecimal number
 * with up to eight zeros in front, quoted-printable with its soft breaks, '+' for a
 * space), mixed as the sender likes; what an encoder must escape also escaped
 * twice (percent, JSON);
 * hex digits in either case, with up to twelve of blank, tab, line end, ':', '-',
 * ',', ';', "0x" between two bytes; decimal numbers, likewise;
 * base64 and base64url at three alignments, with escaped '+' and '/', and wrapped
 * lines; that in base64 again, of secrets up to 16 KiB; base32 at five, in either case, with wrapped lines;
 * UTF-16 in either order, where the secret is ASCII: its marker is UTF-16 too;
 * backwards; by rot13.
 * Basic of user:secret is one of base64's alignments.  The digits at both ends,
 * which hold bits of the neighbours too, are part of the find.
 *
 * Held back are exactly the bytes that may still become one of these: nothing
 * more is delayed.  Every split of a stream gives what one block gives.  Finds
 * that overlap or touch become one marker, which tells neither length nor tail.
 *
 * Memory does not grow with the number of forms: a position in a form is worked
 * out from the secret itself (redact_form.h).  Of a secret longer than
 * REDACT_COMMIT bytes that many are a find already, and what follows is
 * swallowed as long as it goes on like the secret; so a 16 KiB key holds back
 * no more than a 512-byte one.
 *
 * Secrets below REDACT_WHOLE bytes are looked for raw, escaped, in UTF-16 and as
 * Basic, but in no other form, where chance would find them.
 */
#ifndef BROKER_REDACT_H
#define BROKER_REDACT_H

#include "slice.h"

#include <stdint.h>

#define REDACT_MARKER "[redacted]"
#define REDACT_MIN 4		/* bytes of a secret that can be told from text */
#define REDACT_WHOLE 6
#define REDACT_COMMIT 512

struct redact_needles;	/* immutable, counted; locked memory, it holds the secret */

/* user: the Basic user of the binding, or NULL.  NULL where out of memory, and
 * for a secret shorter than REDACT_MIN (errno EINVAL): what cannot be redacted
 * must not be injected. */
struct redact_needles *redact_needles_new(struct slice secret, const char *user);
struct redact_needles *redact_needles_ref(struct redact_needles *needles);
void redact_needles_unref(struct redact_needles *needles);	/* any thread; NULL-safe */

struct redact;	/* one stream's state */

struct redact *redact_new(struct redact_needles *needles);	/* refs them; NULL: no memory */
struct redact *redact_like(const struct redact *redact);	/* a new one for the same secret */
void redact_free(struct redact *redact);	/* wipes; NULL-safe */
void redact_reset(struct redact *redact);	/* a new stream, count 0 */

/* The most that redact_feed can write for len bytes of input. */
size_t redact_bound(const struct redact *redact, size_t len);

/*
 * Returns bytes written to out.  last: the stream is over, hold nothing back;
 * the next call begins another one, and the count goes on.  So a field value is
 * redacted by one call with last set.
 */
size_t redact_feed(struct redact *redact, const char *in, size_t len,
    bool last, char *out);

uint32_t redact_count(const struct redact *redact);	/* markers written so far */

#endif
