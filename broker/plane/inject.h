/*
 * Writes the head that goes upstream, from the struct, never from raw bytes:
 * pure.  Hop-by-hop fields, our own fields and every copy of the credential's
 * slot are left out; framing is written anew; the secret goes to its bound
 * place once.
 */
#ifndef BROKER_INJECT_H
#define BROKER_INJECT_H

#include "gate/binding.h"
#include "http/head.h"

struct inject {
	const struct head *head;
	const struct target *target;
	const struct binding *binding;	/* NULL: no credential */
	struct slice secret;
	bool keep_accept_encoding;	/* false: ask for identity */
	bool websocket;			/* true: send Connection: Upgrade and Upgrade: websocket */
};

/* The length, or -1 where it does not fit (431 for the client). The caller
 * wipes out[] when sent. */
int inject_request_head(const struct inject *in, char *out, size_t cap);

/*
 * What stands in the binding's slot of this request: the token itself, without
 * template or scheme word ("Bearer ", "token ", Basic decoded into buf).
 * p NULL where the slot is empty; *copies counts how often the slot was sent.
 */
struct slice inject_slot(const struct head *head, const struct target *target,
    const struct binding *binding, char *buf, size_t cap, unsigned *copies);

/* How often needle occurs anywhere in the head: target, every field value, and
 * the decoded form of every Basic credential and percent-escaped query. */
unsigned inject_occurrences(const struct head *head, struct slice needle);

#endif
