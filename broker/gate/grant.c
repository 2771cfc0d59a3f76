#include "gate/grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* --- references ------------------------------------------------------ */

struct grant *
grant_of(struct credential *credential)
{
	return credential->kind != CREDENTIAL_GRANT ? NULL :
	    (struct grant *)((char *)credential -
	    offsetof(struct grant, credential));
}

struct allowance *
allowance_of(struct credential *credential)
{
	return credential->kind != CREDENTIAL_PLACEHOLDER ? NULL :
	    (struct allowance *)((char *)credential -
	    offsetof(struct allowance, credential));
}

void
grant_unref(struct grant *grant)
{
	if (grant == NULL || atomic_fetch_sub(&grant->refs, 1) != 1)
		return;
	free(grant->text);
	free(grant);
}

struct credential *
credential_ref(struct credential *credential)
{
	run_ref(credential->run);
	if (credential->kind == CREDENTIAL_GRANT)
		atomic_fetch_add(&grant_of(credential)->refs, 1);
	return credential;
}

struct credential *
gate_credential(struct gate *gate, struct slice text)
{
	uint8_t key[TABLE_KEY_LEN];
	struct credential *found;

	if (text.n == 0 || text.n > PLACEHOLDER_TEXT_MAX)
		return NULL;
	keyed_token(gate->keyed, text, key);
	pthread_rwlock_rdlock(&gate->lock);
	found = (struct credential *)table_find(&gate->credentials, key);
	if (found != NULL)
		credential_ref(found);
	pthread_rwlock_unlock(&gate->lock);
	return found;
}

void
credential_release(struct credential *credential)
{
	struct run *run;

	if (credential == NULL)
		return;
	run = credential->run;
	if (credential->kind == CREDENTIAL_GRANT)
		grant_unref(grant_of(credential));
	run_unref(run);
}

struct grant *
gate_grant_by_id(struct gate *gate, struct slice id)
{
	uint8_t key[TABLE_KEY_LEN];
	struct table_node *node;
	struct grant *grant = NULL;

	keyed_token(gate->keyed, id, key);
	pthread_rwlock_rdlock(&gate->lock);
	node = table_find(&gate->grants, key);
	if (node != NULL) {
		grant = (struct grant *)((char *)node -
		    offsetof(struct grant, by_id));
		atomic_fetch_add(&grant->refs, 1);
		run_ref(grant->credential.run);
	}
	pthread_rwlock_unlock(&gate->lock);
	return grant;
}

/* --- what it is for -------------------------------------------------- */

