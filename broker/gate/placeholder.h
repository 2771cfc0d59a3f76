/*
 * A dummy with the real token's shape, which stands in the agent's environment:
 * known prefix kept, length kept, body drawn at random from the body's alphabet,
 * checksummed where the format has a checksum that clients test.
 *
 * No character of the body is taken over; that a drawn one is the same by chance
 * says nothing.  A dummy names its run, so it holds PLACEHOLDER_BITS of chance at
 * least: where the shape has no room for them it is given up.
 */
#ifndef BROKER_PLACEHOLDER_H
#define BROKER_PLACEHOLDER_H

#include "slice.h"

#define PLACEHOLDER_MAX 4096
#define PLACEHOLDER_BITS 80
#define PLACEHOLDER_PLAIN "cs-placeholder-"	/* and 32 letters and digits */

/*
 * The length written to out, without NUL, or 0 where cap is too small
 * (PLACEHOLDER_MAX never is).  By the first rule that applies:
 *
 *   a JWT        a JWT of our own, that expires late, with a random signature
 *   PEM          the same label, a random body of at most 1600 characters
 *   a format that scan_formats knows    its dummy (Anthropic's keys end alike, for
 *     Claude Code's sake, which remembers keys by their last 20 characters)
 *   one alphabet (digits, hex, base32, base62, base64, base64url) with '.' or,
 *     in a UUID, '-' between its parts    the same, and a prefix like "sk-live_"
 *   all else: too short, too long, words, passwords    PLACEHOLDER_PLAIN…
 *
 * sodium_init() before.  Any thread.
 */
size_t placeholder_make(struct slice secret, char *out, size_t cap);

#endif
