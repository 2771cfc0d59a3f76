/*
 * AWS Signature Version 4, AWS4-HMAC-SHA256, as the IAM user guide has it under
 * "Create a signed AWS API request": the signature over what goes on the wire, pure.
 *
 * Path and query are spelled as the service will spell them: every byte but letters,
 * digits, "-._~" (and '/' in a path) as %XX.  S3 and its kin undo the wire's
 * escapes first, all others take the wire's path as it is and escape it once more.
 */
#ifndef BROKER_SIGV4_H
#define BROKER_SIGV4_H

#include "http/head.h"

#include <time.h>

#define SIGV4_FIELDS_MAX (HEAD_FIELDS_MAX + 4)
#define SIGV4_PARAMETERS_MAX 512
#define SIGV4_NAMES_MAX 4096
#define SIGV4_HEX_LEN 64
#define SIGV4_TIME_LEN 16	/* "20260131T235959Z" */
#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"

struct sigv4 {
	struct slice method, path, query;	/* as on the wire; query.p NULL: no '?' */
	struct head_field fields[SIGV4_FIELDS_MAX];	/* those to be signed, "host" among them */
	size_t n_fields;
	struct slice payload;		/* SHA-256 of the body in hex, or a word in its place */
	struct slice region, service;
	char time[SIGV4_TIME_LEN + 1];
	char names[SIGV4_NAMES_MAX];	/* set by sigv4_sign: "host;x-amz-date" */
	size_t names_len;
};

void sigv4_time(time_t at, char out[SIGV4_TIME_LEN + 1]);
void sigv4_hash(struct slice bytes, char hex[SIGV4_HEX_LEN + 1]);

/* Sorts the fields.  False where there are too many parameters, or names that are
 * too long. */
bool sigv4_sign(struct sigv4 *request, struct slice secret,
    char signature[SIGV4_HEX_LEN + 1]);

#endif
