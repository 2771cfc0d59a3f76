/* /v1/runs */
#include "api/impl.h"

#include "json_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

/* --- opening ----------------------------------------------------------- */

static bool
budget_read(struct api_call *call, json_t *object, struct policy_budget *out)
{
	const struct json_in_field fields[] = {
		{ "requests", JSON_IN_INT, false, 0, 0, &out->requests },
		{ "bytes_out", JSON_IN_INT, false, 0, 0, &out->bytes_out },
		{ "cost", JSON_IN_INT, false, 0, 0, &out->cost },
		{ "wall_ms", JSON_IN_INT, false, 0, 0, &out->wall_ms },
	};
	char err[256];

	if (object == NULL ||
	    json_in_read(object, fields, 4, "budget", err, sizeof(err)) == 0)
		return true;
	api_refuse_input(call, 400, "api/member", err, API_SEE);
	return false;
}

struct texts {
	const char *all[DELEGATION_SCOPES_MAX];
	size_t n;
};

static bool
texts_read(struct api_call *call, const char *member, json_t *list,
    size_t longest, struct texts *out)
{
	char err[64];
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		if (!json_is_string(one) || json_string_length(one) > longest) {
			snprintf(err, sizeof(err), "%s: a member is no string, or too "
			    "long", member);
			api_refuse_input(call, 400, "api/member", err,
			    API_SEE);
			return false;
		}
		out->all[out->n++] = json_string_value(one);
	}
	return true;
}

/* Lists that the options point into. */
struct lists {
	json_t *scopes, *hidden;
	struct texts of_scopes, of_hidden;
};

static bool
lists_read(struct api_call *call, struct lists *lists,
    struct gate_run_options *out)
{
	if (!texts_read(call, "scopes", lists->scopes, SIZE_MAX,
	    &lists->of_scopes) || !texts_read(call, "hidden_files", lists->hidden,
	    GATE_NAME_MAX, &lists->of_hidden))
		return false;
	if (lists->scopes != NULL)
		out->scopes = lists->of_scopes.all;
	out->n_scopes = lists->of_scopes.n;
	out->hidden = lists->of_hidden.all;
	out->n_hidden = call->operator ? lists->of_hidden.n : 0;
	return true;
}

/* A run that calls, or whose token is shown, is the one that the new one is
 * below: it can name no other. */
static bool
parent_set(struct api_call *call, struct gate_run_options *out)
{
	out->by_run = !call->operator;
	out->peer = call->peer;
	if (call->run == NULL)
		return true;
	if (out->parent == NULL)
		out->parent = run_id(call->run);
	if (call->operator || strcmp(out->parent, run_id(call->run)) == 0)
		return true;
	api_refuse(call, 403, "run/bad-parent",
	    "a run opens others below itself only", "leave parent out");
	return false;
}

static bool
options_read(struct api_call *call, struct gate_run_options *out,
    struct lists *lists)
{
	json_t *agent = NULL, *budget = NULL;
	const struct json_in_field fields[] = {
		{ "principal", JSON_IN_STR, false, 0, GATE_NAME_MAX - 1, &out->principal },
		{ "agent", JSON_IN_OBJECT, false, 0, 0, &agent },
		{ "pid", JSON_IN_INT, false, 1, INT32_MAX, &out->pid },
		{ "parent", JSON_IN_STR, false, 1, GATE_ID_MAX - 1, &out->parent },
		{ "budget", JSON_IN_OBJECT, false, 0, 0, &budget },
		{ "scopes", JSON_IN_ARRAY, false, 0, DELEGATION_SCOPES_MAX, &lists->scopes },
		{ "ttl_s", JSON_IN_INT, false, 1, DELEGATION_TTL_MAX_S, &out->ttl_s },
		{ "direct_loopback", JSON_IN_BOOL, false, 0, 0, &out->direct_loopback },
		{ "hidden_files", JSON_IN_ARRAY, false, 0, DELEGATION_SCOPES_MAX, &lists->hidden },
	};
	const struct json_in_field of_agent[] = {
		{ "name", JSON_IN_STR, false, 0, GATE_NAME_MAX - 1, &out->agent_name },
		{ "version", JSON_IN_STR, false, 0, GATE_NAME_MAX - 1, &out->agent_version },
	};
	char err[256];

