/*
 * Writes the head that goes upstream, from the struct, never from raw bytes:
 * pure.  Hop-by-hop fields, our own fields and every copy of the credential's
 * slot are left out; framing is written anew; the secret goes to its bound
 * place once.
 *
 * What is written, in this order: the request line with the canonical path,
 * always HTTP/1.1; Host from the target; the client's fields in their order,
 * without those named below; the credential; framing; the upgrade.
 *
 * Left out: hop-by-hop fields, Host, Content-Length, Proxy-*, X-Countersign-*,
 * the slot, and Expect: the client waits for our decision, so whoever calls
 * answers 100 once it is made and durable, and the upstream gets the body
 * straight away (its early refusal still reaches the client).  Without
 * keep_accept_encoding also Accept-Encoding and Sec-WebSocket-Extensions, by
 * which a reply could come back compressed.
 *
 * The slot is, for PLACE_HEADER, every field of that name or, where the client
 * sent none, every Authorization field (SDKs of one service send the same key
 * as X-Api-Key or as Bearer); for PLACE_BASIC, every Authorization field; for
 * PLACE_QUERY, every parameter whose decoded key is that name; for PLACE_SIGV4, every
 * Authorization field, X-Amz-Date and X-Amz-Security-Token (aws_request.h).  What goes
 * upstream is the binding's own place and template whatever the client used; so
 * put a credential in only where inject_slot found one.
 */
#ifndef BROKER_INJECT_H
#define BROKER_INJECT_H

#include "binding/binding.h"
#include "http/head.h"

#include <time.h>

struct inject {
	const struct head *head;
	const struct target *target;	/* with a path */
	const struct binding *binding;	/* NULL: no credential */
	struct slice secret;
	bool keep_accept_encoding;	/* false: ask for identity */
	bool websocket;			/* true: send Connection: Upgrade and Upgrade: websocket */
	const char *body_hash;		/* PLACE_SIGV4: where aws_request_needs_body */
	time_t now;			/* PLACE_SIGV4 */
};

/*
 * Why no credential may be put into this request, or NULL: static text, to be
 * asked before the decision is recorded.  TRACE sends back what it was sent;
 * fields like X-HTTP-Method-Override make servers do something else than what
 * policy saw.
 */
const char *inject_refusal(const struct head *head);
/* The same of the query: frameworks take a POST with _method=DELETE in it for a
 * DELETE, however PHP lets them spell it (".method", "[method"), behind '&' or ';'. */
const char *inject_query_refusal(const struct head *head,
    const struct target *target);

/* The length, or -1 where it does not fit (431 for the client), or where a
 * secret or template has bytes that no field may hold (nothing of it is left in
 * out[] then). The caller wipes out[] when sent. */
int inject_request_head(const struct inject *in, char *out, size_t cap);

/*
 * What stands in the binding's slot of this request: the token itself, without
 * template or scheme word ("Bearer ", "token ", Basic decoded into buf).
 * p NULL where the slot is empty, n 0 where nobody can read what stands there;
 * *copies counts how often the slot was sent.
 *
 * Of a signature it is the key id.  Of Basic it is the password, or the user where the password is empty or
 * "x-oauth-basic" (https://TOKEN@host/).  A Basic credential counts for a header
 * binding as well: git knows no other.
 */
struct slice inject_slot(const struct head *head, const struct target *target,
    const struct binding *binding, char *buf, size_t cap, unsigned *copies);

#endif
