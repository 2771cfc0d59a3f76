#include "policy/opa/answer.h"

#include <stdio.h>
#include <string.h>

#include "policy/pack.h"

/* Only what may stand in a record as it is. */
static bool
id_ok(const struct value *id)
{
	size_t i;

	if (id->kind != VALUE_STRING || id->str.n == 0 ||
	    id->str.n > POLICY_ID_MAX)
		return false;
	for (i = 0; i < id->str.n; i++)
		if (id->str.p[i] <= ' ' || id->str.p[i] > '~' ||
		    id->str.p[i] == '"' || id->str.p[i] == '\\')
			return false;
	return true;
}

static void
answered(struct arena *arena, const struct value *root,
    struct policy_decision *out)
{
	const struct value *id = value_member(root, "decision_id");

	if (id != NULL && !id_ok(id)) {
		decision_deny(out, "engine/opa-answer",
		    "OPA's decision_id is not a short plain text");
		return;
	}
	decision_from_value(arena, value_member(root, "result"), out);
	if (id == NULL)
		return;
	memcpy(out->id, id->str.p, id->str.n);
	out->id[id->str.n] = '\0';
}

void
opa_answer(struct arena *arena, long status, const char *text, size_t len,
    struct policy_decision *out)
{
	char err[160] = "", why[POLICY_TEXT_MAX];
	const struct value *root;

	if (status != 200) {
		snprintf(why, sizeof(why), "OPA answered with status %ld",
		    status);
		decision_deny(out, "engine/opa-status", why);
		out->failed = true;
		return;
	}
	root = value_from_json(arena, text, len, &value_json_strict, err,
	    sizeof(err));
	if (root != NULL && root->kind == VALUE_OBJECT) {
		answered(arena, root, out);
		return;
	}
	snprintf(why, sizeof(why), "OPA's answer is no JSON object%s%s",
	    err[0] != '\0' ? ": " : "", err);
	decision_deny(out, "engine/opa-answer", why);
	out->failed = true;
}