	*out = (struct gate_run_options){ .pid = -1, .uid = call->peer.uid,
	    .limits = { -1, -1, -1, -1 } };
	*lists = (struct lists){ .scopes = NULL };
	if (json_in_read(call->json, fields, 9, "", err, sizeof(err)) == -1 ||
	    (agent != NULL && json_in_read(agent, of_agent, 2, "agent", err,
	    sizeof(err)) == -1)) {
		api_refuse_input(call, 400, "api/member", err, API_SEE);
		return false;
	}
	return budget_read(call, budget, &out->limits) &&
	    lists_read(call, lists, out) && parent_set(call, out);
}

static json_t *
texts(char *const *all, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(all[i]));
	return list;
}

static json_t *
placement(const struct placement *place)
{
	switch (place->kind) {
	case PLACE_HEADER:
		return json_pack("{s:s, s:s}", "kind", "header", "name",
		    place->name);
	case PLACE_BASIC:
		return json_pack("{s:s, s:s}", "kind", "basic", "user",
		    place->user);
	case PLACE_SIGV4:
		return json_pack("{s:s}", "kind", "sigv4");
	default:
		return json_pack("{s:s, s:s}", "kind", "query", "name",
		    place->name);
	}
}

static void
placeholder_add(void *arg, const struct binding *binding, const char *value)
{
	json_array_append_new(arg, json_pack("{s:s, s:o, s:s, s:s, s:o, s:i, s:o}",
	    "binding", binding->id, "env", texts(binding->env, binding->n_env),
	    "value", value, "scheme", binding->https ? "https" : "http",
	    "hosts", texts(binding->hosts, binding->n_hosts), "port",
	    (int)binding->port, "placement", placement(&binding->placement)));
}

static void
lack_add(void *arg, const struct binding *binding, const char *why,
    const char *remedy)
{
	json_array_append_new(arg, json_pack("{s:s, s:s, s:o, s:s, s:s}",
	    "binding", binding->id, "secret", binding->secret, "env",
	    texts(binding->env, binding->n_env), "reason", why, "remedy", remedy));
}

/* Names of secrets are the operator's. */
static json_t *
lacks(const struct run *run, const struct rules *rules)
{
	json_t *list = json_array();

	gate_run_lacks(run, rules, lack_add, list);
	return list;
}

struct scrub {
	json_t *tags, *lengths, *marks;	/* one of each per secret */
};

static void
tag_add(void *arg, const uint8_t tag[32], const uint8_t mark[GATE_MARK_LEN],
    size_t len)
{
	struct scrub *scrub = arg;
	char hex[65];

	sodium_bin2hex(hex, sizeof(hex), tag, 32);
	json_array_append_new(scrub->tags, json_string(hex));
	sodium_bin2hex(hex, sizeof(hex), mark, GATE_MARK_LEN);
	json_array_append_new(scrub->marks, json_string(hex));
	json_array_append_new(scrub->lengths, json_integer((json_int_t)len));
}

static json_t *
scrub(struct gate *gate)
{
	struct scrub scrub = { json_array(), json_array(), json_array() };
	uint8_t key[32];
	bool complete;
	char hex[65];

	complete = gate_scrub_tags(gate, key, tag_add, &scrub);
	sodium_bin2hex(hex, sizeof(hex), key, sizeof(key));
	return json_pack("{s:s, s:o, s:o, s:o, s:b}", "key", hex, "tags", scrub.tags,
	    "lengths", scrub.lengths, "marks", scrub.marks, "complete", (int)complete);
}

static json_t *
proxy(const struct api_options *options)
{
	return json_pack("{s:s, s:i}", "host", options->proxy_host, "port",
	    (int)options->proxy_port);
}

