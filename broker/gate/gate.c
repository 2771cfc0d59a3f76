#include "gate/gate.h"

#include "gate/budget.h"
#include "gate/carried.h"
#include "gate/delegation.h"
#include "gate/impl.h"
#include "gate/input.h"
#include "gate/words.h"
#include "policy/opa/opa.h"
#include "redact/redact.h"

#include <stdio.h>
#include <stdlib.h>

/* One request on its way through the gate. */
struct passage {
	struct gate *gate;
	struct gate_thread *thread;
	const struct gate_request *request;
	struct run *run;		/* request->run; may be NULL */
	struct gate_verdict *out;
	struct carried carried;
	struct grant *grant;		/* of carried; not counted again */
	struct policy_input input;
	const struct policy_decision *judged;	/* by the engine; NULL: not asked */
	bool later;			/* nothing is decided: it would have to wait */
	bool have_input, counted;	/* counted: a request is booked, */
	bool counted_binding;		/* and one to the binding, which is limited */
	int64_t cost;			/* booked */
	const char *decision;		/* for the record: "allow", "deny", "ask" */
};

/* --- refusing -------------------------------------------------------- */

static bool
refuse(struct passage *p, unsigned status, const char *rule,
    const char *reason, const char *remedy)
{
	struct gate_verdict *out = p->out;

	out->allow = false;
	out->status = status;
	gate_text_copy(out->rule, sizeof(out->rule), rule);
	gate_text_copy(out->reason, sizeof(out->reason), reason);
	gate_text_copy(out->remedy, sizeof(out->remedy), remedy);
	return false;
}

/* --- the steps, in order; each refuses or lets pass ------------------- */

static bool
run_step(struct passage *p)
{
	bool proxy = strcmp(p->request->route, "reverse") != 0;

	if (p->run == NULL)
		return refuse(p, proxy ? 407 : 401, "run/unknown",
		    "the request shows no token of an open run (tokens do not outlive a run or a restart)",
		    "start the command with `countersign run -- ...`, or send the run's token in Proxy-Authorization");
	if (!run_open_p(p->run))
		return refuse(p, 403, "run/closed", "the run is closed",
		    "start a new run");
	if (!gate_run_admits(p->run, &p->request->peer))
		return refuse(p, 403, "run/foreign-process",
		    "the run's token came from a process outside the run",
		    "use it in the run's own processes only");
	if (delegation_over(p->run))
		return refuse(p, 403, "delegation/expired",
		    "the time for which the run was opened is over",
		    "have the run above open another");
	return true;
}

static bool
credential_step(struct passage *p)
{
	struct carried *carried = &p->carried;

	carried_find(p->gate, p->thread, p->request, p->out->rules, carried);
	if (p->request->target != NULL)
		input_target(&p->input, p->request->target, carried->query);
	if (carried->status != 0)
		return refuse(p, carried->status, carried->rule,
		    carried->reason, carried->remedy);
	if (carried->credential == NULL && p->request->only != NULL &&
	    p->run != NULL)
		return refuse(p, 401, "credential/missing",
		    "the reverse route needs the binding's placeholder or a grant's token where the credential goes",
		    "send the value of the binding's variable in the run's environment");
	return true;
}

static bool
path_step(struct passage *p)
{
	const char *wrong = p->request->target == NULL ? NULL :
	    bindings_path_refusal(p->out->rules->bindings, p->carried.binding != NULL ?
	    p->carried.binding : p->request->only, p->request->target);

	return wrong == NULL || refuse(p, 400, "http/escaped-slash", wrong,
	    "have the operator bind the host with `countersign bind ... --escaped-slash` if the service wants such paths");
}

static bool
grant_step(struct passage *p)
{
	struct gate_verdict *out = p->out;
	const char *rule, *reason = "";

	if (p->carried.credential == NULL)
		return true;
	p->grant = grant_of(p->carried.credential);
	if (p->grant == NULL)
		return true;
	gate_text_copy(out->grant, sizeof(out->grant), p->grant->id);
	input_grant(&p->input, p->grant);
	rule = grant_usable(p->grant, &p->request->peer, &reason);
	if (rule == NULL)
		rule = grant_covers(p->grant, p->request->method,
		    p->request->target, p->carried.query, &reason);
	if (rule == NULL &&
	    strcmp(p->grant->secret, p->carried.binding->secret) != 0) {
		rule = "grant/binding-changed";
		reason = "the binding has another secret than when the grant was given";
	}
	return rule == NULL || refuse(p, 403, rule, reason,
	    "ask for a grant for exactly this request");
}

