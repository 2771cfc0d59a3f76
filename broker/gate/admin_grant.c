/* Issuing grants, looking at them, revoking them. */
#include "gate/admin.h"

#include "gate/budget.h"
#include "gate/delegation.h"
#include "gate/grant.h"
#include "gate/input.h"
#include "gate/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

/* One wish for a grant. */
struct wish {
	struct gate *gate;
	struct gate_thread *thread;
	struct run *run;
	const struct gate_grant_options *options;
	struct rules *rules;		/* referenced */
	struct grant *grant;		/* referenced */
	const struct binding *binding;
	struct policy_input input;
	struct policy_decision decision;
	bool judged;			/* decision is the engine's */
	struct policy_decision asked;	/* the first that leaves it to a person */
	int64_t ttl_s;
	struct ledger_receipt consent;	/* a person's, where there is one: */
	bool person;			/* somebody answered */
	struct gate_problem *why;
	struct grant_request requests[2];	/* the input points into them, */
	char name[48];				/* and here: "http:POST" */
	char paths[2 * TARGET_PATH_MAX + 256];
};

static int
no(struct wish *wish, unsigned status, const char *rule, const char *detail,
    const char *remedy)
{
	gate_problem_set(wish->why, status, rule, detail, remedy);
	return -1;
}

/* --- which binding --------------------------------------------------- */

static bool
named(const struct wish *wish, const struct binding *binding)
{
	return (wish->options->binding == NULL ||
	    strcmp(wish->options->binding, binding->id) == 0) &&
	    (wish->options->secret == NULL ||
	    strcmp(wish->options->secret, binding->secret) == 0);
}

static int
choose_binding(struct wish *wish)
{
	const struct binding *binding;
	const char *wrong;
	size_t cursor = 0;

	while ((binding = bindings_for(wish->rules->bindings,
	    &wish->grant->target, &cursor)) != NULL) {
		if (!named(wish, binding))
			continue;
		if (wish->binding != NULL)
			return no(wish, 409, "grant/ambiguous",
			    "several bindings cover the target",
			    "name one with \"binding\"");
		wish->binding = binding;
	}
	if (wish->binding == NULL)
		return no(wish, 403, "grant/no-binding",
		    "no such binding covers the target's scheme, host and port",
		    "see `countersign bindings`");
	wrong = bindings_path_refusal(wish->rules->bindings, wish->binding,
	    &wish->grant->target);
	if (wrong != NULL)
		return no(wish, 400, "http/escaped-slash", wrong,
		    "bind the host with `countersign bind ... --escaped-slash` if the service wants such paths");
	gate_text_copy(wish->grant->binding, sizeof(wish->grant->binding),
	    wish->binding->id);
	gate_text_copy(wish->grant->secret, sizeof(wish->grant->secret),
	    wish->binding->secret);
	return 0;
}

/* --- may it be ------------------------------------------------------- */

static int
peer_step(struct wish *wish)
{
	const struct policy_budget *pack =
	    bindings_limits(wish->rules->bindings);

	if (!run_open_p(wish->run))
		return no(wish, 403, "run/closed", "the run is closed",
		    "start a new run");
	if (!gate_run_admits(wish->run, &wish->options->peer))
		return no(wish, 403, "run/foreign-process",
		    "the caller is a process outside the run",
		    "ask from within the run");
	if (delegation_over(wish->run))
		return no(wish, 403, "delegation/expired",
		    "the time for which the run was opened is over",
		    "have the run above open another");
	if (!budget_wall_ok(wish->run, pack))
		return no(wish, 429, "budget/wall", "the run's time is over",
		    GATE_BUDGET_REMEDY("--budget-time", "wall_ms"));
	if (!budget_fits(wish->run, pack, BUDGET_REQUESTS, 1))
		return no(wish, 429, "budget/requests",
		    "the run has used all its requests",
		    GATE_BUDGET_REMEDY("--budget-requests", "requests"));
	return 0;
}