/* RFC 9110: a method is a token and its case matters. */
static bool
verb_ok(const char *verb)
{
	size_t n = strlen(verb);

	return n > 0 && n < sizeof(((struct grant *)0)->verb) &&
	    strspn(verb, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == n &&
	    strcmp(verb, "CONNECT") != 0;
}

static const char *
action_parse(const char *action, struct grant *grant)
{
	if (strcmp(action, "git:fetch") == 0) {
		grant->action = GRANT_GIT_FETCH;
	} else if (strcmp(action, "git:push") == 0) {
		grant->action = GRANT_GIT_PUSH;
	} else if (strncmp(action, "http:", 5) == 0 && verb_ok(action + 5)) {
		grant->action = GRANT_HTTP;
		snprintf(grant->verb, sizeof(grant->verb), "%s", action + 5);
	} else {
		return "action is http:METHOD, git:fetch or git:push";
	}
	return NULL;
}

/* "/o/r.git" and "/o/r" are one repository. */
static size_t
repository_len(const char *path, size_t len)
{
	if (len > 1 && path[len - 1] == '/')
		len--;
	if (len > 4 && memcmp(path + len - 4, ".git", 4) == 0)
		len -= 4;
	return len;
}

static const char *
target_parse(const char *target, struct grant *grant)
{
	size_t cap = strlen(target) * 3 + 64;
	const char *rule;

	if (strlen(target) > TARGET_PATH_MAX)
		return "target is too long";
	grant->text = malloc(cap);
	if (grant->text == NULL)
		return "out of memory";
	rule = target_from_absolute(slice_of(target), grant->text, cap,
	    &grant->target);
	if (rule != NULL)
		return rule;
	if (strstr(grant->target.path, "*") != NULL &&
	    strstr(grant->target.path, "**") != NULL)
		return "a grant is for one target; patterns belong in the policy";
	if (grant->action == GRANT_HTTP)
		return NULL;
	if (grant->target.query != NULL)
		return "a repository's URL has no query";
	grant->target.path_len = repository_len(grant->target.path,
	    grant->target.path_len);
	grant->target.path[grant->target.path_len] = '\0';
	return grant->target.path_len > 1 ? NULL :
	    "target is a repository's URL";
}

const char *
grant_parse(const char *action, const char *target, struct grant **out)
{
	struct grant *grant = calloc(1, sizeof(*grant));
	const char *wrong;

	if (grant == NULL)
		return "out of memory";
	atomic_init(&grant->refs, 1);
	grant->credential.kind = CREDENTIAL_GRANT;
	wrong = action_parse(action, grant);
	if (wrong == NULL)
		wrong = target_parse(target, grant);
	if (wrong != NULL) {
		grant_unref(grant);
		return wrong;
	}
	*out = grant;
	return NULL;
}

static const char *
git_service(const struct grant *grant)
{
	return grant->action == GRANT_GIT_PUSH ? "git-receive-pack" :
	    "git-upload-pack";
}

unsigned
grant_requests(const struct grant *grant, char *buf, size_t cap,
    struct grant_request out[2])
{
	const char *service = git_service(grant);
	const char *base = grant->target.path;
	char *at = buf;
	int n;

	if (grant->action == GRANT_HTTP) {
		out[0] = (struct grant_request){ grant->verb, grant->target };
		return 1;
	}
	for (unsigned i = 0; i < 2; i++) {
		out[i] = (struct grant_request){ i ? "POST" : "GET",
		    grant->target };
		n = snprintf(at, cap, i ? "%s.git/%s" : "%s.git/info/refs",
		    base, service);
		if (n < 0 || (size_t)n >= cap)
			return 0;
		out[i].target.path = at;
		out[i].target.path_len = (size_t)n;
		at += n + 1;
		cap -= (size_t)n + 1;
	}
	n = snprintf(at, cap, "service=%s", service);
	if (n < 0 || (size_t)n >= cap)
		return 0;
	out[0].target.query = at;
	out[0].target.query_len = (size_t)n;
	return 2;
}

int64_t
grant_requests_for(const struct grant *grant, int64_t uses)
{
	switch (grant->action) {
	case GRANT_GIT_FETCH:
		return uses * GRANT_REQUESTS_FETCH;
	case GRANT_GIT_PUSH:
		return uses * GRANT_REQUESTS_PUSH;
	default:
		return uses;
	}
}

/* --- may this request use it ----------------------------------------- */

static bool
ends_with(struct slice text, const char *end, struct slice *rest)
{
	size_t n = strlen(end);

	if (text.n < n || memcmp(text.p + text.n - n, end, n) != 0)
		return false;
	*rest = (struct slice){ text.p, text.n - n };
	return true;
}

static const char *
git_covers(const struct grant *grant, struct slice method,
    const struct target *target, struct slice query, const char **reason)
{
	struct slice path = { target->path, target->path_len }, base, asked;
	const char *service = git_service(grant);
	char end[40], discovery[40];

	snprintf(end, sizeof(end), "/%s", service);
	snprintf(discovery, sizeof(discovery), "service=%s", service);
	*reason = "the grant covers discovery and service of another kind";
	if (ends_with(path, "/info/refs", &base)) {
		if (!slice_eq(query, slice_of(discovery)) ||
		    !slice_eq(method, SLICE("GET")))
			return "grant/action-mismatch";
	} else if (ends_with(path, end, &base)) {
		if (query.n > 0 || !slice_eq(method, SLICE("POST")))
			return "grant/action-mismatch";
	} else {
		return "grant/action-mismatch";
	}
	asked = (struct slice){ base.p, repository_len(base.p, base.n) };
	*reason = "the grant is for another repository";
	return slice_eq(asked, (struct slice){ grant->target.path,
	    grant->target.path_len }) ? NULL : "grant/target-mismatch";
}

/* HEAD asks for the head of what GET would answer: less, and of the same kind. */
static bool
verb_covers(const char *verb, struct slice method)
{
	return slice_eq(method, slice_of(verb)) ||
	    (strcmp(verb, "GET") == 0 && slice_eq(method, SLICE("HEAD")));
}

const char *
grant_covers(const struct grant *grant, struct slice method,
    const struct target *target, struct slice query, const char **reason)
{
	const struct target *own = &grant->target;

	*reason = "the grant is for another host, scheme or port";
	if (own->https != target->https || own->port != target->port ||
	    strcmp(own->host, target->host) != 0)
		return "grant/target-mismatch";
	if (grant->action != GRANT_HTTP)
		return git_covers(grant, method, target, query, reason);
	*reason = "the grant is for another method";
	if (!verb_covers(grant->verb, method))
		return "grant/action-mismatch";
	*reason = "the grant is for another path";
	if (target->path_len != own->path_len ||
	    memcmp(target->path, own->path, own->path_len) != 0)
		return "grant/target-mismatch";
	*reason = "the grant is for another query";
	return slice_eq(query, (struct slice){ own->query, own->query_len }) ?
	    NULL : "grant/target-mismatch";
}

const char *
grant_usable(const struct grant *grant, const struct peer *peer,
    const char **reason)
{
	*reason = "it was revoked";
	if (atomic_load(&grant->revoked))
		return "grant/revoked";
	*reason = "its requests are spent; a grant's token is never valid again";
	if (atomic_load(&grant->left) <= 0)
		return "grant/replayed";
	*reason = "its time is over";
	if (clock_boot_ns() >= grant->expires_ns)
		return "grant/expired";
	*reason = "it was given to another user of this machine";
	if (peer->uid >= 0 && grant->peer.uid >= 0 &&
	    peer->uid != grant->peer.uid)
		return "grant/foreign-caller";
	return NULL;
}

bool
grant_spend(struct grant *grant)
{
	int64_t left = atomic_load(&grant->left);

	do {
		if (left <= 0)
			return false;
	} while (!atomic_compare_exchange_weak(&grant->left, &left, left - 1));
	return true;
}

/* --- the tables ------------------------------------------------------ */

static const char *
grant_state(const struct grant *grant)
{
	if (atomic_load(&grant->revoked))
		return "revoked";
	if (atomic_load(&grant->left) <= 0)
		return "spent";
	return clock_boot_ns() >= grant->expires_ns ? "expired" : "active";
}

/* The oldest of a run that nobody can use any more makes room. */
static bool
make_room(struct gate *gate, struct run *run)
{
	struct grant **at, **dead = NULL, *grant;

	if (run->n_grants < GRANTS_PER_RUN_MAX)
		return true;
	for (at = &run->grants; *at != NULL; at = &(*at)->next)
		if (strcmp(grant_state(*at), "active") != 0)
			dead = at;
	if (dead == NULL)
		return false;
	grant = *dead;
	*dead = grant->next;
	run->n_grants--;
	table_remove(&gate->credentials, &grant->credential.node);
	table_remove(&gate->grants, &grant->by_id);
	grant_unref(grant);
	return true;
}

bool
grant_enter_locked(struct gate *gate, struct run *run, struct grant *grant)
{
	if (!make_room(gate, run))
		return false;
	if (!table_add(&gate->credentials, &grant->credential.node))
		return false;
	if (!table_add(&gate->grants, &grant->by_id)) {
		table_remove(&gate->credentials, &grant->credential.node);
		return false;
	}
	atomic_fetch_add(&grant->refs, 1);
	grant->next = run->grants;
	run->grants = grant;
	run->n_grants++;
	return true;
}

void
grant_info_fill(struct grant *grant, struct gate_grant_info *out)
{
	static const char *const git[] = { "", "git:fetch", "git:push" };
	size_t n;

	*out = (struct gate_grant_info){ .uses = grant->uses };
	snprintf(out->id, sizeof(out->id), "%s", grant->id);
	snprintf(out->run, sizeof(out->run), "%s", grant->credential.run->id);
	snprintf(out->action, sizeof(out->action), "%s%s",
	    grant->action == GRANT_HTTP ? "http:" : git[grant->action],
	    grant->action == GRANT_HTTP ? grant->verb : "");
	snprintf(out->binding, sizeof(out->binding), "%s", grant->binding);
	n = target_url(&grant->target, true, out->target,
	    sizeof(out->target));
	if (n > 0 && grant->target.query != NULL &&
	    n + grant->target.query_len + 2 < sizeof(out->target))
		snprintf(out->target + n, sizeof(out->target) - n, "?%.*s",
		    (int)grant->target.query_len, grant->target.query);
	out->requests_left = atomic_load(&grant->left);
	out->expires_s = grant->expires_s;
	out->state = grant_state(grant);
	out->receipt = grant->receipt;
}
