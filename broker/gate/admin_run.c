/* Opening and closing runs. */
#include "gate/admin.h"

#include "gate/anchored.h"
#include "gate/delegation.h"
#include "gate/process.h"
#include "gate/run.h"
#include "gate/words.h"

#include <time.h>

#include <sodium.h>

#define DRAIN_MS 1000	/* how long a close waits for outcomes of cut streams */

/* --- opening --------------------------------------------------------- */

static void
limits_out(struct json_out *out, const struct policy_budget *limits)
{
	const struct { const char *name; int64_t value; } all[] = {
		{ "requests", limits->requests },
		{ "bytes_out", limits->bytes_out },
		{ "cost", limits->cost },
		{ "wall_ms", limits->wall_ms },
	};

	json_out_object(out, "limits");
	for (size_t i = 0; i < 4; i++)
		if (all[i].value >= 0)
			json_out_int(out, all[i].name, all[i].value);
	json_out_object_end(out);
}

static void
delegation_out(struct json_out *out, const struct delegation *delegation)
{
	if (delegation == NULL)
		return;
	json_out_object(out, "delegation");
	json_out_array(out, "scopes");
	for (size_t i = 0; i < delegation->n_scopes; i++)
		json_out_str(out, NULL, delegation->scopes[i]);
	json_out_array_end(out);
	if (delegation->expires_s >= 0)
		json_out_int(out, "expires_s", delegation->expires_s);
	json_out_object_end(out);
}

static void
text_out(struct json_out *out, const char *key, const char *text)
{
	if (text[0] != '\0')
		json_out_str(out, key, text);
}

/* after: the record of what others said last; NULL: there is none. */
static int
open_body(const struct run *run, const struct gate_run_options *options,
    const struct ledger_receipt *after, char *buf, size_t cap)
{
	struct json_out out;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_str(&out, "state", "open");
	if (run->parent != NULL) {
		json_out_hex(&out, "parent", run->parent->receipt.leaf,
		    LEDGER_LEAF_LEN);
		json_out_str(&out, "parent_run", run->parent->id);
	}
	text_out(&out, "principal", run->principal_mark);
	json_out_object(&out, "agent");
	text_out(&out, "name", run->agent_name);
	text_out(&out, "version", run->agent_version);
	json_out_object_end(&out);
	if (run->root.pid > 0)
		json_out_int(&out, "pid", run->root.pid);
	limits_out(&out, &run->limits);
	delegation_out(&out, run->delegation);
	json_out_uint(&out, "placeholders", run->n_allowances);
	if (options->n_hidden > 0) {
		json_out_array(&out, "hidden_files");
		for (size_t i = 0; i < options->n_hidden; i++)
			json_out_str(&out, NULL, options->hidden[i]);
		json_out_array_end(&out);
	}
	if (after != NULL) {
		json_out_hex(&out, "after", after->leaf, LEDGER_LEAF_LEN);
		json_out_uint(&out, "after_index", after->index);
	}
	json_out_object_end(&out);
	return json_out_end(&out);
}

static bool
depth_ok(const struct run *parent)
{
	unsigned depth = 0;

	for (; parent != NULL; parent = parent->parent)
		depth++;
	return depth < RUN_DEPTH_MAX;
}

/* The parent, referenced; *fine is false where one is named that will not do. */
static struct run *
parent_find(struct gate *gate, const char *id, bool *fine,
    struct gate_problem *why)
{
	struct run *parent;

	*fine = id == NULL;
	if (id == NULL)
		return NULL;
	parent = gate_run_by_id(gate, slice_of(id));
	*fine = parent != NULL && run_open_p(parent) && depth_ok(parent);
	if (!*fine) {
		gate_problem_set(why, 409, "run/bad-parent",
		    "the parent is no open run, or too deep below others",
		    "name an open run");
		run_unref(parent);
		return NULL;
	}
	return parent;
}

