/* Decisions for adapters: a tool, a file, a name, a connection. */
#include "gate/admin.h"

#include "gate/budget.h"
#include "gate/delegation.h"
#include "gate/input.h"
#include "gate/words.h"

static void
deny(struct gate_answer *out, const char *rule, const char *reason)
{
	out->by_gate = true;
	out->verdict = POLICY_DENY;
	out->policy.verdict = POLICY_DENY;
	gate_text_copy(out->policy.rule, sizeof(out->policy.rule), rule);
	gate_text_copy(out->policy.reason, sizeof(out->policy.reason), reason);
}

/* Every text of an action that an agent chooses. */
#define TEXTS 11

static void
texts_of(const struct gate_action *action, struct policy_str out[TEXTS])
{
	const struct policy_str all[TEXTS] = { action->kind, action->verb,
	    action->name, action->args, action->scheme, action->host,
	    action->path, action->query, action->ip, action->agent_name,
	    action->agent_version };

	memcpy(out, all, sizeof(all));
}

/* A real secret in what an agent wants to do is a leak, whatever the policy
 * thinks of the rest. */
static bool
holds_secret(struct gate *gate, const struct gate_action *action)
{
	const struct sieve *sieve = secrets_hold(&gate->secrets);
	struct policy_str texts[TEXTS];
	bool found = false;

	texts_of(action, texts);
	for (size_t i = 0; i < TEXTS && !found; i++)
		found = texts[i].p != NULL && sieve_finds(sieve,
		    (struct slice){ texts[i].p, texts[i].n });
	found = found || sieve_finds_json(sieve,
	    (struct slice){ action->args.p, action->args.n });
	secrets_let_go(&gate->secrets);
	return found;
}

/* Our own tokens may occur in a command line; they are not written down. */
static bool
holds_token(const struct gate_action *action)
{
	struct policy_str texts[TEXTS];
	bool found = false;

	texts_of(action, texts);
	for (size_t i = 0; i < TEXTS && !found; i++)
		found = texts[i].n > 0 &&
		    (memmem(texts[i].p, texts[i].n, TOKEN_RUN, 5) != NULL ||
		    memmem(texts[i].p, texts[i].n, TOKEN_GRANT, 5) != NULL);
	return found;
}

static void
action_input(struct policy_input *out, struct run *run,
    const struct gate_action *action)
{
	input_begin(out);
	input_run(out, run);
	input_peer(out, &action->peer);
	out->action.kind = action->kind;
	out->action.verb = action->verb;
	out->action.name = action->name;
	out->action.args = action->args;
	out->target.scheme = action->scheme;
	out->target.host = action->host;
	out->target.path = action->path;
	out->target.query = action->query;
	out->target.ip = action->ip;
	out->target.port = action->port;
	if (action->agent_name.p != NULL)
		out->agent.name = action->agent_name;
	if (action->agent_version.p != NULL)
		out->agent.version = action->agent_version;
	out->adapter = action->adapter.p != NULL ? action->adapter :
	    input_text("api");
}

static void
judge(struct gate *gate, struct gate_thread *thread, struct run *run,
    const struct gate_action *action, const struct policy_input *input,
    struct gate_answer *out)
{
	struct rules *rules = out->record.rules;
	const struct policy_budget *pack = bindings_limits(rules->bindings);

	if (!run_open_p(run)) {
		deny(out, "run/closed", "the run is closed");
	} else if (!gate_run_admits(run, &action->peer)) {
		deny(out, "run/foreign-process",
		    "the caller is a process outside the run");
	} else if (holds_secret(gate, action)) {
		deny(out, "credential/raw-secret",
		    "the action holds a real secret, which no agent should have");
		out->record.status = 403;	/* the input must not be recorded */
	} else if (delegation_over(run)) {
		deny(out, "delegation/expired",
		    "the time for which the run was opened is over");
	} else if (!budget_wall_ok(run, pack)) {
		deny(out, "budget/wall", "the run's time is over");
	} else {
		gate_judge(thread, rules, input, &out->policy);
		out->verdict = out->policy.verdict;
		/* It may have taken its time, and the teardown waits no longer. */
		if (!run_open_p(run))
			deny(out, "run/closed", "the run was closed meanwhile");
		else if (out->verdict != POLICY_DENY &&
		    !delegation_covers(run, input))
			deny(out, "delegation/scope",
			    "the run was opened for less than this");
		else if (out->verdict == POLICY_ALLOW && out->policy.cost > 0 &&
		    !budget_spend(run, pack, BUDGET_COST, out->policy.cost))
			deny(out, "budget/cost",
			    "the action costs more than the run has left");
	}
}

static void
word(struct gate_thread *thread, struct run *run,
    const struct gate_action *action, const struct policy_input *input,
    struct gate_answer *out)
{
	static const char *const words[] = { "deny", "allow", "ask" };
	struct gate_verdict *record = &out->record;
	struct words_decision what = { .decision = words[out->verdict],
	    .rule = out->policy.rule, .reason = out->policy.reason,
	    .kind = "action", .route = "api", .parent = &run->receipt,
	    .peer = &action->peer, .judged = out->by_gate ? NULL : &out->policy,
	    .input = record->status == 0 ? input : NULL,
	    .tainted = holds_token(action) };
	int len;

	len = words_decision(thread, run, &what, record->record,
	    sizeof(record->record));
	if (len < 0) {
		/* What cannot be recorded cannot be allowed. */
		deny(out, "record/unwritable",
		    "the action is too long for a record, or not UTF-8");
		what.decision = "deny";
		what.judged = NULL;
		what.input = NULL;
		len = words_decision(thread, run, &what, record->record,
		    sizeof(record->record));
	}
	record->record_len = len > 0 ? (size_t)len : 0;
	record->record_type = out->verdict == POLICY_DENY ? "refusal" :
	    "decision";
	record->allow = out->verdict == POLICY_ALLOW;
	record->status = 200;
	gate_text_copy(record->rule, sizeof(record->rule), out->policy.rule);
	gate_text_copy(record->reason, sizeof(record->reason), out->policy.reason);
}

void
gate_decide_action(struct gate *gate, struct gate_thread *thread,
    struct run *run, const struct gate_action *action,
    struct gate_answer *out)
{
	struct policy_input input;

	memset(out, 0, sizeof(*out));
	out->policy.max_bytes = out->policy.cost = -1;
	out->policy.ttl_s = out->policy.uses = -1;
	out->policy.redact = true;
	out->record.max_bytes = -1;
	out->record.rules = gate_rules(gate);
	action_input(&input, run, action);
	judge(gate, thread, run, action, &input, out);
	word(thread, run, action, &input, out);
	atomic_fetch_add(&gate->decisions[out->verdict], 1);
}
