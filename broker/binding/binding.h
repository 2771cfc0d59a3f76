/*
 * Bindings: where a secret may go.  Parsed from the pack's data document
 * (policy/packs/DATA.md), immutable, owned by a rules snapshot.
 */
#ifndef BROKER_BINDING_H
#define BROKER_BINDING_H

#include "http/target.h"
#include "policy/policy.h"

#define BINDING_ID_MAX 64

enum placement_kind { PLACE_HEADER, PLACE_BASIC, PLACE_QUERY, PLACE_SIGV4 };

struct placement {
	enum placement_kind kind;
	char *name;		/* header or query key */
	char *before, *after;	/* the template around {}: "Bearer ", "" */
	char *user;		/* Basic: the user part; the secret is the password */
};

struct binding {
	char *id, *secret;
	bool https;
	uint16_t port;
	char **hosts;		/* canonical; the first one is used by /x/<binding>/ */
	size_t n_hosts;
	bool is_address;	/* the first one */
	struct placement placement;
	char **env;		/* variables that hold the placeholder */
	size_t n_env;
	int64_t max_requests;	/* per run; -1: no limit of its own */
	bool escaped_slash;	/* its hosts take "%2F" within a segment of the path */
	char *asks;		/* the first rule of its `ask`, "METHOD /path"; NULL: none */
};

struct bindings;

/* From the data document's text; NULL with a message naming the member. */
struct bindings *bindings_parse(const char *data, size_t len, char *err,
    size_t err_len);
void bindings_free(struct bindings *bindings);

size_t bindings_count(const struct bindings *bindings);
const struct binding *bindings_at(const struct bindings *bindings, size_t i);
const struct binding *bindings_by_id(const struct bindings *bindings,
    struct slice id);

/* Does the same secret go to the same hosts, and into the same place there? */
bool binding_same_place(const struct binding *a, const struct binding *b);

/* The next binding that covers scheme, host and port after *cursor (0 to
 * begin); NULL when there are no more. */
const struct binding *bindings_for(const struct bindings *bindings,
    const struct target *target, size_t *cursor);

/* NULL where the path may go to what covers target: the binding, or where that is
 * NULL any that covers it.  Else what is wrong with it. */
const char *bindings_path_refusal(const struct bindings *bindings,
    const struct binding *binding, const struct target *target);

/* data.limits: what one run may use; -1 where nothing is said. */
const struct policy_budget *bindings_limits(const struct bindings *bindings);
/* data.limits.refusals: how many of one run are records of their own; -1 where
 * nothing is said. */
int64_t bindings_refusals(const struct bindings *bindings);

/* data.grant: what a grant gets that asks for nothing else. */
struct binding_grant {
	int64_t ttl_s, uses;	/* 300 and 1 where nothing is said */
};
const struct binding_grant *bindings_grant(const struct bindings *bindings);

/*
 * Would these rules ask, where a binding says that a person must agree?  Those of
 * a pack that knows no `ask` would let the request go on, or refuse it.  0, or -1
 * with what is wrong; no pack is needed where bindings_asking() is NULL.
 */
const struct binding *bindings_asking(const struct bindings *bindings);
int bindings_ask_heeded(const struct bindings *bindings,
    const struct policy_pack *pack, char *err, size_t err_len);

/* data.egress.private: may this address be dialled although it is private? */
struct sockaddr;
bool bindings_private_allowed(const struct bindings *bindings,
    const struct sockaddr *address);

#endif
