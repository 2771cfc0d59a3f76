/* Signed claims (RFC 7519, RFC 7515 compact form): RS256 or ES256, by the key's kind. */
#ifndef BROKER_MINT_JWT_H
#define BROKER_MINT_JWT_H

#include <stddef.h>

#include <jansson.h>

/* Is it a private key in PEM, unsealed, with which one can sign?  0, or -1 with a
 * message that has no byte of it. */
int jwt_key_check(const char *pem, char *err, size_t err_len);

/* The caller wipes and frees it.  key_id may be NULL.  NULL with a message. */
char *jwt_sign(const char *pem, const char *key_id, const json_t *claims, char *err,
    size_t err_len);

#endif
