/*
 * Basic credentials, RFC 7617, without a copy of the secret anywhere but where
 * it goes.
 */
#ifndef BROKER_BASIC_H
#define BROKER_BASIC_H

#include "slice.h"

/* base64(user:password) to out, without NUL.  Its length; 0 where it does not
 * fit or the user has a ':'. */
size_t basic_encode(struct slice user, struct slice password, char *out,
    size_t cap);

/* Both halves decoded into buf.  False where encoded is no base64 (padded or
 * not) with a ':' in it, or buf is too small. */
bool basic_decode(struct slice encoded, char *buf, size_t cap,
    struct slice *user, struct slice *password);

#endif