/* Making placeholders may have waited for the vault's server. */
static bool
parent_still_open(const struct run *parent, struct gate_problem *why)
{
	if (parent == NULL || run_open_p(parent))
		return true;
	gate_problem_set(why, 409, "run/bad-parent",
	    "the parent was closed meanwhile", "name an open run");
	return false;
}

/* One agent must not take the places of all. */
static bool
room_below_locked(const struct gate *gate, const struct run *run)
{
	const struct run *top = run_top(run), *at;
	size_t n = 0;

	for (at = gate->first_run; at != NULL && run != top; at = at->next)
		n += at != top && run_open_p(at) && run_top(at) == top;
	return n < RUN_BELOW_MAX;
}

static void
too_many(struct gate_problem *why)
{
	gate_problem_set(why, 503, "run/too-many",
	    "too many open runs, or the parent closed meanwhile",
	    "close runs that are over");
}

/* Looked at before anything is written; enter() decides. */
static bool
has_room(struct gate *gate, const struct run *run, struct gate_problem *why)
{
	bool room, below;

	pthread_rwlock_rdlock(&gate->lock);
	room = gate->n_open < RUNS_OPEN_MAX;
	below = room_below_locked(gate, run);
	pthread_rwlock_unlock(&gate->lock);
	if (!below)
		gate_problem_set(why, 429, "run/too-many-below",
		    "too many runs are open below the one at the top",
		    "close some of them");
	else if (!room)
		too_many(why);
	return room && below;
}

static bool
enter(struct gate *gate, struct run *run, struct gate_problem *why)
{
	bool fine;

	pthread_rwlock_wrlock(&gate->lock);
	fine = gate->n_open < RUNS_OPEN_MAX && room_below_locked(gate, run) &&
	    (run->parent == NULL || run_open_p(run->parent)) &&
	    run_enter_locked(gate, run);
	if (fine)
		run_below_add(run);
	run_forget_locked(gate);
	pthread_rwlock_unlock(&gate->lock);
	if (!fine)
		too_many(why);
	return fine;
}

static bool
root_ok(const struct gate_run_options *options, const struct run *run,
    struct gate_problem *why)
{
	if (options->pid <= 0 || run->root.pid == options->pid)
		return true;
	gate_problem_set(why, 409, "run/no-process",
	    "there is no process with that pid",
	    "name a process that lives as long as the run");
	return false;
}

/* Whatever an agent asks with may come to stand in the ledger. */
static bool
texts_ok(struct gate *gate, const struct gate_run_options *options,
    struct gate_problem *why)
{
	const struct sieve *sieve = secrets_hold(&gate->secrets);
	bool found = sieve_finds(sieve, slice_of(options->agent_name)) ||
	    sieve_finds(sieve, slice_of(options->agent_version));

	for (size_t i = 0; i < options->n_hidden && !found; i++)
		found = sieve_finds(sieve, slice_of(options->hidden[i]));
	for (size_t i = 0; options->scopes != NULL && i < options->n_scopes &&
	    !found; i++)
		found = sieve_finds(sieve, slice_of(options->scopes[i])) ||
		    strstr(options->scopes[i], TOKEN_RUN) != NULL ||
		    strstr(options->scopes[i], TOKEN_GRANT) != NULL;
	secrets_let_go(&gate->secrets);
	if (found)
		gate_problem_set(why, 403, "credential/raw-secret",
		    "a name or scope holds a real secret or a token",
		    "rotate the secret, since it is out");
	return !found;
}

/* What a run may ask for another: in processes of its own, for the same person. */
static bool
asker_ok(const struct gate_run_options *options, struct run *parent,
    struct gate_problem *why)
{
	struct peer root = { options->uid, options->pid, 0 };

	if (parent == NULL || !options->by_run)
		return true;
	if (options->principal != NULL &&
	    strcmp(options->principal, parent->principal) != 0) {
		gate_problem_set(why, 403, "delegation/principal",
		    "a run acts for the person whom it was opened for",
		    "name no principal");
		return false;
	}
	if (delegation_over(parent)) {
		gate_problem_set(why, 403, "delegation/expired",
		    "the time for which the run was opened is over",
		    "have the run above open another");
		return false;
	}
	if (options->pid > 0 && !gate_run_admits(parent, &root)) {
		gate_problem_set(why, 403, "run/foreign-process",
		    "the process is not one of the run's own",
		    "name one below the run's");
		return false;
	}
	return true;
}

