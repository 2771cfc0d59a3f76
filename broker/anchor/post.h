/* One POST to a witness or a time stamping authority.  No redirects, no proxy,
 * no cookies; what is answered is bounded and not believed. */
#ifndef BROKER_ANCHOR_POST_H
#define BROKER_ANCHOR_POST_H

#include <stddef.h>
#include <stdint.h>

#define POST_REPLY_MAX 65536

struct post {
	const char *url, *type;		/* http or https; the body's type */
	const char *ca_file;		/* of https; NULL: the system's */
	const void *body;
	size_t body_len;
	long timeout_ms;
};

struct post_reply {
	long status;			/* of HTTP; 0: no answer came */
	size_t len;
	uint8_t body[POST_REPLY_MAX + 1]; /* NUL behind it */
};

/* 0 with an answer of whatever status, or -1. */
int post(const struct post *post, struct post_reply *reply);

#endif
