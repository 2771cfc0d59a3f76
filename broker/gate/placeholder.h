/*
 * A dummy with the real token's shape: known prefix kept, length kept, body
 * drawn at random from the body's alphabet (digits, base62, base64url, hex,
 * ...), checksummed where the format has a checksum that clients test.
 */
#ifndef BROKER_PLACEHOLDER_H
#define BROKER_PLACEHOLDER_H

#include "slice.h"

#define PLACEHOLDER_MAX 4096

/* The length written to out, or 0 where cap is too small.  A secret too short
 * or too plain to be told from ordinary text gets a longer "cs-placeholder-…". */
size_t placeholder_make(struct slice secret, char *out, size_t cap);

#endif
