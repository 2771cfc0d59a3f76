/* /v1/decide: what adapters ask. */
#include "api/impl.h"

#include "json_in.h"

#include <stdlib.h>
#include <strings.h>
#include <string.h>

struct question {
	const char *kind, *verb, *name, *adapter;
	const char *scheme, *host, *path, *query, *ip;
	const char *agent_name, *agent_version;
	int64_t port;
	json_t *args;
};

static struct policy_str
text_of(const char *text)
{
	if (text == NULL || text[0] == '\0')
		return (struct policy_str){ NULL, 0 };
	return (struct policy_str){ text, strlen(text) };
}

static int
action_read(json_t *object, struct question *out, char *err, size_t err_len)
{
	const struct json_in_field fields[] = {
		{ "kind", JSON_IN_STR, true, 1, 32, &out->kind },
		{ "verb", JSON_IN_STR, false, 1, 128, &out->verb },
		{ "name", JSON_IN_STR, false, 1, 4096, &out->name },
		{ "args", JSON_IN_ANY, false, 0, 0, &out->args },
	};

	return json_in_read(object, fields, 4, "action", err, err_len);
}

static int
target_read(json_t *object, struct question *out, char *err, size_t err_len)
{
	const struct json_in_field fields[] = {
		{ "scheme", JSON_IN_STR, false, 1, 16, &out->scheme },
		{ "host", JSON_IN_STR, false, 1, TARGET_HOST_MAX - 1, &out->host },
		{ "port", JSON_IN_INT, false, 1, 65535, &out->port },
		{ "path", JSON_IN_STR, false, 1, TARGET_PATH_MAX, &out->path },
		{ "query", JSON_IN_STR, false, 1, TARGET_QUERY_MAX, &out->query },
		{ "ip", JSON_IN_STR, false, 1, 64, &out->ip },
	};

	return object == NULL ? 0 :
	    json_in_read(object, fields, 6, "target", err, err_len);
}

static int
agent_read(json_t *object, struct question *out, char *err, size_t err_len)
{
	const struct json_in_field fields[] = {
		{ "name", JSON_IN_STR, false, 0, GATE_NAME_MAX - 1, &out->agent_name },
		{ "version", JSON_IN_STR, false, 0, GATE_NAME_MAX - 1, &out->agent_version },
	};

	return object == NULL ? 0 :
	    json_in_read(object, fields, 2, "agent", err, err_len);
}

static bool
question_read(struct api_call *call, struct question *out)
{
	json_t *action = NULL, *target = NULL, *agent = NULL;
	const struct json_in_field fields[] = {
		{ "action", JSON_IN_OBJECT, true, 0, 0, &action },
		{ "target", JSON_IN_OBJECT, false, 0, 0, &target },
		{ "agent", JSON_IN_OBJECT, false, 0, 0, &agent },
		{ "adapter", JSON_IN_STR, false, 1, 64, &out->adapter },
	};
	char err[256] = "adapter: proxy is the broker's own, which asks nobody";

	if (json_in_read(call->json, fields, 4, "", err, sizeof(err)) == 0 &&
	    (out->adapter == NULL || strcasecmp(out->adapter, "proxy") != 0) &&
	    action_read(action, out, err, sizeof(err)) == 0 &&
	    target_read(target, out, err, sizeof(err)) == 0 &&
	    agent_read(agent, out, err, sizeof(err)) == 0)
		return true;
	api_refuse_input(call, 400, "api/member", err, API_SEE);
	return false;
}

static void
obligation_add(json_t *list, const char *name, int64_t value)
{
	if (value >= 0)
		json_array_append_new(list, json_pack("{s:I}", name,
		    (json_int_t)value));
}

/* receipt: NULL where the denial was only counted. */
static json_t *
answered(const struct gate_answer *answer, const struct ledger_receipt *receipt)
{
	json_t *object;
	static const char *const words[] = { "deny", "allow", "ask" };
	const struct policy_decision *policy = &answer->policy;
	json_t *list = json_array();

	json_array_append_new(list, json_pack("{s:b}", "redact",
	    (int)policy->redact));
	obligation_add(list, "max_bytes", policy->max_bytes);
	obligation_add(list, "cost", policy->cost);
	obligation_add(list, "ttl_s", policy->ttl_s);
	obligation_add(list, "uses", policy->uses);
	object = json_pack("{s:s, s:s, s:s, s:o}", "decision",
	    words[answer->verdict], "reason", policy->reason, "rule",
	    policy->rule, "obligations", list);
	if (receipt != NULL)
		json_object_set_new(object, "receipt", api_receipt(receipt));
	else
		json_object_set_new(object, "counted", json_true());
	return object;
}

static void
record(struct api_call *call, const struct gate_answer *answer)
{
	const struct gate_verdict *verdict = &answer->record;
	struct ledger_record line = { .type = verdict->record_type,
	    .run = run_id(call->run), .policy = rules_digest(verdict->rules),
	    .body = verdict->record, .body_len = verdict->record_len };
	struct ledger_receipt receipt;

	if (answer->verdict == POLICY_DENY &&
	    !gate_refusal_alone(call->api->options.gate, call->run, verdict,
	    "action", call->peer.uid, NULL))
		api_answer(call, 200, answered(answer, NULL));
	else if (ledger_append_soon(call->lane->port, &line, &receipt) ==
	    LEDGER_DURABLE)
		api_answer(call, 200, answered(answer, &receipt));
	else
		api_refuse(call, 503, "ledger/failed",
		    "the decision could not be recorded, so it does not hold",
		    "see the daemon's log");
}

void
api_decide(struct api_call *call)
{
	struct question asked = { .port = -1 };
	struct gate_answer *answer;
	struct gate_action action;
	char *args = NULL;

	if (!question_read(call, &asked))
		return;
	if (asked.args != NULL)
		args = json_dumps(asked.args, JSON_COMPACT | JSON_ENCODE_ANY);
	answer = malloc(sizeof(*answer));
	if (answer == NULL || (asked.args != NULL && args == NULL)) {
		api_answer(call, 503, NULL);
		goto out;
	}
	action = (struct gate_action){ .peer = call->peer,
	    .kind = text_of(asked.kind), .verb = text_of(asked.verb),
	    .name = text_of(asked.name), .args = text_of(args),
	    .scheme = text_of(asked.scheme), .host = text_of(asked.host),
	    .path = text_of(asked.path), .query = text_of(asked.query),
	    .ip = text_of(asked.ip), .port = asked.port,
	    .agent_name = text_of(asked.agent_name),
	    .agent_version = text_of(asked.agent_version),
	    .adapter = text_of(asked.adapter) };
	gate_run_hold(call->run);
	gate_decide_action(call->api->options.gate, call->lane->thread,
	    call->run, &action, answer);
	record(call, answer);
	gate_outcome_done(call->run);
	gate_verdict_release(&answer->record);
out:
	secret_text_free(args);
	free(answer);
}