static int64_t
first_of(int64_t asked, int64_t policy, int64_t otherwise)
{
	if (asked > 0)
		return asked;
	return policy > 0 ? policy : otherwise;
}

static void
terms(struct wish *wish)
{
	const struct binding_grant *usual =
	    bindings_grant(wish->rules->bindings);
	struct grant *grant = wish->grant;
	int64_t ttl_s = first_of(wish->options->ttl_s, wish->decision.ttl_s,
	    usual->ttl_s);

	if (ttl_s > GRANT_TTL_MAX_S)
		ttl_s = GRANT_TTL_MAX_S;
	grant->uses = first_of(wish->options->uses, wish->decision.uses,
	    usual->uses);
	if (grant->uses > GRANT_USES_MAX)
		grant->uses = GRANT_USES_MAX;
	atomic_store(&grant->left, grant_requests_for(grant, grant->uses));
	wish->ttl_s = ttl_s;
	grant->expires_ns = clock_boot_ns() + ttl_s * 1000000000;
	grant->expires_s = clock_wall_ns() / 1000000000 + ttl_s;
	grant->peer = wish->options->peer;
	grant->credential.run = wish->run;
}

/* What is to be agreed to is the whole grant: how often and how long belong to it. */
static void
grant_text(const struct wish *wish, char *out, size_t cap)
{
	snprintf(out, cap, "grant %s, %" PRId64 " use%s within %" PRId64 " s",
	    wish->options->action, wish->grant->uses,
	    wish->grant->uses == 1 ? "" : "s", wish->ttl_s);
}

static int
ask_person(struct wish *wish)
{
	const int len = words_input(wish->thread, wish->run, &wish->input, false);
	const struct target *target = &wish->grant->target;
	char action[128], id[GATE_ID_MAX], text[GATE_WHY_MAX];
	const struct approval_question question = { .run = wish->run,
	    .action = action, .target = target,
	    .query = { target->query, target->query_len },
	    .secret = wish->binding->secret, .binding = wish->binding->id,
	    .rule = wish->decision.rule, .reason = wish->decision.reason,
	    .input = wish->thread->input, .input_len = len > 0 ? (size_t)len : 0,
	    .policy = wish->rules->digest };
	const struct approval_no *why;
	enum approval_answer answer;

	grant_text(wish, action, sizeof(action));
	answer = len <= 0 ? APPROVAL_UNWRITABLE :
	    approvals_ask(wish->gate, &question, id, &wish->consent);
	wish->person = answer == APPROVAL_GIVEN || answer == APPROVAL_DENIED;
	wish->grant->approved = answer == APPROVAL_GIVEN;
	if (wish->grant->approved)
		return 0;
	if (answer == APPROVAL_WAITING) {
		snprintf(text, sizeof(text), "have the operator answer it "
		    "(`countersign approve %s`), then ask for the grant again", id);
		return no(wish, 403, "ask/waiting", wish->decision.reason, text);
	}
	why = approvals_no(answer);
	return no(wish, why->status, why->rule, why->reason, why->remedy);
}

static void
input_request(struct wish *wish, const struct grant_request *request)
{
	struct slice query = { request->target.query,
	    request->target.query_len };

	input_target(&wish->input, &request->target, query);
	if (query.p == NULL)
		wish->input.target.query = (struct policy_str){ NULL, 0 };
	snprintf(wish->name, sizeof(wish->name), "http:%s", request->method);
	wish->input.action.name = input_text(wish->name);
}

static int
limits_step(struct wish *wish)
{
	const struct policy_decision *out = &wish->decision;

	if (out->uses > 0 && wish->options->uses > out->uses)
		return no(wish, 403, "grant/too-many-uses",
		    "the policy allows fewer uses",
		    "ask for fewer, or raise data.grant.uses");
	if (out->ttl_s > 0 && wish->options->ttl_s > out->ttl_s)
		return no(wish, 403, "grant/too-long",
		    "the policy allows less time",
		    "ask for less, or raise data.grant.ttl_s");
	return 0;
}

