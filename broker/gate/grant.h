/* Grants, as admin_grant.c makes them; the rest is in impl.h. */
#ifndef BROKER_GATE_GRANT_H
#define BROKER_GATE_GRANT_H

#include "gate/impl.h"

/* How many upstream requests one use of an action may take: one for a plain
 * request; a push is discovery, sometimes a probe, and the pack (and again
 * after a redirect of the discovery); a fetch negotiates in rounds. */
#define GRANT_REQUESTS_PUSH 8
#define GRANT_REQUESTS_FETCH 64
#define GRANT_USES_MAX 1000000
#define GRANT_TTL_MAX_S (30 * 86400)

/* Action and target as asked for.  NULL and *grant set, or what is wrong. */
const char *grant_parse(const char *action, const char *target,
    struct grant **grant);

/* The requests that a grant stands for, as the policy is asked about them:
 * one, or discovery and service of a repository.  buf holds the path. */
struct grant_request {
	const char *method;
	struct target target;
};
unsigned grant_requests(const struct grant *grant, char *buf, size_t cap,
    struct grant_request out[2]);

/* Requests for that many uses. */
int64_t grant_requests_for(const struct grant *grant, int64_t uses);

/* The caller holds gate->lock for writing. */
bool grant_enter_locked(struct gate *gate, struct run *run,
    struct grant *grant);

struct grant *gate_grant_by_id(struct gate *gate, struct slice id);

#endif
