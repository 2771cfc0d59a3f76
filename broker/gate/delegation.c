#include "gate/delegation.h"

#include "gate/impl.h"

#include "ledger/record/json_out.h"

#include <stdio.h>
#include <stdlib.h>

#define JSON_MAX 4096	/* a record holds it, with all the rest */

static int
no(struct gate_problem *why, unsigned status, const char *rule,
    const char *detail, const char *remedy)
{
	gate_problem_set(why, status, rule, detail, remedy);
	return -1;
}

/* --- scopes ---------------------------------------------------------- */

/* So that it stands in JSON as it is, and in one column of a table. */
static bool
scope_ok(const char *scope)
{
	size_t n = strlen(scope);

	if (n == 0 || n > DELEGATION_SCOPE_MAX || scope[n - 1] == ':')
		return false;
	for (; *scope != '\0'; scope++)
		if (*scope <= ' ' || *scope >= 0x7f || *scope == '"' ||
		    *scope == '\\')
			return false;
	return true;
}

/* A tool may have any name, one with a colon too: tool:a is not for the tool a:b. */
static bool
covers(const char *wide, const char *scope)
{
	size_t n = strlen(wide);

	if (strcmp(wide, "*") == 0 || strcmp(wide, scope) == 0)
		return true;
	return strncmp(wide, "tool:", 5) != 0 &&
	    strncmp(wide, scope, n) == 0 && scope[n] == ':';
}

/* BINDING:GET covers BINDING:HEAD, as GET of a binding's rule does. */
static bool
covers_head(const char *wide, const char *scope)
{
	size_t n = strlen(scope);

	return n > 5 && strcmp(scope + n - 5, ":HEAD") == 0 &&
	    strncmp(scope, "tool:", 5) != 0 && strlen(wide) == n - 1 &&
	    strncmp(wide, scope, n - 5) == 0 && strcmp(wide + n - 5, ":GET") == 0;
}

/* NULL is a run that nothing narrows. */
static bool
has(const struct delegation *delegation, const char *scope)
{
	if (delegation == NULL)
		return true;
	for (size_t i = 0; i < delegation->n_scopes; i++)
		if (covers(delegation->scopes[i], scope) ||
		    covers_head(delegation->scopes[i], scope))
			return true;
	return false;
}

/* Those that are asked for; else the parent's, which are all where nothing
 * narrows it. */
static bool
scopes_set(struct delegation *out, const struct delegation *parent,
    const struct gate_run_options *options)
{
	bool asked = options->scopes != NULL;
	size_t n = asked ? options->n_scopes :
	    parent != NULL ? parent->n_scopes : 1;

	out->scopes = calloc(n + 1, sizeof(*out->scopes));
	if (out->scopes == NULL)
		return false;
	out->n_scopes = n;
	for (size_t i = 0; i < n; i++)
		snprintf(out->scopes[i], sizeof(out->scopes[i]), "%s",
		    asked ? options->scopes[i] :
		    parent != NULL ? parent->scopes[i] : "*");
	return true;
}

/* A scope that names nothing would be taken, and allow nothing.  Of kinds of action
 * that only a pack knows the verb tells: it is no method. */
static bool
names_something(const char *scope, const struct bindings *bindings)
{
	static const char *const kinds[] = { "*", "http", "connect", "credential",
		"tool", "file", "dns", "egress", "budget" };
	const struct slice name = { scope, strcspn(scope, ":") };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (slice_eq(name, slice_of(kinds[i])))
			return true;
	return bindings_by_id(bindings, name) != NULL || (name.p[name.n] == ':' &&
	    name.p[name.n + 1] >= 'a' && name.p[name.n + 1] <= 'z');
}

