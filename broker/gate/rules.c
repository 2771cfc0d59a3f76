#include "gate/impl.h"
#include "home.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What would let runs start that can do nothing, or without the limits that
 * somebody set: NULL, or what is wrong. */
static const char *
lacks(const struct policy_pack *pack)
{
	if (!policy_pack_decides(pack))
		return "plan.json: there is no entry point "
		    "countersign/decision, which would deny everything";
	if (!policy_pack_has_data(pack))
		return "the policy pack has no data.json, so no bindings and no "
		    "limits: put it back (packs/ in the home keeps the packs that "
		    "were in force), or write {} if none are meant";
	return NULL;
}

struct rules *
rules_of(struct policy_pack *pack, char *err, size_t err_len)
{
	struct rules *rules = calloc(1, sizeof(*rules));
	char wrong[384] = "";
	const char *data;
	size_t len = 0;

	if (rules == NULL) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	if (lacks(pack) != NULL) {
		snprintf(err, err_len, "%s", lacks(pack));
		free(rules);
		return NULL;
	}
	atomic_init(&rules->refs, 1);
	rules->pack = policy_pack_ref(pack);
	data = policy_pack_data(pack, &len);
	rules->bindings = bindings_parse(data, len, wrong, sizeof(wrong));
	if (rules->bindings == NULL) {
		snprintf(err, err_len, "the policy pack's data.json: %s", wrong);
		rules_unref(rules);
		return NULL;
	}
	if (bindings_ask_heeded(rules->bindings, pack, err, err_len) == -1) {
		rules_unref(rules);
		return NULL;
	}
	snprintf(rules->digest, sizeof(rules->digest), "%s",
	    policy_pack_digest(pack));
	return rules;
}

struct rules *
rules_load(const char *path, char *err, size_t err_len)
{
	struct policy_pack *pack = NULL;
	struct rules *rules = NULL;

	if (home_check_owned(path, err, err_len) == 0)
		pack = policy_pack_load(path, err, err_len);
	if (pack != NULL)
		rules = rules_of(pack, err, err_len);
	policy_pack_unref(pack);
	return rules;
}

struct rules *
rules_ref(struct rules *rules)
{
	atomic_fetch_add_explicit(&rules->refs, 1, memory_order_relaxed);
	return rules;
}

void
rules_unref(struct rules *rules)
{
	if (rules == NULL || atomic_fetch_sub(&rules->refs, 1) != 1)
		return;
	policy_pack_unref(rules->pack);
	bindings_free(rules->bindings);
	free(rules);
}

struct rules *
gate_rules(struct gate *gate)
{
	struct rules *rules;

	pthread_mutex_lock(&gate->rules_lock);
	rules = rules_ref(gate->rules);
	pthread_mutex_unlock(&gate->rules_lock);
	return rules;
}

/* Rules that somebody holds are not freed, so no others stand at their place. */
struct rules *
gate_rules_now(struct gate *gate, struct rules *held)
{
	if (held != NULL && atomic_load(&gate->rules) == held)
		return rules_ref(held);
	return gate_rules(gate);
}

const struct bindings *
rules_bindings(const struct rules *rules)
{
	return rules->bindings;
}

const char *
rules_digest(const struct rules *rules)
{
	return rules->digest;
}
