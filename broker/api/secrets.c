/* /v1/secrets, for the operator.  Values go in and never come out. */
#include "api/impl.h"

#include "gate/withdraw.h"
#include "json_in.h"

#include <string.h>

static void
put(struct api_call *call, bool rotate, unsigned status)
{
	struct gate_problem why;
	uint32_t version = 0;

	if (gate_secret_put(call->api->options.gate, call->lane->port,
	    call->param, call->body, call->body_len, rotate, &version,
	    &why) == -1)
		api_refuse_problem(call, &why);
	else
		api_answer(call, status, json_pack("{s:s, s:I}", "name",
		    call->param, "version", (json_int_t)version));
}

void
api_secret_put(struct api_call *call)
{
	put(call, false, 201);
}

void
api_secret_rotate(struct api_call *call)
{
	put(call, true, 200);
}

/* The service that gave it, and what came of telling it. */
static json_t *
withdraw(struct gate *gate, struct ledger_port *port, const struct gate_login *login)
{
	char host[GATE_NAME_MAX], why[GATE_WHY_MAX];

	gate_login_withdraw(gate, port, login, host, why);
	return json_pack("{s:s, s:b, s:s*}", "host", host, "told", why[0] == '\0', "why",
	    why[0] == '\0' ? NULL : why);
}

void
api_secret_revoke(struct api_call *call)
{
	int64_t version = 0;
	const struct json_in_field fields[] = {
		{ "version", JSON_IN_INT, false, 1, UINT32_MAX, &version },
	};
	struct gate *gate = call->api->options.gate;
	struct gate_login *login;
	struct gate_problem why;
	json_t *service = NULL;
	char err[256];
	int rv;

	if (call->json != NULL &&
	    json_in_read(call->json, fields, 1, "", err, sizeof(err)) == -1) {
		api_refuse(call, 400, "api/member", err, API_SEE);
		return;
	}
	login = gate_login_take(gate, call->param, (uint32_t)version);
	rv = gate_secret_revoke(gate, call->lane->port, call->param, (uint32_t)version, &why);
	if (login != NULL && (rv == 0 || strcmp(why.rule, "secret/not-erased") == 0))
		service = withdraw(gate, call->lane->port, login);
	gate_login_free(login);
	if (rv == 0) {
		api_answer(call, 200, json_pack("{s:s, s:o*}", "name", call->param, "service",
		    service));
		return;
	}
	json_decref(service);
	api_refuse_problem(call, &why);
}

static void
list_add(void *arg, const struct vault_entry *entry)
{
	json_t *one = json_pack("{s:s, s:I, s:o}", "name", entry->name,
	    "version", (json_int_t)entry->version, "created",
	    api_time(entry->created_s));

	if (one != NULL && entry->revoked_s != 0)
		json_object_set_new(one, "revoked",
		    api_time(entry->revoked_s));
	json_array_append_new(arg, one);
}

/* Of a secret for getting tokens: what there is of them. */
static void
add_token(struct gate *gate, json_t *one, const char *name)
{
	char why[GATE_WHY_MAX] = "";
	int64_t until_s = 0;
	json_t *token;

	if (!gate_secret_token(gate, name, &until_s, why, sizeof(why)) ||
	    (token = json_object()) == NULL)
		return;
	if (until_s != 0)
		json_object_set_new(token, "expires", api_time(until_s));
	if (why[0] != '\0')
		json_object_set_new(token, "why", json_string(why));
	json_object_set_new(one, "token", token);
}

static const char *
state_of(const json_t *one, const json_t *newest)
{
	const char *name = json_string_value(json_object_get(one, "name"));

	if (json_object_get(one, "revoked") != NULL)
		return "revoked";
	return json_integer_value(json_object_get(one, "version")) ==
	    json_integer_value(json_object_get(newest, name)) ? "current" :
	    "superseded";
}

/* Only the newest version of a name can be the current one. */
static void
add_states(struct gate *gate, const json_t *list)
{
	json_t *newest = json_object(), *one, *version;
	const char *name;
	size_t i;

	json_array_foreach(list, i, one) {
		name = json_string_value(json_object_get(one, "name"));
		version = json_object_get(one, "version");
		if (json_integer_value(version) >
		    json_integer_value(json_object_get(newest, name)))
			json_object_set(newest, name, version);
	}
	json_array_foreach(list, i, one) {
		const char *state = state_of(one, newest);

		json_object_set_new(one, "state", json_string(state));
		if (strcmp(state, "current") == 0)
			add_token(gate, one, json_string_value(
			    json_object_get(one, "name")));
	}
	json_decref(newest);
}

void
api_secret_list(struct api_call *call)
{
	json_t *list = json_array(), *answer;
	char unanswered[GATE_WHY_MAX];
	struct gate_problem why;

	if (gate_secret_known(call->api->options.gate, list_add, list,
	    unanswered, sizeof(unanswered), &why) == -1) {
		json_decref(list);
		api_refuse_problem(call, &why);
		return;
	}
	add_states(call->api->options.gate, list);
	answer = json_pack("{s:o}", "secrets", list);
	if (answer != NULL && unanswered[0] != '\0')
		json_object_set_new(answer, "unanswered", json_string(unanswered));
	api_answer(call, 200, answer);
}