static int
scopes_check(const struct delegation *parent, const struct bindings *bindings,
    const struct gate_run_options *options, struct gate_problem *why)
{
	size_t n = options->scopes != NULL ? options->n_scopes : 0;
	char detail[DELEGATION_SCOPE_MAX + 80];

	if (n > DELEGATION_SCOPES_MAX)
		return no(why, 400, "delegation/bad-scope",
		    "more scopes than a run may have", "name fewer, wider ones");
	for (size_t i = 0; i < n; i++)
		if (!scope_ok(options->scopes[i]))
			return no(why, 400, "delegation/bad-scope",
			    "a scope is not of printable ASCII, too long, or ends with a colon",
			    "a scope is *, BINDING, BINDING:METHOD, tool:NAME or a kind of action");
	for (size_t i = 0; i < n; i++) {
		if (has(parent, options->scopes[i]))
			continue;
		snprintf(detail, sizeof(detail),
		    "the run above does not have the scope %s",
		    options->scopes[i]);
		return no(why, 403, "delegation/widened", detail,
		    "ask for scopes that the run itself has");
	}
	for (size_t i = 0; i < n; i++) {
		if (names_something(options->scopes[i], bindings))
			continue;
		snprintf(detail, sizeof(detail), "no binding and no kind of action "
		    "has the name of the scope %s", options->scopes[i]);
		return no(why, 400, "delegation/bad-scope", detail,
		    "a scope is *, BINDING, BINDING:METHOD, tool:NAME, a kind of action, or KIND:VERB: see countersign bindings");
	}
	return 0;
}

/* --- the end --------------------------------------------------------- */

static int
end_set(struct delegation *out, const struct delegation *parent,
    const struct gate_run_options *options, struct gate_problem *why)
{
	int64_t most_ns = parent != NULL ? parent->expires_boot_ns : INT64_MAX;
	int64_t now_ns = clock_wall_ns();

	out->expires_s = parent != NULL ? parent->expires_s : -1;
	out->expires_boot_ns = most_ns;
	if (options->ttl_s <= 0)
		return 0;
	/* A whole second, at which policy and gate see the end alike. */
	out->expires_s = now_ns / 1000000000 + options->ttl_s;
	out->expires_boot_ns = clock_boot_ns() + out->expires_s * 1000000000 -
	    now_ns;
	if (out->expires_boot_ns <= most_ns)
		return 0;
	return no(why, 403, "delegation/too-long",
	    "the run above ends before that", "ask for less time");
}

int64_t
delegation_left_ms(const struct run *run)
{
	int64_t left = INT64_MAX, now = clock_boot_ns();

	for (; run != NULL; run = run->parent)
		if (run->delegation != NULL &&
		    run->delegation->expires_boot_ns != INT64_MAX &&
		    run->delegation->expires_boot_ns - now < left)
			left = run->delegation->expires_boot_ns - now;
	return left == INT64_MAX ? left : left <= 0 ? -1 : left / 1000000;
}

bool
delegation_over(const struct run *run)
{
	return delegation_left_ms(run) < 0;
}

/* --- what the policy sees -------------------------------------------- */

static void
scopes_out(struct json_out *out, const struct delegation *delegation)
{
	json_out_array(out, "scopes");
	if (delegation == NULL)
		json_out_str(out, NULL, "*");
	for (size_t i = 0; delegation != NULL && i < delegation->n_scopes; i++)
		json_out_str(out, NULL, delegation->scopes[i]);
	json_out_array_end(out);
}

/* Who handed on, from the top: by the run's id, since a record shows no person
 * (input.run.principal is the same for all of them). */
static void
chain_out(struct json_out *out, const struct run *parent)
{
	const struct run *line[RUN_DEPTH_MAX];
	size_t n = 0;

	for (; parent != NULL && n < RUN_DEPTH_MAX; parent = parent->parent)
		line[n++] = parent;
	json_out_array(out, "chain");
	while (n-- > 0) {
		json_out_object(out, NULL);
		json_out_str(out, "principal", line[n]->id);
		scopes_out(out, line[n]->delegation);
		json_out_object_end(out);
	}
	json_out_array_end(out);
}

