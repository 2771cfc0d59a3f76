/*
 * Strict HTTP/1.1 heads (RFC 9110, RFC 9112): slices into the caller's buffer,
 * no allocation, pure.
 *
 * Refused, with the rule's name: bare LF or CR, folding, white space before a
 * colon, control bytes, no or several Host fields, differing or repeated
 * Content-Length, Transfer-Encoding together with Content-Length, any transfer
 * coding but "chunked", versions other than 1.0 and 1.1, TE on 1.0, more than
 * HEAD_FIELDS_MAX fields, heads above HEAD_BYTES_MAX, userinfo in a target,
 * methods in other than upper case, an upgrade with a body, a 101 to h2c, empty
 * lines before the first one.  One leave: a 1.0 request in absolute or
 * authority form may lack Host (Python's CONNECT does), since its target says.
 */
#ifndef BROKER_HEAD_H
#define BROKER_HEAD_H

#include "slice.h"

#include <stdint.h>

#define HEAD_BYTES_MAX 65536
#define HEAD_FIELDS_MAX 128
#define HEAD_METHOD_MAX 32
#define HEAD_TARGET_MAX 25600	/* above it: 414 */

struct head_field {
	struct slice name, value;	/* value without surrounding white space */
};

enum head_framing {
	HEAD_NO_BODY,
	HEAD_LENGTH,	/* body_len bytes */
	HEAD_CHUNKED,
	HEAD_UNTIL_CLOSE	/* responses only */
};

enum head_target { HEAD_ORIGIN, HEAD_ABSOLUTE, HEAD_AUTHORITY, HEAD_ASTERISK };

struct head {
	struct slice method;		/* request */
	struct slice target;		/* as sent */
	enum head_target target_form;
	unsigned status;		/* response */
	struct slice reason;
	unsigned minor;			/* 0 or 1 of HTTP/1.x */
	struct head_field fields[HEAD_FIELDS_MAX];
	size_t n_fields;
	enum head_framing framing;
	uint64_t body_len;		/* Content-Length, also where HEAD or 304 say no body follows */
	bool has_length;		/* a Content-Length field is there */
	bool keep_alive;		/* after version and Connection */
	bool expect_continue;		/* any other expectation is refused with 417 */
	bool upgrade;			/* Connection: upgrade with an Upgrade field, h2c not counted */
	bool connection_names;		/* Connection names more than close, keep-alive, upgrade */
	struct slice host;		/* the Host field, empty where there is none */
};

enum head_result { HEAD_DONE, HEAD_MORE, HEAD_BAD };

struct head_error {
	unsigned status;	/* what a client should be told: 400, 414, 417, 431, 501, 505;
				 * 502 for every response */
	const char *rule;	/* static text: "bare LF", "two Content-Length fields" */
};

/*
 * Parse buf[0..len); *used is the head's length when done.  Nothing is kept
 * between calls: with HEAD_MORE read on and call again with all of it; what can
 * be known to be wrong is refused before the head is complete.  out is only
 * valid with HEAD_DONE, err only with HEAD_BAD.
 */
enum head_result head_parse_request(const char *buf, size_t len,
    struct head *out, size_t *used, struct head_error *err);

/* request_method: the method asked, since HEAD and CONNECT change framing. */
enum head_result head_parse_response(const char *buf, size_t len,
    struct slice request_method, struct head *out, size_t *used,
    struct head_error *err);

/*
 * Is another parse worth its time, now that a buffer which gave HEAD_MORE with
 * `seen` bytes has len?  Yes when a line came to its end or the bytes doubled,
 * so that a head sent byte by byte costs at most HEAD_FIELDS_MAX + 18 parses.
 */
bool head_worth_parsing(const char *buf, size_t seen, size_t len);

/* First field of that name, any case; NULL where there is none. */
const struct head_field *head_find(const struct head *head, struct slice name);

/* Is this field hop-by-hop: the fixed list, or named by Connection? */
bool head_hop_by_hop(const struct head *head, const struct head_field *field);

/*
 * A field by which some servers take another method or path than the request
 * line's (X-HTTP-Method-Override, X-Original-URL, ...; X_Original_URL, too, which
 * CGI takes for the same): no rule about either holds while it is there.  NULL where
 * there is none.
 */
const struct head_field *head_override(const struct head *head);

#endif
