#include "gate/passage.h"

#include "gate/budget.h"
#include "gate/delegation.h"
#include "gate/input.h"
#include "gate/words.h"
#include "redact/redact.h"

#include <stdio.h>

/* --- refusing -------------------------------------------------------- */

bool
passage_refuse(struct passage *p, unsigned status, const char *rule,
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
		return passage_refuse(p, proxy ? 407 : 401, "run/unknown",
		    "the request shows no token of an open run (tokens do not outlive a run or a restart)",
		    "start the command with `countersign run -- ...`, or send the run's token in Proxy-Authorization");
	if (!run_open_p(p->run))
		return passage_refuse(p, 403, "run/closed", "the run is closed",
		    "start a new run");
	if (!gate_run_admits(p->run, &p->request->peer))
		return passage_refuse(p, 403, "run/foreign-process",
		    "the run's token came from a process outside the run",
		    "use it in the run's own processes only");
	if (delegation_over(p->run))
		return passage_refuse(p, 403, "delegation/expired",
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
		return passage_refuse(p, carried->status, carried->rule,
		    carried->reason, carried->remedy);
	if (carried->credential == NULL && p->request->only != NULL &&
	    p->run != NULL)
		return passage_refuse(p, 401, "credential/missing",
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

	return wrong == NULL || passage_refuse(p, 400, "http/escaped-slash", wrong,
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
	return rule == NULL || passage_refuse(p, 403, rule, reason,
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
		return passage_refuse(p, 503, "vault/unavailable",
		    "the current version of the binding's secret is revoked, and an older one does not come back",
		    "have the operator store another with `countersign secret rotate`");
	if (result == SECRETS_SHORT)
		return passage_refuse(p, 503, "vault/unavailable",
		    "the binding's secret is too short to be told from ordinary text in an answer, so it is not used",
		    "have the service issue a longer one and store it with `countersign secret rotate`");
	if (result == SECRETS_NO_KEY)
		return passage_refuse(p, 503, "vault/unavailable",
		    "the binding's requests are signed, and its secret is no key for that",
		    "store it as aws:KEY-ID:SECRET-KEY, or with :SESSION-TOKEN behind, with `countersign secret rotate`");
	if (result == SECRETS_NO_TOKEN)
		return passage_refuse(p, 503, "secret/no-token",
		    "the binding's secret is for getting tokens, and there is none now",
		    "`countersign secret list` says why; ask again in a moment");
	if (result != SECRETS_TAKEN)
		return passage_refuse(p, 503, "vault/unavailable",
		    "the vault has no usable version of the binding's secret",
		    "store it with `countersign secret put` or `secret rotate`");
	out->binding = p->carried.binding;
	input_binding(&p->input, out->binding, out->version);
	return true;
}

static bool
over_budget(struct passage *p, const char *rule, const char *what, const char *remedy)
{
	return passage_refuse(p, 429, rule, what, remedy);
}

static bool
budget_step(struct passage *p)
{
	const struct policy_budget *pack =
	    bindings_limits(p->out->rules->bindings);
	const struct binding *binding = p->carried.binding;
	int64_t body = p->request->body_len >= 0 ? p->request->body_len : 1;

	if (!budget_wall_ok(p->run, pack))
		return over_budget(p, "budget/wall", "the run's time is over",
		    GATE_BUDGET_REMEDY("--budget-time", "wall_ms"));
	/* Of what is not known beforehand there is a byte at least, most likely. */
	if (body != 0 && !budget_fits(p->run, pack, BUDGET_BYTES_OUT, body))
		return over_budget(p, "budget/bytes-out",
		    "the body is larger than what the run may still send",
		    GATE_BUDGET_REMEDY("--budget-bytes", "bytes_out"));
	if (!budget_spend(p->run, pack, BUDGET_REQUESTS, 1))
		return over_budget(p, "budget/requests",
		    "the run has used all its requests",
		    GATE_BUDGET_REMEDY("--budget-requests", "requests"));
	p->counted = true;
	if (binding == NULL || binding->max_requests < 0)
		return true;
	p->counted_binding = allowance_spend(p->run, binding->id,
	    binding->max_requests);
	if (!p->counted_binding)
		return over_budget(p, "budget/binding-requests",
		    "the run has used all its requests to this binding",
		    "close the run and open another, or have the binding made with more (`bind --requests`)");
	return true;
}

static enum approval_answer
answer_to(struct passage *p)
{
	const struct policy_decision *decision = p->judged;
	const struct binding *binding = p->carried.binding;
	const int len = words_input(p->thread, p->run, &p->input, false);
	char action[HEAD_METHOD_MAX + 8];
	const struct approval_question question = { .run = p->run,
	    .action = action, .target = p->request->target,
	    .query = p->carried.query, .rule = decision->rule,
	    .reason = decision->reason, .input = p->thread->input,
	    .input_len = len > 0 ? (size_t)len : 0,
	    .secret = binding != NULL ? binding->secret : NULL,
	    .binding = binding != NULL ? binding->id : NULL,
	    .policy = p->out->rules->digest };

	if (len <= 0)
		return APPROVAL_UNWRITABLE;
	if (p->request->kind == GATE_CONNECT)
		snprintf(action, sizeof(action), "connect");
	else if (p->request->websocket)
		snprintf(action, sizeof(action), "websocket");
	else
		snprintf(action, sizeof(action), "http:%.*s",
		    (int)p->request->method.n, p->request->method.p);
	return approvals_ask(p->gate, &question, p->out->question, &p->consent);
}

/* The policy leaves it to a person.  Who agreed to a grant agreed to its uses. */
static bool
ask_step(struct passage *p)
{
	enum approval_answer answer;
	const struct approval_no *no;

	p->person = p->grant != NULL && p->grant->approved;
	if (p->person)
		return true;
	answer = answer_to(p);
	p->person = answer == APPROVAL_GIVEN || answer == APPROVAL_DENIED;
	p->out->held = answer == APPROVAL_WAITING;
	if (answer == APPROVAL_GIVEN || answer == APPROVAL_WAITING)
		return answer == APPROVAL_GIVEN;
	no = approvals_no(answer);
	return passage_refuse(p, no->status, no->rule, no->reason, no->remedy);
}

/* What is to be done about a denial.  A host that nobody has spoken of is the
 * usual first one. */
static const char *
denial_remedy(const struct policy_decision *decision)
{
	if (strcmp(decision->rule, "egress/default") == 0)
		return "have the operator let the host through (`countersign egress allow`) or bind a secret to it (`countersign bind`)";
	return "see `countersign bindings` for what a binding allows; the operator's `countersign policy explain` says why";
}

static bool
policy_step(struct passage *p)
{
	struct policy_decision *decision = &p->thread->decision;
	struct gate_verdict *out = p->out;

	budget_used_again(p->run, &p->input.budget);	/* with this request */
	gate_judge(p->thread, out->rules, &p->input, decision);
	p->judged = decision;
	if (decision->failed)
		return passage_refuse(p, 503, decision->rule, decision->reason,
		    "nothing was sent; see that the policy server runs and answers in time");
	if (decision->verdict == POLICY_DENY)
		return passage_refuse(p, 403, decision->rule[0] != '\0' ?
		    decision->rule : "policy/deny", decision->reason,
		    denial_remedy(decision));
	if (!delegation_covers(p->run, &p->input))
		return passage_refuse(p, 403, "delegation/scope",
		    "the run was opened for less than this",
		    "ask the run above, or have it open one with more scopes");
	out->max_bytes = decision->max_bytes;
	if (out->max_bytes >= 0 && p->request->body_len > out->max_bytes)
		return passage_refuse(p, 413, "policy/max-bytes",
		    "the body is larger than the policy allows here",
		    "send less");
	if (decision->cost > 0 && !budget_spend(p->run,
	    bindings_limits(out->rules->bindings), BUDGET_COST,
	    decision->cost))
		return over_budget(p, "budget/cost",
		    "the request costs more than the run has left",
		    GATE_BUDGET_REMEDY("--budget-cost", "cost"));
	p->cost = decision->cost > 0 ? decision->cost : 0;
	gate_text_copy(out->rule, sizeof(out->rule), decision->rule);
	gate_text_copy(out->reason, sizeof(out->reason), decision->reason);
	if (!decision->redact) {
		redact_needles_unref(out->needles);
		out->needles = NULL;
	}
	return decision->verdict == POLICY_ALLOW || ask_step(p);
}

/* The last step that can refuse: of many at once, one request a use. */
static bool
spend_step(struct passage *p)
{
	if (p->grant == NULL)
		return true;
	if (!grant_spend(p->grant))
		return passage_refuse(p, 403, "grant/replayed",
		    "its requests are spent; a grant's token is never valid again",
		    "ask for a new grant");
	atomic_fetch_add(&p->gate->grants_redeemed, 1);
	return true;
}

/* The policy may have taken its time; a run that was closed meanwhile has its last
 * record, or waits for it no longer. */
static bool
still_open_step(struct passage *p)
{
	return run_open_p(p->run) || passage_refuse(p, 403, "run/closed",
	    "the run was closed meanwhile", "start a new run");
}

bool
passage_go(struct passage *p)
{
	/* What the request carries is looked at before anything else, so that
	 * a replay after a restart is named as one. */
	return credential_step(p) && run_step(p) && path_step(p) && grant_step(p) &&
	    secret_step(p) && budget_step(p) && policy_step(p) &&
	    still_open_step(p) && spend_step(p);
}