/* What narrows the run, and below which it is. */
static void
delegation_set(json_t *json, const struct gate_run_info *info)
{
	json_t *scopes;

	if (info->parent[0] != '\0')
		json_object_set_new(json, "parent", json_string(info->parent));
	if (!info->narrowed)
		return;
	scopes = json_array();
	for (size_t i = 0; i < info->n_scopes; i++)
		json_array_append_new(scopes, json_string(info->scopes[i]));
	json_object_set_new(json, "scopes", scopes);
	if (info->expires_s >= 0)
		json_object_set_new(json, "expires", api_time(info->expires_s));
}

static json_t *
opened(struct api_call *call, struct run *run, const char *token)
{
	const struct api_options *options = &call->api->options;
	struct rules *rules = gate_rules(options->gate);
	json_t *placeholders = json_array(), *json;
	struct gate_run_info info;
	char url[64];

	run_info(run, &info);
	gate_run_placeholders(run, rules, placeholder_add, placeholders);
	snprintf(url, sizeof(url), "http://%s:%u", options->api_host,
	    options->api_port);
	json = json_pack("{s:s, s:s, s:o, s:s, s:o, s:{s:s, s:s}, s:{s:s, s:s}, s:o, s:o}",
	    "id", info.id, "token", token, "opened", api_time(info.opened_s),
	    "policy", rules_digest(rules), "proxy", proxy(options), "api",
	    "url", url, "socket", options->agent_socket, "ca", "cert",
	    options->ca_cert, "bundle", options->ca_bundle, "placeholders",
	    placeholders, "receipt", api_receipt(&info.receipt));
	/* Not for an agent, who could try out what a secret might be. */
	if (json != NULL && call->operator) {
		json_object_set_new(json, "scrub", scrub(options->gate));
		json_object_set_new(json, "placeholders_missing", lacks(run, rules));
	}
	rules_unref(rules);
	if (json == NULL)
		return NULL;
	delegation_set(json, &info);
	return json;
}

static void
shut(struct api_call *call, struct run *run, const char *reason)
{
	struct gate_run_summary summary;
	struct gate_problem why;

	(void)gate_run_close(call->api->options.gate, call->lane->port, run,
	    &(struct gate_closer){ "broker", reason, { -1, -1, 0 } }, &summary, &why);
}

/* A run with a process ends with it, or is not opened. */
static bool
tie(struct api_call *call, struct run *run)
{
	struct gate_run_info info;

	run_info(run, &info);
	if (info.pid <= 0 || api_watch_add(call->api->watch, run, info.pid,
	    info.start_time) == 0)
		return true;
	shut(call, run, "opener not watched");
	api_refuse(call, 503, "api/memory", "out of memory", "try again");
	return false;
}

/* Before its token is known, so that they stand before all that it does. */
static bool
publish(struct api_call *call, struct run *run, const struct gate_run_options *options)
{
	struct gate_problem why;

	if (gate_run_claims(call->api->options.gate, call->lane->port, run, options,
	    &why) == 0)
		return true;
	shut(call, run, "coverage not recorded");
	api_refuse_problem(call, &why);
	return false;
}

void
api_run_open(struct api_call *call)
{
	struct gate_run_options options;
	char token[GATE_TOKEN_MAX];
	struct gate_problem why;
	struct lists lists;
	struct run *run;

	if (!options_read(call, &options, &lists))
		return;
	run = gate_run_open(call->api->options.gate, call->lane->port, &options,
	    token, &why);
	if (run == NULL) {
		api_refuse_problem(call, &why);
		return;
	}
	if (gate_run_left_ms(run) != INT64_MAX)
		api_watch_later(call->api->watch);
	if (publish(call, run, &options) && tie(call, run))
		api_answer(call, 201, opened(call, run, token));
	sodium_memzero(token, sizeof(token));
	run_unref(run);
}

/* --- looking ------------------------------------------------------------ */

static void
limit_set(json_t *object, const char *name, int64_t value)
{
	if (value >= 0)
		json_object_set_new(object, name, json_integer(value));
}

