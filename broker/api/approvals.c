/* /v1/approvals, for the operator: what a person is asked, and the answer. */
#include "api/impl.h"

#include "json_in.h"

#include <string.h>

static json_t *
text_or_null(const char *text)
{
	return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *
described(const struct gate_approval_info *info)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:I}",
	    "id", info->id, "state", info->state, "run", info->run,
	    "principal", text_or_null(info->principal),
	    "agent", text_or_null(info->agent),
	    "action", info->action, "target", info->target,
	    "secret", text_or_null(info->secret),
	    "binding", text_or_null(info->binding),
	    "rule", info->rule, "reason", info->reason,
	    "asked", api_time(info->asked_s),
	    "expires", info->for_run ? json_null() : api_time(info->expires_s),
	    "waiting", (json_int_t)info->waiting);
}

static void
list_add(void *arg, const struct gate_approval_info *info)
{
	json_array_append_new(arg, described(info));
}

void
api_approval_list(struct api_call *call)
{
	json_t *list = json_array();

	gate_approvals_each(call->api->options.gate, list_add, list);
	api_answer(call, 200, json_pack("{s:o}", "approvals", list));
}

static bool
answer_read(struct api_call *call, struct gate_approval_answer *out)
{
	const char *answer = NULL, *how = "once";
	const struct json_in_field fields[] = {
		{ "answer", JSON_IN_STR, true, 1, 16, &answer },
		{ "for", JSON_IN_STR, false, 1, 16, &how },
	};
	char err[256] = "answer: \"approve\" or \"deny\"; for: \"once\" or \"run\"";

	if (json_in_read(call->json, fields, 2, "", err, sizeof(err)) == 0) {
		*out = (struct gate_approval_answer){ .peer = call->peer,
		    .approve = strcmp(answer, "approve") == 0,
		    .for_run = strcmp(how, "run") == 0 };
		if ((out->approve || strcmp(answer, "deny") == 0) &&
		    (out->for_run || strcmp(how, "once") == 0))
			return true;
	}
	api_refuse(call, 400, "api/member", err, API_SEE);
	return false;
}

static void
keep_answer(void *arg, const struct gate_approval_info *info)
{
	json_t **json = arg;

	*json = described(info);
	json_object_set_new(*json, "receipt", api_receipt(&info->receipt));
}

void
api_approval_answer(struct api_call *call)
{
	struct gate_approval_answer answer;
	struct gate_problem why;
	json_t *json = NULL;

	if (!answer_read(call, &answer))
		return;
	if (gate_approval_answer(call->api->options.gate, call->lane->port,
	    slice_of(call->param), &answer, keep_answer, &json, &why) == -1)
		api_refuse_problem(call, &why);
	else
		api_answer(call, 200, json);
}
