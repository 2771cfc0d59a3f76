/* What an adapter had and could not hand over, by its own word: a `loss` record. */
#include "gate/admin.h"

#include "gate/impl.h"
#include "json_in.h"
#include "ledger/coverage/claim.h"
#include "ledger/record/json_out.h"
#include "ledger/record/record.h"

#include <string.h>

#define LOSS_KINDS_MAX 16

struct loss {
	const char *adapter, *instance, *reason;
	int64_t count, from, to, interval_ms;	/* -1: not told, but for count */
	json_t *kinds;				/* NULL */
};

static bool
is_name(const char *text)
{
	return text == NULL || record_name_valid(text, strlen(text));
}

static bool
is_reason(const char *reason)
{
	static const char *const reasons[] = { "full", "rejected", "ended", "unreachable" };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(reason, reasons[i]) == 0)
			return true;
	return false;
}

static bool
are_kinds(const json_t *kinds)
{
	const json_t *kind;
	size_t i;

	json_array_foreach(kinds, i, kind)
		if (!json_is_string(kind) || !act_kind_valid(json_string_value(kind)))
			return false;
	return kinds == NULL || json_array_size(kinds) > 0;
}

/* A range has room for the count, and may have more: others of it arrived. */
static bool
is_range(const struct loss *loss)
{
	if (loss->from < 0 || loss->to < 0)
		return loss->from < 0 && loss->to < 0;
	return loss->from <= loss->to && loss->count - 1 <= loss->to - loss->from;
}

static const char *
loss_flaw(const struct loss *loss)
{
	if (!is_name(loss->adapter) || !is_name(loss->instance))
		return "adapter, instance: a name of 1 to 64 letters, digits and -._:/@+";
	if (!is_reason(loss->reason))
		return "reason: full, rejected, ended or unreachable";
	if (!are_kinds(loss->kinds))
		return "kinds: names of 1 to 32 lower case letters, digits, '_' and '-'";
	if (!is_range(loss))
		return "from, to: the adapter's own numbers of the first and the last that is "
		    "lost, both or neither, and no fewer than count";
	return NULL;
}

static bool
loss_read(json_t *object, struct loss *loss, struct gate_problem *why)
{
	const struct json_in_field fields[] = {
		{ "adapter", JSON_IN_STR, true, 1, CLAIM_NAME_MAX, &loss->adapter },
		{ "instance", JSON_IN_STR, false, 1, CLAIM_NAME_MAX, &loss->instance },
		{ "reason", JSON_IN_STR, true, 1, 32, &loss->reason },
		{ "count", JSON_IN_INT, true, 1, 0, &loss->count },
		{ "from", JSON_IN_INT, false, 0, 0, &loss->from },
		{ "to", JSON_IN_INT, false, 0, 0, &loss->to },
		{ "interval_ms", JSON_IN_INT, false, 0, 0, &loss->interval_ms },
		{ "kinds", JSON_IN_ARRAY, false, 0, LOSS_KINDS_MAX, &loss->kinds },
	};
	char err[256];
	const char *flaw = err;

	if (json_in_read(object, fields, sizeof(fields) / sizeof(fields[0]), "", err,
	    sizeof(err)) == 0)
		flaw = loss_flaw(loss);
	if (flaw != NULL)
		gate_problem_set(why, 400, "coverage/loss", flaw, "see GET /openapi.json");
	return flaw == NULL && !gate_claims_ours(loss->adapter, loss->instance, why);
}

static void
loss_number(struct json_out *out, const char *name, int64_t value)
{
	if (value >= 0)
		json_out_int(out, name, value);
}

static int
loss_body(const struct run *run, const struct loss *loss, char *buf, size_t cap)
{
	struct json_out out;
	const json_t *kind;
	size_t i;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_hex(&out, "parent", run->receipt.leaf, LEDGER_LEAF_LEN);
	json_out_str(&out, "adapter", loss->adapter);
	if (loss->instance != NULL)
		json_out_str(&out, "instance", loss->instance);
	json_out_int(&out, "count", loss->count);
	json_out_str(&out, "reason", loss->reason);
	loss_number(&out, "from", loss->from);
	loss_number(&out, "to", loss->to);
	loss_number(&out, "interval_ms", loss->interval_ms);
	if (loss->kinds != NULL) {
		json_out_array(&out, "kinds");
		json_array_foreach(loss->kinds, i, kind)
			json_out_str(&out, NULL, json_string_value(kind));
		json_out_array_end(&out);
	}
	json_out_object_end(&out);
	return json_out_end(&out);
}

int
gate_loss(struct gate *gate, struct ledger_port *port, struct run *run,
    struct json_t *told, struct ledger_receipt *receipt, struct gate_problem *why)
{
	struct loss loss = { .from = -1, .to = -1, .interval_ms = -1 };
	char body[2048];

	if (!loss_read(told, &loss, why))
		return -1;
	if (loss_body(run, &loss, body, sizeof(body)) < 0) {
		gate_problem_set(why, 400, "coverage/loss", "it is too long", "name fewer kinds");
		return -1;
	}
	return gate_claims_append(gate, port, run, "loss", body, receipt, why);
}