/* The parent is told by whom it was tried; its problem stays unless the ledger
 * fails. */
static void
record_refusal(struct gate *gate, struct ledger_port *port,
    const struct rules *rules, struct run *parent,
    const struct gate_run_options *options, struct gate_problem *why)
{
	struct words_decision what = { .decision = "deny", .rule = why->rule,
	    .reason = why->detail, .remedy = why->remedy,
	    .status = why->status, .kind = "run", .route = "api",
	    .parent = &parent->receipt, .peer = &options->peer };
	struct ledger_receipt receipt;
	struct gate_problem failure;
	char body[4096];

	atomic_fetch_add(&parent->refused, 1);
	if (!problem_alone(gate, parent, why, "run", options->peer.uid))
		return;
	if (gate_append(port, "refusal", parent->id, rules->digest, body,
	    words_decision(NULL, parent, &what, body, sizeof(body)), false,
	    &receipt, &failure) == -1)
		*why = failure;
}

/* Its opening is on record, and then it is open; or its end is on record too. */
static bool
let_in(struct gate *gate, struct ledger_port *port, const struct rules *rules,
    struct run *run, const struct gate_run_options *options,
    struct gate_problem *why)
{
	struct gate_closer closer = { "broker", "not let in", { -1, -1, 0 } };
	struct gate_run_summary ignored;
	struct gate_problem later;
	struct ledger_receipt after;
	char body[GATE_RECORD_MAX];
	int anchored = anchored_latest(gate->anchored, port, rules->digest, &after, why);

	if (anchored == -1)
		return false;
	if (gate_append(port, "run", run->id, rules->digest, body, open_body(run, options,
	    anchored == 1 ? &after : NULL, body, sizeof(body)), false, &run->receipt,
	    why) == -1) {
		closer.reason = "recorder silent";
		if (run->receipt.status == LEDGER_SILENT)
			run_end_owe(gate, run, &closer);
		return false;
	}
	if (!enter(gate, run, why)) {
		(void)run_end(gate, port, run, &closer, &ignored, &later);
		return false;
	}
	(void)gate_ends_pay(gate, port, &later);
	return true;
}

struct run *
gate_run_open(struct gate *gate, struct ledger_port *port,
    const struct gate_run_options *options, char token[GATE_TOKEN_MAX],
    struct gate_problem *why)
{
	struct rules *rules = gate_rules(gate);
	struct run *parent, *run = NULL;
	bool fine;

	token[0] = '\0';
	parent = parent_find(gate, options->parent, &fine, why);
	if (!fine)
		goto out;
	gate_run_hold(parent);	/* its teardown waits for what is written here */
	if (!texts_ok(gate, options, why) || !asker_ok(options, parent, why))
		goto fail;
	keyed_mint(TOKEN_RUN, 32, token, GATE_TOKEN_MAX);
	run = run_new(gate, rules, options, parent, token, why);
	if (run == NULL)
		goto fail;
	if (!root_ok(options, run, why) || !has_room(gate, run, why) ||
	    !parent_still_open(parent, why) ||
	    !let_in(gate, port, rules, run, options, why))
		goto fail;
	atomic_fetch_add(&gate->runs_opened, 1);
	goto out;
fail:
	if (parent != NULL)
		record_refusal(gate, port, rules, parent, options, why);
	sodium_memzero(token, GATE_TOKEN_MAX);
	run_unref(run);
	run = NULL;
out:
	gate_outcome_done(parent);
	run_unref(parent);
	rules_unref(rules);
	return run;
}

/* --- closing --------------------------------------------------------- */

