/* What an engine answered, taken apart: a decision, or a denial. */
#include <stdio.h>
#include <string.h>

#include "policy/pack.h"
#include "policy/value/number.h"
#include "policy/value/utf8.h"

/* Cut at a code point; terminated; no control characters. */
static void
put_text(char out[POLICY_TEXT_MAX], const char *p, size_t n)
{
	size_t i, used, kept;

	kept = utf8_plain_prefix(p, n < POLICY_TEXT_MAX ? n :
	    POLICY_TEXT_MAX - 1);
	memcpy(out, p, kept);
	for (i = kept; i < n; i += used) {
		used = 1;
		if ((unsigned char)p[i] >= 0x80)
			utf8_decode(p + i, n - i, &used);
		if (kept + used >= POLICY_TEXT_MAX)
			break;
		memcpy(out + kept, p + i, used);
		if (used == 1 && ((unsigned char)out[kept] < 0x20 ||
		    (unsigned char)out[kept] >= 0x7f))
			out[kept] = '?';
		kept += used;
	}
	out[kept] = '\0';
}

void
decision_clear(struct policy_decision *out)
{
	out->verdict = POLICY_DENY;
	out->reason[0] = out->rule[0] = out->id[0] = '\0';
	out->redact = true;
	out->max_bytes = out->cost = out->ttl_s = out->uses = -1;
	out->engine = NULL;
	out->failed = false;
}

void
decision_deny(struct policy_decision *out, const char *rule, const char *reason)
{
	decision_clear(out);
	put_text(out->rule, rule, strlen(rule));
	put_text(out->reason, reason, strlen(reason));
}

/* One obligation: an object with one member, or several. */
static bool
take_obligation(const struct value *key, const struct value *v,
    struct policy_decision *out)
{
	static const struct {
		const char *name;
		size_t offset;
	} numbers[] = {
		{ "max_bytes", offsetof(struct policy_decision, max_bytes) },
		{ "cost", offsetof(struct policy_decision, cost) },
		{ "ttl_s", offsetof(struct policy_decision, ttl_s) },
		{ "uses", offsetof(struct policy_decision, uses) }
	};
	int64_t *to, n;
	size_t i;

	if (value_is_text(key, "redact") && v->kind == VALUE_BOOL) {
		out->redact = v->truth;
		return true;
	}
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!value_is_text(key, numbers[i].name) ||
		    v->kind != VALUE_NUMBER || !num_to_int64(v, &n) || n < 0)
			continue;
		to = (int64_t *)(void *)((char *)out + numbers[i].offset);
		/* Said twice: the smaller one; the larger cost. */
		if (*to < 0 || (strcmp(numbers[i].name, "cost") == 0 ?
		    n > *to : n < *to))
			*to = n;
		return true;
	}
	return false;
}

static bool
take_obligations(struct arena *arena, const struct value *list,
    struct policy_decision *out)
{
	const struct value *o;
	uint32_t i, k;

	if (list == NULL)
		return true;
	if (list->kind != VALUE_ARRAY && list->kind != VALUE_SET) {
		decision_deny(out, "engine/obligations", "the policy's "
		    "obligations are not a list");
		return false;
	}
	value_sort(arena, list);
	for (i = 0; i < list->col.n; i++) {
		o = list->col.items[i];
		if (o->kind != VALUE_OBJECT) {
			decision_deny(out, "engine/obligations",
			    "an obligation of the policy is not an object");
			return false;
		}
		value_sort(arena, o);
		for (k = 0; k < o->col.n; k++) {
			char why[200];
			const struct value *key = value_key_at(o, k);

			if (take_obligation(key, value_at(o, k), out))
				continue;
			snprintf(why, sizeof(why), "the policy asks for an "
			    "obligation that is not understood: %.*s",
			    key->kind == VALUE_STRING ? (int)(key->str.n < 60 ?
			    key->str.n : 60) : 0, key->kind == VALUE_STRING ?
			    key->str.p : "");
			decision_deny(out, "engine/obligations", why);
			return false;
		}
	}
	return true;
}