static bool
secret_step(struct passage *p)
{
	struct gate_verdict *out = p->out;
	enum secrets_result result;

	if (p->carried.binding == NULL)
		return true;
	result = gate_secret_take(p->gate, out->rules, p->carried.binding,
	    p->request->now, &out->secret, &out->needles, &out->version);
	p->later = result == SECRETS_LATER;
	if (p->later)
		return false;
	if (result == SECRETS_REVOKED)
		return refuse(p, 503, "vault/unavailable",
		    "the current version of the binding's secret is revoked, and an older one does not come back",
		    "have the operator store another with `countersign secret rotate`");
	if (result != SECRETS_TAKEN)
		return refuse(p, 503, "vault/unavailable",
		    "the vault has no usable version of the binding's secret",
		    "store it with `countersign secret put` or `secret rotate`");
	out->binding = p->carried.binding;
	input_binding(&p->input, out->binding, out->version);
	return true;
}

static bool
over_budget(struct passage *p, const char *rule, const char *what)
{
	return refuse(p, 429, rule, what,
	    "close the run and open another, or raise the limit");
}

static bool
budget_step(struct passage *p)
{
	const struct policy_budget *pack =
	    bindings_limits(p->out->rules->bindings);
	const struct binding *binding = p->carried.binding;
	int64_t body = p->request->body_len >= 0 ? p->request->body_len : 1;

	if (!budget_wall_ok(p->run, pack))
		return over_budget(p, "budget/wall", "the run's time is over");
	/* Of what is not known beforehand there is a byte at least, most likely. */
	if (body != 0 && !budget_fits(p->run, pack, BUDGET_BYTES_OUT, body))
		return over_budget(p, "budget/bytes-out",
		    "the body is larger than what the run may still send");
	if (!budget_spend(p->run, pack, BUDGET_REQUESTS, 1))
		return over_budget(p, "budget/requests",
		    "the run has used all its requests");
	p->counted = true;
	if (binding == NULL || binding->max_requests < 0)
		return true;
	p->counted_binding = allowance_spend(p->run, binding->id,
	    binding->max_requests);
	if (!p->counted_binding)
		return over_budget(p, "budget/binding-requests",
		    "the run has used all its requests to this binding");
	return true;
}

/* A person's answer is awaited here once there is somebody to ask. */
static bool
ask_step(struct passage *p, const struct policy_decision *decision)
{
	p->decision = "ask";
	return refuse(p, 403, "ask/no-approver", decision->reason[0] != '\0' ?
	    decision->reason : "the policy wants a person's consent",
	    "nobody can be asked yet: have the policy allow it, or do it by hand");
}

/* What is to be done about a denial.  A host that nobody has spoken of is the
 * usual first one. */
static const char *
denial_remedy(const struct policy_decision *decision)
{
	if (strcmp(decision->rule, "egress/default") == 0)
		return "have the operator let the host through (`countersign egress allow`) or bind a secret to it (`countersign bind`)";
	return "see `countersign policy eval --trace`, or `countersign bindings` for what a binding allows";
}

static bool
policy_step(struct passage *p)
{
	struct policy_decision *decision = &p->thread->decision;
	struct gate_verdict *out = p->out;

	budget_used_again(p->run, &p->input.budget);	/* with this request */
	gate_judge(p->thread, out->rules, &p->input, decision);
	p->judged = decision;
	if (decision->verdict == POLICY_ASK)
		return ask_step(p, decision);
	if (decision->failed)
		return refuse(p, 503, decision->rule, decision->reason,
		    "nothing was sent; see that the policy server runs and answers in time");
	if (decision->verdict != POLICY_ALLOW)
		return refuse(p, 403, decision->rule[0] != '\0' ?
		    decision->rule : "policy/deny", decision->reason,
		    denial_remedy(decision));
	if (!delegation_covers(p->run, &p->input))
		return refuse(p, 403, "delegation/scope",
		    "the run was opened for less than this",
		    "ask the run above, or have it open one with more scopes");
	out->max_bytes = decision->max_bytes;
	if (out->max_bytes >= 0 && p->request->body_len > out->max_bytes)
		return refuse(p, 413, "policy/max-bytes",
		    "the body is larger than the policy allows here",
		    "send less");
	if (decision->cost > 0 && !budget_spend(p->run,
	    bindings_limits(out->rules->bindings), BUDGET_COST,
	    decision->cost))
		return over_budget(p, "budget/cost",
		    "the request costs more than the run has left");
	p->cost = decision->cost > 0 ? decision->cost : 0;
	gate_text_copy(out->rule, sizeof(out->rule), decision->rule);
	gate_text_copy(out->reason, sizeof(out->reason), decision->reason);
	if (!decision->redact) {
		redact_needles_unref(out->needles);
		out->needles = NULL;
	}
	return true;
}