static int
ask_policy(struct wish *wish, const struct grant_request *request)
{
	struct policy_decision *decision = &wish->decision;

	input_request(wish, request);
	gate_judge(wish->thread, wish->rules, &wish->input, decision);
	wish->judged = true;
	if (decision->verdict != POLICY_DENY &&
	    !delegation_covers(wish->run, &wish->input))
		return no(wish, 403, "delegation/scope",
		    "the run was opened for less than this",
		    "ask the run above, or have it open one with more scopes");
	if (decision->verdict != POLICY_DENY)
		return 0;
	if (decision->failed)
		return no(wish, 503, decision->rule, decision->reason,
		    "no grant was given; see that the policy server runs and answers in time");
	return no(wish, 403, decision->rule[0] != '\0' ? decision->rule :
	    "policy/deny", decision->reason,
	    "see `countersign bindings` for what the binding allows");
}

/* The policy is asked about each request that the grant stands for (leave to use
 * the credential), and again about every request when it comes; a person once
 * about all of them. */
static int
policy_step(struct wish *wish)
{
	unsigned n = grant_requests(wish->grant, wish->paths,
	    sizeof(wish->paths), wish->requests);
	const struct grant_request *asks = NULL;

	if (n == 0)
		return no(wish, 400, "grant/bad-target", "target is too long",
		    "shorten it");
	input_binding(&wish->input, wish->binding, 0);
	wish->input.secret.version = -1;
	wish->input.budget.requests++;	/* the first of them included */
	for (unsigned i = 0; i < n; i++) {
		if (ask_policy(wish, &wish->requests[i]) == -1 ||
		    limits_step(wish) == -1)
			return -1;
		if (asks == NULL && wish->decision.verdict == POLICY_ASK) {
			asks = &wish->requests[i];
			wish->asked = wish->decision;
		}
	}
	if (asks != NULL) {
		wish->decision = wish->asked;
		input_request(wish, asks);
	}
	terms(wish);
	return asks == NULL ? 0 : ask_person(wish);
}

/* --- records --------------------------------------------------------- */

static int
allow_body(struct wish *wish, char *buf, size_t cap)
{
	struct grant *grant = wish->grant;
	struct json_out out;
	int len;

	wish->input.grant.id = input_text(grant->id);
	len = words_input(wish->thread, wish->run, &wish->input, false);
	if (len <= 0)
		return -1;
	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_str(&out, "state", "issued");
	json_out_str(&out, "grant", grant->id);
	json_out_hex(&out, "parent", wish->person ? wish->consent.leaf :
	    wish->run->receipt.leaf, LEDGER_LEAF_LEN);
	json_out_str(&out, "rule", wish->decision.rule);
	json_out_str(&out, "reason", wish->decision.reason);
	if (wish->person)
		json_out_str(&out, "by", "person");
	words_engine(&out, &wish->decision);
	json_out_str(&out, "action", wish->options->action);
	json_out_int(&out, "uses", grant->uses);
	json_out_int(&out, "requests", atomic_load(&grant->left));
	json_out_int(&out, "expires_s", grant->expires_s);
	json_out_raw(&out, "input", wish->thread->input, (size_t)len);
	json_out_object_end(&out);
	return json_out_end(&out);
}

/* The record of a refusal; the caller's problem stays unless the ledger fails. */
static void
record_refusal(struct wish *wish, struct ledger_port *port, char *buf,
    size_t cap)
{
	const struct gate_problem *why = wish->why;
	struct ledger_receipt receipt;
	struct gate_problem failure;
	struct words_decision what = {
		.decision = strcmp(why->rule, "ask/waiting") == 0 ? "ask" : "deny",
		.person = wish->person, .rule = why->rule,
		.reason = why->detail, .remedy = why->remedy,
		.status = why->status, .kind = "grant", .route = "api",
		.parent = &wish->run->receipt, .peer = &wish->options->peer,
		.input = wish->grant != NULL ? &wish->input : NULL,
		.judged = wish->judged ? &wish->decision : NULL };
	int len = words_decision(wish->thread, wish->run, &what, buf, cap);

	if (len < 0) {
		what.input = NULL;
		len = words_decision(wish->thread, wish->run, &what, buf,
		    cap);
	}
	atomic_fetch_add(&wish->gate->grants_refused, 1);
	atomic_fetch_add(&wish->run->refused, 1);
	if (!problem_alone(wish->gate, wish->run, why, "grant",
	    wish->options->peer.uid))
		return;
	if (gate_append(port, "refusal", wish->run->id, wish->rules->digest,
	    buf, len, false, &receipt, &failure) == -1)
		*wish->why = failure;
}