/* True for the one caller that closes it. */
static bool
shut(struct gate *gate, struct run *run)
{
	bool was_open;

	pthread_rwlock_wrlock(&gate->lock);
	if (atomic_load(&run->open))	/* what it used ends before it does */
		atomic_store(&run->closed_boot_ns, clock_boot_ns());
	was_open = atomic_exchange(&run->open, false);
	if (was_open) {
		gate->n_open--;
		gate->n_closed++;
		for (struct grant *grant = run->grants; grant != NULL;
		    grant = grant->next)
			atomic_store(&grant->revoked, true);
	}
	pthread_rwlock_unlock(&gate->lock);
	if (was_open)
		run_below_remove(run);
	return was_open;
}

static void
drain(struct run *run)
{
	const struct timespec pause = { 0, 5000000 };

	for (int ms = 0; ms < DRAIN_MS && atomic_load(&run->in_flight) > 0;
	    ms += 5)
		nanosleep(&pause, NULL);
}

/* The first open run below this one, referenced; or the first that is not yet
 * settled. */
static struct run *
child_of(struct gate *gate, const struct run *parent, bool open)
{
	struct run *run;

	pthread_rwlock_rdlock(&gate->lock);
	for (run = gate->first_run; run != NULL; run = run->next)
		if (run->parent == parent && (open ? run_open_p(run) :
		    !atomic_load(&run->settled)))
			break;
	run_ref(run);
	pthread_rwlock_unlock(&gate->lock);
	return run;
}

/* What somebody else closes meanwhile is to stand before the end of the run
 * above it: the evidence is cut there.  It takes as long as its own drain may. */
static void
await_children(struct gate *gate, const struct run *parent)
{
	const struct timespec pause = { 0, 5000000 };
	struct run *child;

	for (int ms = 0; ms < 2 * DRAIN_MS; ms += 5) {
		if ((child = child_of(gate, parent, false)) == NULL)
			return;
		run_unref(child);
		nanosleep(&pause, NULL);
	}
}

/* Depth is bounded by RUN_DEPTH_MAX. */
int
gate_run_close(struct gate *gate, struct ledger_port *port, struct run *run,
    const struct gate_closer *closer, struct gate_run_summary *out,
    struct gate_problem *why)
{
	struct gate_closer above = *closer;
	struct gate_run_summary ignored;
	struct gate_problem later;
	struct run *child;
	int rv;

	if (!shut(gate, run)) {
		gate_problem_set(why, 409, "run/closed", "the run is closed already",
		    "nothing is left to do");
		return -1;
	}
	if (above.reason == NULL)
		above.reason = "parent closed";
	while ((child = child_of(gate, run, true)) != NULL) {
		gate_run_close(gate, port, child, &above, &ignored, why);
		run_unref(child);
	}
	await_children(gate, run);
	gate_cut(gate, &(struct gate_cut){ .run = run->id });
	drain(run);
	rv = run_end(gate, port, run, closer, out, why);
	atomic_store(&run->settled, true);
	if (rv == 0)
		(void)gate_ends_pay(gate, port, &later);
	return rv;
}

static struct run *
first_open(struct gate *gate)
{
	struct run *run;

	pthread_rwlock_rdlock(&gate->lock);
	for (run = gate->first_run; run != NULL && !run_open_p(run); run = run->next)
		;
	run_ref(run);
	pthread_rwlock_unlock(&gate->lock);
	return run;
}

unsigned
gate_runs_close(struct gate *gate, struct ledger_port *port,
    const struct gate_closer *closer, struct gate_problem *why)
{
	struct gate_run_summary ignored;
	struct run *run;

	while ((run = first_open(gate)) != NULL) {
		(void)gate_run_close(gate, port, run, closer, &ignored, why);
		run_unref(run);
	}
	return gate_ends_pay(gate, port, why);
}

const char *
gate_closer_of(const struct run *run, const struct peer *peer)
{
	return run->root.pid > 0 && peer->pid == run->root.pid &&
	    peer->start_time == run->root.start_time ? "opener" : "run";
}
