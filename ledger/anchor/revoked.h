/*
 * Certificates that were taken back, by the lists (CRL, RFC 5280) that stand in PEM beside
 * the certificates of an authority's file.  Whoever keeps that file believes both: a list's
 * signature and age are not looked at.
 *
 * As RFC 3161, 4 has it: a certificate that was taken back for one of the reasons that it
 * names (unspecified, said so; affiliation changed; superseded; cessation of operation)
 * is good for what was stamped before.  For any other reason, or where none is said, its
 * key may have been in anybody's hands, and nothing that it signed counts.
 */
#ifndef LEDGER_ANCHOR_REVOKED_H
#define LEDGER_ANCHOR_REVOKED_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/pkcs7.h>

/* Can each list in the file be read?  True where there is none. */
bool revoked_readable(const char *ca_file);

/*
 * Was the certificate of the token's signer, or one above it, taken back, by the lists in
 * ca_file, for what was signed at time_s (since 1970)?  The certificates above are sought
 * in the token and in the file.  NULL: no; or why, or why that cannot be told.
 */
const char *revoked_for(const char *ca_file, PKCS7 *token, int64_t time_s);

#endif
