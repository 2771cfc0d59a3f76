/*
 * A key of AWS, or of whoever takes its signatures, as one secret of the vault:
 *
 *     aws:ACCESS-KEY-ID:SECRET-ACCESS-KEY
 *     aws:ACCESS-KEY-ID:SECRET-ACCESS-KEY:SESSION-TOKEN
 *
 * The parts belong together, so they are stored, rotated and revoked as one.  The
 * first names who signs and is no secret; the second signs and never leaves; the
 * third goes with each request.
 */
#ifndef BROKER_AWS_KEYS_H
#define BROKER_AWS_KEYS_H

#include "slice.h"

struct aws_keys {
	struct slice id, secret, token;	/* token.n 0: none */
};

/* The parts lie in value.  False where it has another form. */
bool aws_keys_read(struct slice value, struct aws_keys *out);

#endif