/* --- issuing --------------------------------------------------------- */

static bool
holds_secret(struct wish *wish)
{
	const struct sieve *sieve = secrets_hold(&wish->gate->secrets);
	bool found = sieve_finds(sieve, slice_of(wish->options->target));

	secrets_let_go(&wish->gate->secrets);
	return found;
}

static int
consider(struct wish *wish)
{
	const struct gate_grant_options *options = wish->options;
	const char *wrong;

	if (holds_secret(wish))
		return no(wish, 403, "credential/raw-secret",
		    "the target holds a real secret, which no agent should have",
		    "rotate the secret, since it is out");
	wrong = grant_parse(options->action, options->target, &wish->grant);
	if (wrong != NULL)
		return no(wish, 400, "grant/bad-target", wrong,
		    "ask for an action like http:GET or git:push, and an "
		    "absolute URL");
	input_target(&wish->input, &wish->grant->target, (struct slice){
	    wish->grant->target.query, wish->grant->target.query_len });
	wish->input.action.kind = input_text("credential");
	wish->input.action.verb = input_text("use");
	snprintf(wish->name, sizeof(wish->name), "%s", options->action);
	wish->input.action.name = input_text(wish->name);
	if (peer_step(wish) == -1 || choose_binding(wish) == -1 ||
	    policy_step(wish) == -1)
		return -1;
	/* The policy may have taken its time, and the teardown waits no longer. */
	return run_open_p(wish->run) ? 0 : no(wish, 403, "run/closed",
	    "the run was closed meanwhile", "start a new run");
}

static int
enter(struct wish *wish, const char *token)
{
	struct gate *gate = wish->gate;
	struct grant *grant = wish->grant;
	bool fine;

	keyed_token(gate->keyed, slice_of(token),
	    grant->credential.node.key);
	keyed_token(gate->keyed, slice_of(grant->id),
	    grant->by_id.key);
	pthread_rwlock_wrlock(&gate->lock);
	fine = run_open_p(wish->run) &&
	    grant_enter_locked(gate, wish->run, grant);
	pthread_rwlock_unlock(&gate->lock);
	if (!fine)
		return no(wish, 429, "grant/too-many",
		    "the run closed meanwhile, or holds too many live grants",
		    "use or revoke some");
	atomic_fetch_add(&gate->grants_issued, 1);
	return 0;
}

static int
revoked_body(const struct grant *grant, char *buf, size_t cap)
{
	struct json_out out;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_str(&out, "state", "revoked");
	json_out_str(&out, "grant", grant->id);
	json_out_hex(&out, "parent", grant->receipt.leaf, LEDGER_LEAF_LEN);
	json_out_int(&out, "requests_left", atomic_load(&grant->left));
	json_out_object_end(&out);
	return json_out_end(&out);
}

/* It is on record, and nobody has its token: it is taken back there, too. */
static void
take_back(struct wish *wish, struct ledger_port *port)
{
	struct ledger_receipt receipt;
	struct gate_problem later;
	char body[512];

	(void)gate_append(port, "grant", wish->run->id, wish->rules->digest, body,
	    revoked_body(wish->grant, body, sizeof(body)), false, &receipt, &later);
}

static int
issue(struct wish *wish, struct ledger_port *port, char token[GATE_TOKEN_MAX],
    struct gate_grant_info *out)
{
	struct grant *grant = wish->grant;
	char body[GATE_RECORD_MAX];
	bool told;

