/*
 * Requests that their client signed (AWS Signature Version 4) with a dummy key: what
 * is read of that signature, and the one that is put in its place.  Pure.
 *
 * The client says region and service, as SDKs know them; its placeholder is the key
 * id.  Signed anew is the head that goes upstream: Host, Content-Type, Content-MD5
 * and every X-Amz-… field, at the broker's own time.  The body counts by the hash
 * that the client sent (X-Amz-Content-Sha256) or, where it sent none, by the broker's.
 */
#ifndef BROKER_AWS_REQUEST_H
#define BROKER_AWS_REQUEST_H

#include "aws_keys.h"
#include "inject/sigv4.h"

#define AWS_BODY_MAX (16u * 1024 * 1024)	/* bytes that the broker hashes before it sends them */
#define AWS_VALUE_MAX (SIGV4_NAMES_MAX + 512)

/* "AWS4-… Credential=ID/DATE/REGION/SERVICE/aws4_request, …" */
struct aws_scope {
	struct slice id, region, service;
};

/* False where the field is something else. */
bool aws_request_scope(struct slice authorization, struct aws_scope *out);

/* Why such a request cannot be signed, or NULL: static text. */
const char *aws_request_refusal(const struct head *head);

/* Its body must be there, of body_len bytes, before its head can be written. */
bool aws_request_needs_body(const struct head *head);

/* A field that is written anew, besides Authorization. */
bool aws_request_replaces(struct slice name);
/* A field that is signed. */
bool aws_request_covers(struct slice name);

struct aws_signed {
	char time[SIGV4_TIME_LEN + 1];
	char authorization[AWS_VALUE_MAX];
	size_t authorization_len;
};

/*
 * request has method, path, query and the fields that are signed but for the two
 * that come in here, X-Amz-Date and X-Amz-Security-Token; body_hash: of a body that
 * was needed, or NULL.  False where it does not fit.
 */
bool aws_request_sign(const struct head *head, struct sigv4 *request,
    const struct aws_keys *keys, const char *body_hash, time_t now,
    struct aws_signed *out);

#endif
