/* What is sent to get a token, worded. Pure. */
#ifndef BROKER_MINT_REQUEST_H
#define BROKER_MINT_REQUEST_H

#include "mint/source.h"

#include <stdint.h>

#define MINT_URL_MAX 1280

/* A POST; all of it may hold secrets. */
struct mint_request {
	char url[MINT_URL_MAX];
	char *authorization;	/* the field "Authorization: ..."; NULL: none */
	const char *type;	/* of the body */
	char *body;
};

/* now_s: Unix, for what is signed.  0, and to be freed; or -1 with a message. */
int mint_request_make(const struct mint_source *source, int64_t now_s,
    struct mint_request *out, char *err, size_t err_len);

/* What tells source's revocation_url that a token is not wanted any more (RFC 7009, section
 * 2.1); hint: "refresh_token" or "access_token".  0, and to be freed; or -1: out of memory. */
int mint_request_withdraw(const struct mint_source *source, const char *token,
    const char *hint, struct mint_request *out);

void mint_request_free(struct mint_request *request);	/* wiped */

#endif
