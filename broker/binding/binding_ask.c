/* Does a pack know what `ask` is?  One example is put before it. */
#include "binding/binding_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct binding *
bindings_asking(const struct bindings *bindings)
{
	for (size_t i = 0; i < bindings->n; i++)
		if (bindings->all[i].asks != NULL)
			return &bindings->all[i];
	return NULL;
}

/* A path that the pattern covers: a letter for each run of stars. */
static char *
example_of(const char *pattern)
{
	char *path = strdup(pattern), *to = path;

	for (const char *from = pattern; path != NULL && *from != '\0'; from++)
		if (*from != '*')
			*to++ = *from;
		else if (from[1] != '*')
			*to++ = 'x';
	if (path != NULL)
		*to = '\0';
	return path;
}

static struct policy_str
text(const char *p, size_t n)
{
	return (struct policy_str){ p, n };
}

/* As the broker would ask about it, without a run. */
static struct policy_input
input_for(const struct binding *binding, const char *path)
{
	const size_t verb = strcspn(binding->asks, " ");
	const bool any = binding->asks[0] == '*';

	return (struct policy_input){
		.run.opened_ns = -1, .caller = { .uid = -1, .pid = -1 },
		.action = { .kind = text("http", 4),
		    .verb = any ? text("POST", 4) : text(binding->asks, verb) },
		.target = { .scheme = binding->https ? text("https", 5) :
		    text("http", 4), .host = text(binding->hosts[0],
		    strlen(binding->hosts[0])), .path = text(path,
		    strlen(path)), .port = binding->port },
		.secret = { text(binding->secret, strlen(binding->secret)),
		    text(binding->id, strlen(binding->id)), -1 },
		.grant.uses_left = -1,
		.budget = { -1, -1, -1, -1 }, .limits = { -1, -1, -1, -1 },
	};
}

/* A pack may refuse for reasons of its own; not because nothing covers it. */
static bool
heeded(const struct policy_decision *decision)
{
	return decision->verdict == POLICY_ASK ||
	    (decision->verdict == POLICY_DENY &&
	    strncmp(decision->rule, "binding/", 8) != 0);
}

int
bindings_ask_heeded(const struct bindings *bindings,
    const struct policy_pack *pack, char *err, size_t err_len)
{
	const struct binding *binding = bindings_asking(bindings);
	struct policy_scratch *scratch;
	struct policy_decision decision;
	struct policy_input input;
	char *path;
	int rc = -1;

	if (binding == NULL)
		return 0;
	path = example_of(strchr(binding->asks, ' ') + 1);
	scratch = policy_scratch_new();
	if (path == NULL || scratch == NULL) {
		snprintf(err, err_len, "out of memory");
	} else {
		input = input_for(binding, path);
		policy_decide(pack, scratch, &input, &decision);
		rc = heeded(&decision) ? 0 : -1;
		if (rc != 0)
			snprintf(err, err_len, "the pack's rules do not heed "
			    "bindings.%s.ask: they would %s such a request; "
			    "`countersign policy renew` puts this version's rules "
			    "in their place", binding->id, decision.verdict ==
			    POLICY_ALLOW ? "allow" : "refuse");
	}
	policy_scratch_free(scratch);
	free(path);
	return rc;
}
