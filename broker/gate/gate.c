#include "gate/gate.h"

#include "gate/budget.h"
#include "gate/input.h"
#include "gate/passage.h"
#include "gate/words.h"
#include "policy/opa/opa.h"
#include "redact/redact.h"

#include <stdlib.h>

/* --- the record ------------------------------------------------------ */

static const struct ledger_receipt *
parent_of(const struct passage *p)
{
	if (p->grant != NULL)
		return &p->grant->receipt;
	if (p->out->allow && p->person)
		return &p->consent;
	return p->run != NULL ? &p->run->receipt : NULL;
}

static int
word(struct passage *p, bool with_input)
{
	struct gate_verdict *out = p->out;
	struct words_decision what = {
		.decision = out->allow ? "allow" : "deny",
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
		.person = p->person,
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
			passage_refuse(p, 400, "record/unwritable",
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
	out->allow = out->held = out->tainted = false;
	out->status = 0;
	out->rule[0] = out->reason[0] = out->remedy[0] = '\0';
	out->rules = gate_rules_now(gate, held);
	out->binding = NULL;
	out->secret = NULL;
	out->needles = NULL;
	out->version = 0;
	out->grant[0] = out->question[0] = '\0';
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

/* It was only looked at so far: nothing is spent or to be recorded. */
static void
put_off(struct passage *p)
{
	give_back(p);
	carried_release(&p->carried);
	gate_verdict_release(p->out);
	gate_outcome_done(p->run);
}

/* The rules that decide may have come into force since the head was read: then the
 * route's binding is theirs, and goes where that went. */
static bool
one_snapshot(struct passage *p, struct gate_request *request)
{
	const struct binding *held = request->only, *now;

	if (held == NULL || p->out->rules == request->rules)
		return true;
	now = bindings_by_id(p->out->rules->bindings, slice_of(held->id));
	if (now == NULL || !binding_same_place(held, now))
		return passage_refuse(p, 503, "policy/reloaded",
		    "the route's binding was changed while the request was on its way",
		    "send it again");
	request->only = now;
	return true;
}

bool
gate_decide(struct gate *gate, struct gate_thread *thread,
    const struct gate_request *asked, struct gate_verdict *out)
{
	struct gate_request request = *asked;
	struct passage p = { .gate = gate, .thread = thread,
	    .request = &request, .run = request.run, .out = out };

	verdict_begin(gate, request.rules, out);
	input_start(&p);
	gate_run_hold(p.run);	/* before it is looked at: see there */
	out->allow = one_snapshot(&p, &request) && passage_go(&p);
	if (p.later || out->held) {
		put_off(&p);
		return !p.later;
	}
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
	passage_refuse(&p, status, rule, reason, remedy);
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
