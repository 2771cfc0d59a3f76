#include <string.h>

#include "ledger/export/ocsf_kind.h"

/* The schema's list of methods is closed; NULL where it has not this one. */
struct method { const char *verb; int id; const char *name; };

static const struct method *
method_of(const char *verb)
{
	static const struct method methods[] = {
		{ "CONNECT", 1, "Connect" }, { "DELETE", 2, "Delete" }, { "GET", 3, "Get" },
		{ "HEAD", 4, "Head" }, { "OPTIONS", 5, "Options" }, { "POST", 6, "Post" },
		{ "PUT", 7, "Put" }, { "TRACE", 8, "Trace" }, { "PATCH", 9, "Patch" },
	};
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(methods[i].verb, verb) == 0)
			return &methods[i];
	return NULL;
}

bool
ocsf_has_method(const char *verb)
{
	return method_of(verb) != NULL;
}

static void
http_activity(struct ocsf_kind *k, const char *verb)
{
	const struct method *method = method_of(verb);

	k->activity = method != NULL ? method->id : OTHER;
	k->activity_name = method != NULL ? method->name : verb;
}

static struct ocsf_kind
request_kind(const struct facts *f)
{
	const bool refused = f->kind == FACTS_REFUSED;
	struct ocsf_kind k = { HTTP, OTHER, "Other", refused ? MEDIUM : INFORMATIONAL,
	    refused ? FAILURE : SUCCESS };

	if (f->verb[0] != '\0' && f->path[0] != '\0' && strcmp(f->verb, "CONNECT") != 0) {
		http_activity(&k, f->verb);
		return k;
	}
	k.class = NETWORK;
	k.activity = refused ? 5 : 1;
	k.activity_name = refused ? "Refuse" : "Open";
	return k;
}

static struct ocsf_kind
outcome_kind(const struct facts *f)
{
	if (f->status >= 0)
		return (struct ocsf_kind){ HTTP, OTHER, "Response", INFORMATIONAL,
		    f->status < 400 ? SUCCESS : FAILURE };
	if (f->error[0] != '\0')
		return (struct ocsf_kind){ NETWORK, 4, "Fail", LOW, FAILURE };
	return (struct ocsf_kind){ NETWORK, 2, "Close", INFORMATIONAL, SUCCESS };
}

static struct ocsf_kind
api_kind(const struct facts *f)
{
	const char *what = f->state[0] != '\0' ? f->state : f->event;

	if (strcmp(what, "issued") == 0 || strcmp(what, "stored") == 0)
		return (struct ocsf_kind){ API, 1, "Create", INFORMATIONAL, SUCCESS };
	if (strcmp(what, "revoked") == 0)
		return (struct ocsf_kind){ API, 4, "Delete", INFORMATIONAL, SUCCESS };
	return (struct ocsf_kind){ API, 3, "Update", INFORMATIONAL, SUCCESS };
}

static struct ocsf_kind
lifecycle_kind(const struct facts *f)
{
	if (strcmp(f->type, "open") == 0 || strcmp(f->state, "open") == 0)
		return (struct ocsf_kind){ LIFECYCLE, 3, "Start", INFORMATIONAL, SUCCESS };
	if (strcmp(f->type, "close") == 0 || strcmp(f->type, "teardown") == 0 ||
	    strcmp(f->state, "closed") == 0)
		return (struct ocsf_kind){ LIFECYCLE, 4, "Stop", INFORMATIONAL, SUCCESS };
	return (struct ocsf_kind){ LIFECYCLE, OTHER, "Other", INFORMATIONAL, 0 };
}

struct ocsf_kind
ocsf_kind(const struct facts *f)
{
	static const char *const lifecycle[] = { "run", "open", "close", "teardown", "recover" };
	size_t i;

	if (facts_tells_loss(f))
		return (struct ocsf_kind){ FINDING, 1, "Create", HIGH, 0 };
	if (strcmp(f->type, "scan") == 0 && f->kind == FACTS_FAILED)
		return (struct ocsf_kind){ FINDING, 1, "Create", strcmp(f->event, "found") == 0 ?
		    HIGH : MEDIUM, 0 };
	if (strcmp(f->type, "policy") == 0)
		return (struct ocsf_kind){ CONFIG, 1, "Log", f->kind == FACTS_FAILED ? MEDIUM :
		    INFORMATIONAL, f->kind == FACTS_FAILED ? FAILURE : SUCCESS };
	if (strcmp(f->type, "grant") == 0 || strcmp(f->type, "secret") == 0)
		return api_kind(f);
	if (strcmp(f->type, "outcome") == 0)
		return outcome_kind(f);
	if (f->answer)
		return (struct ocsf_kind){ API, OTHER, "Answer", INFORMATIONAL, SUCCESS };
	if ((f->decision[0] != '\0' || strcmp(f->type, "use") == 0) && f->tool[0] != '\0' &&
	    f->host[0] == '\0')
		return (struct ocsf_kind){ API, OTHER, "Other", f->kind == FACTS_REFUSED ? MEDIUM :
		    INFORMATIONAL, f->kind == FACTS_REFUSED ? FAILURE : SUCCESS };
	if (f->decision[0] != '\0' || strcmp(f->type, "use") == 0)
		return request_kind(f);
	for (i = 0; i < sizeof(lifecycle) / sizeof(lifecycle[0]); i++)
		if (strcmp(f->type, lifecycle[i]) == 0)
			return lifecycle_kind(f);
	return (struct ocsf_kind){ BASE, OTHER, "Other", INFORMATIONAL, 0 };
}