static bool
take_verdict(const struct value *v, struct policy_decision *out)
{
	if (value_is_text(v, "allow"))
		out->verdict = POLICY_ALLOW;
	else if (value_is_text(v, "ask"))
		out->verdict = POLICY_ASK;
	else if (!value_is_text(v, "deny"))
		return false;
	return true;
}

static bool
known_member(const struct value *key)
{
	return value_is_text(key, "decision") || value_is_text(key, "reason") ||
	    value_is_text(key, "rule") || value_is_text(key, "obligations");
}

void
decision_from_value(struct arena *arena, const struct value *result,
    struct policy_decision *out)
{
	const struct value *reason, *rule;
	uint32_t i;

	decision_clear(out);
	if (result == NULL || result->kind != VALUE_OBJECT) {
		decision_deny(out, "engine/type", result == NULL ?
		    "the policy has no decision for this (undefined)" :
		    "the policy's decision is not an object");
		return;
	}
	value_sort(arena, result);
	for (i = 0; i < result->col.n; i++) {
		if (known_member(value_key_at(result, i)))
			continue;
		decision_deny(out, "engine/type", "the policy's decision has "
		    "a member that is not understood");
		return;
	}
	reason = value_member(result, "reason");
	rule = value_member(result, "rule");
	if (!take_verdict(value_member(result, "decision"), out) ||
	    reason == NULL || reason->kind != VALUE_STRING ||
	    (rule != NULL && rule->kind != VALUE_STRING)) {
		decision_deny(out, "engine/type", "the policy's decision lacks "
		    "decision (allow, deny, ask) or reason");
		return;
	}
	if (!take_obligations(arena, value_member(result, "obligations"),
	    out))
		return;
	put_text(out->reason, reason->str.p, reason->str.n);
	if (rule != NULL)
		put_text(out->rule, rule->str.p, rule->str.n);
}

/* --- as a text that can be kept ----------------------------------------- */

struct in_short {
	enum policy_verdict verdict;
	bool redact;
	int64_t max_bytes, cost, ttl_s, uses;
	size_t rule_len, reason_len;	/* their bytes follow, in this order */
};

const struct value *
decision_in_short(struct arena *arena, const struct policy_decision *d)
{
	struct in_short head = { d->verdict, d->redact, d->max_bytes, d->cost,
	    d->ttl_s, d->uses, strlen(d->rule), strlen(d->reason) };
	size_t len = sizeof(head) + head.rule_len + head.reason_len;
	char *p = arena_alloc(arena, len);

	memcpy(p, &head, sizeof(head));
	memcpy(p + sizeof(head), d->rule, head.rule_len);
	memcpy(p + sizeof(head) + head.rule_len, d->reason, head.reason_len);
	return value_string(arena, p, len);
}

void
decision_from_short(const struct value *text, struct policy_decision *out)
{
	const char *p = text->str.p;
	struct in_short head;

	memcpy(&head, p, sizeof(head));
	decision_clear(out);
	out->verdict = head.verdict;
	out->redact = head.redact;
	out->max_bytes = head.max_bytes;
	out->cost = head.cost;
	out->ttl_s = head.ttl_s;
	out->uses = head.uses;
	memcpy(out->rule, p + sizeof(head), head.rule_len);
	out->rule[head.rule_len] = '\0';
	memcpy(out->reason, p + sizeof(head) + head.rule_len, head.reason_len);
	out->reason[head.reason_len] = '\0';
}

/* --- running an evaluation ---------------------------------------------- */

static const struct value *
the_result(const struct eval *eval)
{
	if (eval->results->col.n != 1)
		return NULL;
	return value_member(eval->results->col.items[0], "result");
}

enum eval_status
decision_run(struct eval *eval, const struct plan_func *entry,
    struct policy_decision *out)
{
	static const char *const rules[] = {
		"", "engine/builtin", "engine/builtin", "engine/conflict",
		"engine/limit"
	};
	enum eval_status status = eval_run(eval, entry);
	char why[POLICY_TEXT_MAX];

	if (status == EVAL_OK) {
		decision_from_value(eval->arena, the_result(eval), out);
		return status;
	}
	snprintf(why, sizeof(why), "the policy failed: %s",
	    eval->arena->message);
	decision_deny(out, rules[status], why);
	return status;
}