static json_t *
budget(const struct policy_budget *limits)
{
	json_t *object = json_object();

	limit_set(object, "requests", limits->requests);
	limit_set(object, "bytes_out", limits->bytes_out);
	limit_set(object, "cost", limits->cost);
	limit_set(object, "wall_ms", limits->wall_ms);
	return object;
}

static void
text_set(json_t *object, const char *name, const char *text)
{
	if (text[0] != '\0')
		json_object_set_new(object, name, json_string(text));
}

static json_t *
described(struct run *run)
{
	struct gate_run_info info;
	json_t *json, *agent = json_object();

	run_info(run, &info);
	text_set(agent, "name", info.agent_name);
	text_set(agent, "version", info.agent_version);
	json = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o}",
	    "id", info.id, "state", info.open ? "open" : "closed", "opened",
	    api_time(info.opened_s), "agent", agent, "used",
	    budget(&info.used), "budget", budget(&info.limits), "allowed",
	    (json_int_t)info.allowed, "refused", (json_int_t)info.refused,
	    "failed", (json_int_t)info.failed, "redacted",
	    (json_int_t)info.redacted, "receipt",
	    api_receipt(&info.receipt));
	if (json == NULL)
		return NULL;
	text_set(json, "principal", info.principal);
	delegation_set(json, &info);
	limit_set(json, "pid", info.pid);
	return json;
}

static void
list_add(void *arg, struct run *run)
{
	json_array_append_new(arg, described(run));
}

void
api_run_list(struct api_call *call)
{
	json_t *list = json_array();

	gate_run_each(call->api->options.gate, list_add, list);
	api_answer(call, 200, json_pack("{s:o}", "runs", list));
}

void
api_run_look(struct api_call *call)
{
	struct run *run = api_run_named(call);

	if (run == NULL)
		return;
	api_answer(call, 200, described(run));
	run_unref(run);
}

/* --- closing ------------------------------------------------------------ */

static json_t *
closed(struct api_call *call, const struct run *run,
    const struct gate_run_summary *summary)
{
	size_t len = 0;
	char *note = api_read_checkpoint(call->api, &len);
	json_t *json;

	json = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}",
	    "id", run_id(run), "first_seq", (json_int_t)summary->first_seq,
	    "last_seq", (json_int_t)summary->last_seq, "first_index",
	    (json_int_t)summary->first_index, "size",
	    (json_int_t)summary->size, "requests",
	    (json_int_t)summary->requests, "allowed",
	    (json_int_t)summary->allowed, "refused",
	    (json_int_t)summary->refused, "failed",
	    (json_int_t)summary->failed, "redacted",
	    (json_int_t)summary->redacted, "bytes_out",
	    (json_int_t)summary->bytes_out, "checkpoint",
	    note != NULL ? note : "");
	free(note);
	return json;
}

void
api_run_close(struct api_call *call)
{
	struct run *run = api_run_named(call);
	struct gate_closer closer = { .peer = call->peer };
	struct gate_run_summary summary;
	struct gate_problem why;

	if (run == NULL)
		return;
	closer.by = call->operator ? "operator" :
	    call->run != NULL && run_below_p(run, call->run) ? "parent" :
	    gate_closer_of(run, &call->peer);
	if (gate_run_close(call->api->options.gate, call->lane->port, run,
	    &closer, &summary, &why) == -1)
		api_refuse_problem(call, &why);
	else
		api_answer(call, 200, closed(call, run, &summary));
	api_watch_sweep(call->api->watch);
	run_unref(run);
}

void
api_run_orphaned(void *arg, struct run *run)
{
	struct api *api = arg;
	struct api_lane *lane = api_lane_take(api);
	struct gate_run_summary summary;
	struct gate_problem why;

	/* -1: somebody was faster, or the ledger is gone; it is closed anyhow. */
	(void)gate_run_close(api->options.gate, lane->port, run,
	    &(struct gate_closer){ "broker", "opener ended", { -1, -1, 0 } },
	    &summary, &why);
	api_lane_give(api, lane);
	api_watch_sweep(api->watch);
}
