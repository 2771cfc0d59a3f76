/* The rules in force: other ones take their place, on record. */
#include "gate/admin.h"

#include "gate/impl.h"
#include "ledger/record/json_out.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* What decides must be there when somebody looks at the evidence. */
int
rules_keep(struct gate *gate, const struct rules *rules, char *err, size_t err_len)
{
	return gate->packs_dir == NULL ? 0 : policy_pack_keep(rules->pack,
	    gate->packs_dir, err, err_len);
}

/* Streams of bindings that are gone or go elsewhere now. */
static void
cut_changed(struct gate *gate, const struct rules *before,
    const struct rules *after)
{
	for (size_t i = 0; i < bindings_count(before->bindings); i++) {
		const struct binding *old = bindings_at(before->bindings, i);
		const struct binding *new = bindings_by_id(after->bindings,
		    slice_of(old->id));

		if (new == NULL || !binding_same_place(old, new))
			gate_cut(gate, &(struct gate_cut){ .binding = old->id });
	}
}

static int
reload_record(struct ledger_port *port, const struct rules *before,
    const struct rules *after, const char *source, struct gate_problem *why)
{
	const char *revision = policy_pack_revision(after->pack);
	struct ledger_receipt receipt;
	struct json_out out;
	char body[1024];

	json_out_begin(&out, body, sizeof(body));
	json_out_object(&out, NULL);
	json_out_str(&out, "before", before->digest);
	json_out_str(&out, "after", after->digest);
	if (source != NULL)
		json_out_str(&out, "source", source);
	if (revision[0] != '\0')
		json_out_str(&out, "revision", revision);
	json_out_uint(&out, "bindings", bindings_count(after->bindings));
	json_out_object_end(&out);
	return gate_append_patient(port, "policy", NULL, before->digest, body,
	    json_out_end(&out), false, &receipt, why);
}

static struct rules *
rules_swap(struct gate *gate, struct rules *rules)
{
	struct rules *old;

	pthread_mutex_lock(&gate->rules_lock);
	old = gate->rules;
	gate->rules = rules;
	pthread_mutex_unlock(&gate->rules_lock);
	return old;
}

static int
reload_locked(struct gate *gate, struct ledger_port *port,
    struct rules *after, const char *source, struct gate_problem *why)
{
	struct rules *before = gate->rules;
	char err[GATE_WHY_MAX] = "";

	if (strcmp(before->digest, after->digest) == 0) {
		rules_unref(after);
		return 0;
	}
	/* The old one, too: its time says until when it was in force. */
	if (rules_keep(gate, before, err, sizeof(err)) == -1 ||
	    rules_keep(gate, after, err, sizeof(err)) == -1) {
		rules_unref(after);
		gate_problem_set(why, 503, "policy/not-kept", err,
		    "the pack in force stays; see that the place can be written");
		return -1;
	}
	if (reload_record(port, before, after, source, why) == -1) {
		rules_unref(after);
		return -1;
	}
	if (secrets_refresh(&gate->secrets, gate->vault, after) == -1) {
		rules_unref(after);
		return gate_no_memory(gate, why);
	}
	rules_swap(gate, after);
	cut_changed(gate, before, after);
	approvals_again(&gate->approvals);
	rules_unref(before);
	return 0;
}

int
gate_reload(struct gate *gate, struct ledger_port *port,
    char before[POLICY_DIGEST_LEN + 1], char after[POLICY_DIGEST_LEN + 1],
    struct gate_problem *why)
{
	char err[GATE_WHY_MAX] = "";
	struct rules *rules;
	int rv = -1;

	pthread_mutex_lock(&gate->admin);
	gate_text_copy(before, POLICY_DIGEST_LEN + 1, gate->rules->digest);
	rules = rules_load(gate->pack_path, err, sizeof(err));
	if (rules == NULL)
		gate_problem_set(why, 422, "policy/bad-pack", err,
		    "the pack in force stays; mend the new one and reload");
	else
		rv = reload_locked(gate, port, rules, NULL, why);
	if (rv == 0)
		atomic_store(&gate->pack_differs, false);
	gate_text_copy(after, POLICY_DIGEST_LEN + 1, gate->rules->digest);
	atomic_fetch_add(rv == 0 ? &gate->reloads : &gate->reloads_failed, 1);
	pthread_mutex_unlock(&gate->admin);
	return rv;
}

/* From now on a reload reads what was adopted. */
static void
note_path(struct gate *gate)
{
	char path[PATH_MAX], *copy;

	if (gate->packs_dir == NULL || snprintf(path, sizeof(path), "%s/%s",
	    gate->packs_dir, gate->rules->digest + 7) >= (int)sizeof(path) ||
	    (copy = strdup(path)) == NULL)
		return;
	free(gate->pack_path);
	gate->pack_path = copy;
}

int
gate_adopt(struct gate *gate, struct ledger_port *port,
    struct policy_pack *pack, const char *source, struct gate_problem *why)
{
	char err[GATE_WHY_MAX] = "";
	struct rules *rules;
	int rv = -1;

	pthread_mutex_lock(&gate->admin);
	rules = rules_of(pack, err, sizeof(err));
	if (rules == NULL)
		gate_problem_set(why, 422, "policy/bad-pack", err,
		    "the pack in force stays; mend the new one");
	else
		rv = reload_locked(gate, port, rules, source, why);
	if (rv == 0) {
		note_path(gate);
		atomic_store(&gate->pack_differs, false);
	}
	atomic_fetch_add(rv == 0 ? &gate->reloads : &gate->reloads_failed, 1);
	pthread_mutex_unlock(&gate->admin);
	return rv;
}

int
gate_pack_refused(struct gate *gate, struct ledger_port *port,
    const char *source, const char *rule, const char *reason,
    struct gate_problem *why)
{
	struct rules *rules = gate_rules(gate);
	struct ledger_receipt receipt;
	char body[2048];
	struct json_out out;
	int rv;

	json_out_begin(&out, body, sizeof(body));
	json_out_object(&out, NULL);
	json_out_str(&out, "before", rules->digest);
	json_out_str(&out, "refused", rule);
	json_out_str(&out, "reason", reason);
	json_out_str(&out, "source", source);
	json_out_object_end(&out);
	rv = gate_append(port, "policy", NULL, rules->digest, body,
	    json_out_end(&out), false, &receipt, why);
	rules_unref(rules);
	return rv;
}