	keyed_mint("g_", 16, grant->id, sizeof(grant->id));
	keyed_mint(TOKEN_GRANT, 32, token, GATE_TOKEN_MAX);
	told = gate_append(port, "grant", wish->run->id, wish->rules->digest,
	    body, allow_body(wish, body, sizeof(body)), false,
	    &grant->receipt, wish->why) == 0;
	atomic_fetch_add(&wish->run->issued, told);
	if (told && enter(wish, token) == 0) {
		grant_info_fill(grant, out);
		return 0;
	}
	if (told)
		take_back(wish, port);
	sodium_memzero(token, GATE_TOKEN_MAX);
	return -1;
}

int
gate_grant_issue(struct gate *gate, struct gate_thread *thread,
    struct ledger_port *port, struct run *run,
    const struct gate_grant_options *options, char token[GATE_TOKEN_MAX],
    struct gate_grant_info *out, struct gate_problem *why)
{
	struct wish *wish = calloc(1, sizeof(*wish));
	char body[GATE_RECORD_MAX];
	int rv = -1;

	token[0] = '\0';
	if (wish == NULL) {
		gate_problem_set(why, 503, "gate/memory", "out of memory",
		    "try again");
		return -1;
	}
	wish->gate = gate;
	wish->thread = thread;
	wish->run = run;
	wish->options = options;
	wish->why = why;
	wish->rules = gate_rules(gate);
	input_begin(&wish->input);
	input_run(&wish->input, run);
	input_peer(&wish->input, &options->peer);
	wish->input.adapter = input_text("api");
	gate_run_hold(run);
	if (consider(wish) == 0)
		rv = issue(wish, port, token, out);
	else
		record_refusal(wish, port, body, sizeof(body));
	gate_outcome_done(run);
	grant_unref(wish->grant);
	rules_unref(wish->rules);
	free(wish);
	return rv;
}

/* --- looking and revoking -------------------------------------------- */

static struct grant *
grant_for(struct gate *gate, struct slice id, const struct run *run,
    struct gate_problem *why)
{
	struct grant *grant = gate_grant_by_id(gate, id);

	if (grant != NULL && (run == NULL || grant->credential.run == run))
		return grant;
	if (grant != NULL)
		credential_release(&grant->credential);
	gate_problem_set(why, 404, "grant/unknown",
	    "this run has no grant with that id (grants do not outlive a restart)",
	    "ask for a new grant");
	return NULL;
}

int
gate_grant_look(struct gate *gate, struct slice id, const struct run *run,
    struct gate_grant_info *out, struct gate_problem *why)
{
	struct grant *grant = grant_for(gate, id, run, why);

	if (grant == NULL)
		return -1;
	grant_info_fill(grant, out);
	credential_release(&grant->credential);
	return 0;
}

int
gate_grant_revoke(struct gate *gate, struct ledger_port *port,
    struct slice id, const struct run *run, struct gate_grant_info *out,
    struct gate_problem *why)
{
	struct grant *grant = grant_for(gate, id, run, why);
	struct ledger_receipt receipt;
	struct rules *rules;
	char body[512];
	int rv = 0;

	if (grant == NULL)
		return -1;
	rules = gate_rules(gate);
	gate_run_hold(grant->credential.run);	/* closing it takes all grants, then waits */
	if (!atomic_exchange(&grant->revoked, true)) {
		atomic_fetch_add(&gate->grants_revoked, 1);
		gate_cut(gate, &(struct gate_cut){ .grant = grant->id,
		    .run = grant->credential.run->id });
		rv = gate_append(port, "grant", grant->credential.run->id,
		    rules->digest, body,
		    revoked_body(grant, body, sizeof(body)), false, &receipt,
		    why);
	}
	gate_outcome_done(grant->credential.run);
	grant_info_fill(grant, out);
	rules_unref(rules);
	credential_release(&grant->credential);
	return rv;
}