/* The last step that can refuse: of many at once, one request a use. */
static bool
spend_step(struct passage *p)
{
	if (p->grant == NULL)
		return true;
	if (!grant_spend(p->grant))
		return refuse(p, 403, "grant/replayed",
		    "its requests are spent; a grant's token is never valid again",
		    "ask for a new grant");
	atomic_fetch_add(&p->gate->grants_redeemed, 1);
	return true;
}

/* --- the record ------------------------------------------------------ */

static const struct ledger_receipt *
parent_of(const struct passage *p)
{
	if (p->grant != NULL)
		return &p->grant->receipt;
	return p->run != NULL ? &p->run->receipt : NULL;
}

static int
word(struct passage *p, bool with_input)
{
	struct gate_verdict *out = p->out;
	struct words_decision what = {
		.decision = out->allow ? "allow" : p->decision,
		.rule = out->rule, .reason = out->reason,
		.remedy = out->allow ? NULL : out->remedy,
		.status = out->allow ? 0 : out->status,
		.kind = p->request->kind == GATE_CONNECT ? "connect" : "http",
		.route = p->request->route,
		.grant = out->grant,
		.parent = parent_of(p),
		.peer = &p->request->peer,
		.input = with_input ? &p->input : NULL,
		.tainted = p->carried.tainted,
		.judged = p->judged,
	};

	return words_decision(p->thread, p->run, &what, out->record,
	    sizeof(out->record));
}

/* What cannot be recorded cannot be allowed. */
static void
record_step(struct passage *p)
{
	struct gate_verdict *out = p->out;
	int len = word(p, p->have_input);

	if (len < 0) {
		if (out->allow)
			refuse(p, 400, "record/unwritable",
			    "the request is too long for a record, or not UTF-8",
			    "shorten the path");
		len = word(p, false);
	}
	out->tainted = p->carried.tainted;
	out->record_len = len > 0 ? (size_t)len : 0;
	out->record_type = !out->allow ? "refusal" :
	    out->binding != NULL ? "use" : "decision";
}

/* --- interface ------------------------------------------------------- */

static void
verdict_begin(struct gate *gate, struct rules *held, struct gate_verdict *out)
{
	out->allow = out->tainted = false;
	out->status = 0;
	out->rule[0] = out->reason[0] = out->remedy[0] = '\0';
	out->rules = gate_rules_now(gate, held);
	out->binding = NULL;
	out->secret = NULL;
	out->needles = NULL;
	out->version = 0;
	out->grant[0] = '\0';
	out->max_bytes = -1;
	out->record_type = "refusal";
	out->record_len = 0;
	out->record[0] = '\0';
}

static void
drop_credential(struct gate_verdict *out)
{
	secret_unref(out->secret);
	redact_needles_unref(out->needles);
	out->secret = NULL;
	out->needles = NULL;
	out->binding = NULL;
}

/* A refused request has used nothing. */
static void
give_back(struct passage *p)
{
	if (p->counted)
		budget_return(p->run, BUDGET_REQUESTS, 1);
	if (p->cost > 0)
		budget_return(p->run, BUDGET_COST, p->cost);
	if (p->counted_binding)
		allowance_return(p->run, p->carried.binding->id);
}

static void
tally(struct passage *p)
{
	bool allow = p->out->allow;

	atomic_fetch_add_explicit(allow ? &p->gate->allowed :
	    &p->gate->refused, 1, memory_order_relaxed);
	if (p->run == NULL)
		return;
	atomic_fetch_add_explicit(allow ? &p->run->allowed : &p->run->refused,
	    1, memory_order_relaxed);
	if (p->request->was_allowed)	/* counted once, as what it came to */
		atomic_fetch_sub(&p->run->allowed, 1);
}

static void
input_start(struct passage *p)
{
	const struct gate_request *request = p->request;

	input_begin(&p->input);
	input_run(&p->input, p->run);
	input_peer(&p->input, &request->peer);
	p->input.action.kind = input_text(request->kind == GATE_CONNECT ?
	    "connect" : "http");
	p->input.action.verb = (struct policy_str){ request->method.p,
	    request->method.n };
	p->input.adapter = input_text("proxy");
	p->have_input = true;
}

/* The policy may have taken its time; a run that was closed meanwhile has its last
 * record, or waits for it no longer. */
static bool
still_open_step(struct passage *p)
{
	return run_open_p(p->run) || refuse(p, 403, "run/closed",
	    "the run was closed meanwhile", "start a new run");
}

static bool
pass(struct passage *p)
{
	/* What the request carries is looked at before anything else, so that
	 * a replay after a restart is named as one. */
	return credential_step(p) && run_step(p) && path_step(p) && grant_step(p) &&
	    secret_step(p) && budget_step(p) && policy_step(p) &&
	    still_open_step(p) && spend_step(p);
}

/* It was only looked at so far: nothing is booked, spent or to be recorded. */
static bool
put_off(struct passage *p)
{
	carried_release(&p->carried);
	gate_verdict_release(p->out);
	gate_outcome_done(p->run);
	return false;
}

