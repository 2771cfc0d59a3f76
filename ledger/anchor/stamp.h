/*
 * Time stamps, RFC 3161 (with RFC 5816's certificate digests): an authority
 * signs that it was shown a digest at a time.  What is stamped is the exact
 * bytes of a checkpoint as the log signed it, without witnesses' signatures:
 * the text, the empty line, the log's signature line.
 *
 * Tokens are parsed and verified by OpenSSL (TS_RESP_verify_response), which
 * checks that the certificate is for time stamping only.  What it would let pass is
 * refused here: keys and digests of less than 112 bits (RSA of 1024, SHA-1, MD5),
 * and critical extensions of the statement, of which none is known.  Its validity is
 * judged at the token's own time: authorities' certificates outlive what they
 * sign by little.  So a token is worth what its authority's key is worth today; that it
 * is worth nothing any more is told by lists of certificates that were taken back, which
 * may stand in the authority's file (revoked.h).
 * Nothing is kept between calls: any thread.
 */
#ifndef LEDGER_ANCHOR_STAMP_H
#define LEDGER_ANCHOR_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAMP_MAX 65536		/* bytes of a response */
#define STAMP_NONCE_LEN 8
#define STAMP_TYPE "application/timestamp-query"

#define STAMP_DIGEST_LEN 32

/* SHA-256 of what is to be stamped. */
void stamp_digest(const void *bytes, size_t len,
    uint8_t digest[STAMP_DIGEST_LEN]);

/*
 * A request (TimeStampReq, DER, malloc's): SHA-256, certificates wanted, with
 * this nonce.  NULL out of memory.
 */
uint8_t *stamp_request(const uint8_t digest[STAMP_DIGEST_LEN],
    const uint8_t nonce[STAMP_NONCE_LEN], size_t *der_len);

struct stamp {
	int64_t time_s;		/* genTime, UTC, since 1970 */
	int64_t accuracy_s;	/* it may be off by that, as the authority says; rounded up */
	char serial[64];	/* hex; cut where it is longer */
	uint8_t signer[STAMP_DIGEST_LEN];	/* SHA-256 of the public key that signed it */
};

/* Certificates in the PEM file; 0 also where it cannot be read, or a list (CRL) in it. */
unsigned stamp_authorities(const char *ca_file);

/* Is there a key that has a certificate in both PEM files? */
bool stamp_authorities_shared(const char *ca_file, const char *other);

/*
 * Is the response (TimeStampResp, or the token alone; DER, nothing behind it)
 * granted, and a time stamp over the digest that leads to an authority in
 * ca_file (PEM)?  nonce may be NULL: not asked for now.  ca_file may be NULL:
 * then the signature is checked with the certificate in the token, which may be
 * anybody's.  0 and *out, or -1 with the reason in why.
 */
int stamp_check(const uint8_t *der, size_t der_len,
    const uint8_t digest[STAMP_DIGEST_LEN], const uint8_t *nonce,
    const char *ca_file, struct stamp *out, char *why, size_t why_len);

#endif