static int
json_make(struct delegation *delegation, const struct run *parent,
    struct gate_problem *why)
{
	struct json_out out;
	char text[JSON_MAX];
	int len;

	json_out_begin(&out, text, sizeof(text));
	json_out_object(&out, NULL);
	chain_out(&out, parent);
	scopes_out(&out, delegation);
	if (delegation->expires_s >= 0)
		json_out_int(&out, "expires", delegation->expires_s);
	json_out_object_end(&out);
	len = json_out_end(&out);
	if (len < 0)
		return no(why, 400, "delegation/bad-scope",
		    "the scopes of this run and of those above are too long together",
		    "name fewer, wider ones");
	delegation->json = strndup(text, (size_t)len);
	delegation->json_len = (size_t)len;
	return delegation->json != NULL ? 0 : no(why, 503, "gate/memory",
	    "out of memory", "try again");
}

/* --- making one ------------------------------------------------------ */

int
delegation_make(const struct run *parent, const struct bindings *bindings,
    const struct gate_run_options *options, struct delegation **out,
    struct gate_problem *why)
{
	const struct delegation *above =
	    parent != NULL ? parent->delegation : NULL;
	struct delegation *made;

	*out = NULL;
	if (parent == NULL && options->scopes == NULL && options->ttl_s <= 0)
		return 0;
	if (scopes_check(above, bindings, options, why) == -1)
		return -1;
	made = calloc(1, sizeof(*made));
	if (made == NULL || !scopes_set(made, above, options)) {
		delegation_free(made);
		return no(why, 503, "gate/memory", "out of memory",
		    "try again");
	}
	if (end_set(made, above, options, why) == -1 ||
	    json_make(made, parent, why) == -1) {
		delegation_free(made);
		return -1;
	}
	*out = made;
	return 0;
}

void
delegation_free(struct delegation *delegation)
{
	if (delegation == NULL)
		return;
	free(delegation->scopes);
	free(delegation->json);
	free(delegation);
}

/* --- judging --------------------------------------------------------- */

static struct policy_str
method_of(const struct policy_input *input)
{
	struct policy_str text = input->action.verb;

	if (slice_eq((struct slice){ input->action.kind.p,
	    input->action.kind.n }, SLICE("credential")))
		text = input->action.name;
	if (text.n >= 5 && memcmp(text.p, "http:", 5) == 0) {
		text.p += 5;
		text.n -= 5;
	}
	return text;
}

/* What is asked for, as a scope; the default pack says it the same way. */
static void
wanted_scope(const struct policy_input *input, char *out, size_t cap)
{
	const struct policy_str *kind = &input->action.kind;
	const struct policy_str *name = &input->action.name;
	struct policy_str method;

	if (input->secret.binding.p != NULL) {
		method = method_of(input);
		snprintf(out, cap, "%.*s:%.*s", (int)input->secret.binding.n,
		    input->secret.binding.p, (int)method.n, method.p);
	} else if (slice_eq((struct slice){ kind->p, kind->n },
	    SLICE("tool"))) {
		snprintf(out, cap, "tool:%.*s", (int)name->n, name->p != NULL ?
		    name->p : "");
	} else {
		snprintf(out, cap, "%.*s", (int)kind->n, kind->p != NULL ?
		    kind->p : "");
	}
}

bool
delegation_covers(const struct run *run, const struct policy_input *input)
{
	char wanted[512];

	if (run->delegation == NULL)
		return true;
	wanted_scope(input, wanted, sizeof(wanted));
	return has(run->delegation, wanted);
}

bool
delegation_touches(const struct delegation *delegation, const char *binding)
{
	if (has(delegation, binding))
		return true;
	for (size_t i = 0; i < delegation->n_scopes; i++)
		if (covers(binding, delegation->scopes[i]))
			return true;
	return false;
}
