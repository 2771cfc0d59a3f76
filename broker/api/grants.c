/* /v1/grants */
#include "api/impl.h"

#include "gate/grant.h"
#include "json_in.h"

#include <string.h>

#include <sodium.h>

static bool
options_read(struct api_call *call, struct gate_grant_options *out)
{
	const struct json_in_field fields[] = {
		{ "action", JSON_IN_STR, true, 1, 31, &out->action },
		{ "target", JSON_IN_STR, true, 1, TARGET_PATH_MAX, &out->target },
		{ "secret", JSON_IN_STR, false, 1, VAULT_NAME_MAX, &out->secret },
		{ "binding", JSON_IN_STR, false, 1, BINDING_ID_MAX, &out->binding },
		{ "uses", JSON_IN_INT, false, 1, GRANT_USES_MAX, &out->uses },
		{ "ttl_s", JSON_IN_INT, false, 1, GRANT_TTL_MAX_S, &out->ttl_s },
	};
	char err[256];

	*out = (struct gate_grant_options){ .uses = -1, .ttl_s = -1,
	    .peer = call->peer };
	if (json_in_read(call->json, fields, 6, "", err, sizeof(err)) == 0)
		return true;
	api_refuse_input(call, 400, "api/member", err, API_SEE);
	return false;
}

static json_t *
described(const struct gate_grant_info *info)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o}",
	    "id", info->id, "run", info->run, "state", info->state, "action",
	    info->action, "target", info->target, "binding", info->binding,
	    "uses", (json_int_t)info->uses, "requests_left",
	    (json_int_t)info->requests_left, "expires",
	    api_time(info->expires_s), "receipt", api_receipt(&info->receipt));
}

void
api_grant_issue(struct api_call *call)
{
	const struct api_options *options = &call->api->options;
	struct gate_grant_options wish;
	struct gate_grant_info info;
	char token[GATE_TOKEN_MAX];
	struct gate_problem why;
	json_t *json;

	if (!options_read(call, &wish))
		return;
	if (gate_grant_issue(options->gate, call->lane->thread,
	    call->lane->port, call->run, &wish, token, &info, &why) == -1) {
		api_refuse_problem(call, &why);
		return;
	}
	json = described(&info);
	if (json != NULL) {
		json_object_set_new(json, "token", json_string(token));
		json_object_set_new(json, "proxy", json_pack("{s:s, s:i}",
		    "host", options->proxy_host, "port",
		    (int)options->proxy_port));
	}
	sodium_memzero(token, sizeof(token));
	api_answer(call, 201, json);
}

/* A run sees its own grants, the operator all. */
static const struct run *
owner(const struct api_call *call)
{
	return call->operator ? NULL : call->run;
}

void
api_grant_look(struct api_call *call)
{
	struct gate_grant_info info;
	struct gate_problem why;

	if (gate_grant_look(call->api->options.gate, slice_of(call->param),
	    owner(call), &info, &why) == -1)
		api_refuse_problem(call, &why);
	else
		api_answer(call, 200, described(&info));
}

void
api_grant_revoke(struct api_call *call)
{
	struct gate_grant_info info;
	struct gate_problem why;

	if (gate_grant_revoke(call->api->options.gate, call->lane->port,
	    slice_of(call->param), owner(call), &info, &why) == -1)
		api_refuse_problem(call, &why);
	else
		api_answer(call, 200, described(&info));
}