bool
gate_decide(struct gate *gate, struct gate_thread *thread,
    const struct gate_request *request, struct gate_verdict *out)
{
	struct passage p = { .gate = gate, .thread = thread,
	    .request = request, .run = request->run, .out = out,
	    .decision = "deny" };

	verdict_begin(gate, request->rules, out);
	input_start(&p);
	gate_run_hold(p.run);	/* before it is looked at: see there */
	out->allow = pass(&p);
	if (p.later)
		return put_off(&p);
	record_step(&p);
	if (!out->allow) {
		give_back(&p);
		drop_credential(out);
		gate_outcome_done(p.run);
	}
	tally(&p);
	carried_release(&p.carried);
	return true;
}

void
gate_verdict_release(struct gate_verdict *verdict)
{
	drop_credential(verdict);
	rules_unref(verdict->rules);
	verdict->rules = NULL;
}

void
gate_refuse(struct gate *gate, const struct gate_request *request,
    unsigned status, const char *rule, const char *reason, const char *remedy,
    struct gate_verdict *out)
{
	struct words_decision what = { .decision = "deny", .rule = rule,
	    .reason = reason, .remedy = remedy, .status = status,
	    .kind = request->kind == GATE_CONNECT ? "connect" : "http",
	    .route = request->route, .peer = &request->peer,
	    .parent = request->run != NULL ? &request->run->receipt : NULL };
	struct passage p = { .gate = gate, .request = request,
	    .run = request->run, .out = out };
	int len;

	verdict_begin(gate, request->rules, out);
	refuse(&p, status, rule, reason, remedy);
	what.place = request->target;
	len = words_decision(NULL, NULL, &what, out->record,
	    sizeof(out->record));
	out->record_len = len > 0 ? (size_t)len : 0;
	tally(&p);
}

int
gate_counted_record(const struct gate_counted *counted, const struct run *run,
    char *buf, size_t cap)
{
	return words_counted(counted, run, buf, cap);
}

int
gate_outcome_record(struct gate *gate, struct run *run,
    const struct gate_verdict *verdict, const struct gate_outcome *outcome,
    char *buf, size_t cap)
{
	if (run != NULL) {
		atomic_fetch_add_explicit(&run->redacted, outcome->redactions,
		    memory_order_relaxed);
		if (verdict->allow && outcome->failed) {
			atomic_fetch_sub(&run->allowed, 1);
			atomic_fetch_add(&run->failed, 1);
		}
	}
	return words_outcome(outcome, verdict->grant, buf, cap);
}

void
gate_run_hold(struct run *run)
{
	if (run != NULL)
		atomic_fetch_add(&run->in_flight, 1);
}

void
gate_outcome_done(struct run *run)
{
	if (run != NULL)
		atomic_fetch_sub(&run->in_flight, 1);
}

int64_t
gate_wall_left_ms(const struct rules *rules, const struct run *run)
{
	return budget_wall_left_ms(run, bindings_limits(rules->bindings));
}

bool
gate_spend_bytes(struct gate *gate, struct run *run, uint64_t bytes)
{
	struct rules *rules;
	bool fits;

	if (run == NULL || bytes > INT64_MAX)
		return false;
	rules = gate_rules(gate);
	fits = budget_spend(run, bindings_limits(rules->bindings),
	    BUDGET_BYTES_OUT, (int64_t)bytes);
	rules_unref(rules);
	return fits;
}

void
gate_return_bytes(struct run *run, uint64_t bytes)
{
	if (run != NULL && bytes > 0 && bytes <= INT64_MAX)
		budget_return(run, BUDGET_BYTES_OUT, (int64_t)bytes);
}

struct gate_thread *
gate_thread_new(struct gate *gate)
{
	struct gate_thread *thread = calloc(1, sizeof(*thread));

	if (thread == NULL)
		return NULL;
	thread->gate = gate;
	thread->scratch = policy_scratch_new();
	if (gate->opa != NULL)
		thread->opa = opa_link_new(gate->opa);
	if (thread->scratch == NULL ||
	    (gate->opa != NULL && thread->opa == NULL)) {
		gate_thread_free(thread);
		return NULL;
	}
	return thread;
}

void
gate_thread_free(struct gate_thread *thread)
{
	if (thread == NULL)
		return;
	policy_scratch_free(thread->scratch);
	opa_link_free(thread->opa);
	free(thread);
}

void
gate_on_revoke(struct gate *gate,
    void (*cut)(void *arg, const struct gate_cut *what), void *arg)
{
	pthread_rwlock_wrlock(&gate->lock);
	gate->cut = cut;
	gate->cut_arg = arg;
	pthread_rwlock_unlock(&gate->lock);
}
