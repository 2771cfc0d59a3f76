#include "gate/impl.h"

#include "gate/delegation.h"
#include "gate/process.h"
#include "gate/run.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* --- references ------------------------------------------------------ */

struct run *
run_ref(struct run *run)
{
	if (run != NULL)
		atomic_fetch_add_explicit(&run->refs, 1, memory_order_relaxed);
	return run;
}

static void
run_free(struct run *run)
{
	struct allowance *late, *next;
	struct grant *grant, *older;

	for (size_t i = 0; i < run->n_allowances; i++)
		free(run->allowances[i].placeholder);
	free(run->allowances);
	free(run->lacks);
	for (late = run->late; late != NULL; late = next) {
		next = late->next;
		free(late);
	}
	for (grant = run->grants; grant != NULL; grant = older) {
		older = grant->next;
		grant_unref(grant);
	}
	sieve_free(run->sieve);
	delegation_free(run->delegation);
	refusals_free(&run->refusals);
	pthread_mutex_destroy(&run->lock);
	run_unref(run->parent);
	free(run);
}

void
run_unref(struct run *run)
{
	if (run != NULL && atomic_fetch_sub(&run->refs, 1) == 1)
		run_free(run);
}

const struct run *
run_top(const struct run *run)
{
	while (run->parent != NULL)
		run = run->parent;
	return run;
}

uint64_t
run_hold(struct run *run, int64_t more)
{
	struct run *top = (struct run *)(uintptr_t)run_top(run);

	return atomic_fetch_add(&top->held, (uint64_t)more) + (uint64_t)more;
}

const char *
run_id(const struct run *run)
{
	return run->id;
}

bool
run_open_p(const struct run *run)
{
	return atomic_load(&run->open);
}

/* --- processes ------------------------------------------------------- */

static bool
peer_known(struct run *run, const struct process_id *peer)
{
	bool known = false;

	pthread_mutex_lock(&run->lock);
	for (unsigned i = 0; i < RUN_PEERS_KEPT && !known; i++)
		known = run->peers[i].pid == peer->pid &&
		    run->peers[i].start_time == peer->start_time;
	pthread_mutex_unlock(&run->lock);
	return known;
}

static void
peer_remember(struct run *run, const struct process_id *peer)
{
	pthread_mutex_lock(&run->lock);
	run->peers[run->next_peer++ % RUN_PEERS_KEPT] = *peer;
	pthread_mutex_unlock(&run->lock);
}

/* The user who opened the run, and the one whom its root belongs to. */
static bool
uid_admitted(const struct run *run, int64_t uid)
{
	return uid < 0 || run->uids[0] < 0 || uid == run->uids[0] ||
	    uid == run->uids[1];
}

/* A process that once belonged here still does when its parent has ended; one
 * that cannot be looked at is refused, since it is gone or hides.  A run without
 * processes of its own lives in those of the run above. */
bool
gate_run_admits(struct run *run, const struct peer *peer)
{
	struct process_id id = { peer->pid, peer->start_time };
	struct process process;

	if (!uid_admitted(run, peer->uid))
		return false;
	if (peer->pid <= 0)
		return true;	/* nothing to compare: the token alone decides */
	if (run_below_has(run, peer->pid))
		return false;
	if (run->root.pid <= 0)
		return run->parent == NULL ||
		    gate_run_admits(run->parent, peer);
	if (id.start_time == 0) {
		if (!process_look(peer->pid, &process))
			return false;
		id.start_time = process.start_time;
	}
	if (peer_known(run, &id))
		return true;
	if (!process_within(peer->pid, run->root.pid, run->root.start_time))
		return false;
	peer_remember(run, &id);
	return true;
}

/* --- making one ------------------------------------------------------ */

static void
text_set(char out[GATE_NAME_MAX], const char *text)
{
	snprintf(out, GATE_NAME_MAX, "%s", text != NULL ? text : "");
}

static void
identity_set(struct gate *gate, struct run *run,
    const struct gate_run_options *options, const char *token)
{
	const char *above = run->parent != NULL ? run->parent->principal : NULL;

	text_set(run->principal, options->principal != NULL ?
	    options->principal : above);
	text_set(run->agent_name, options->agent_name);
	text_set(run->agent_version, options->agent_version);
	if (run->principal[0] != '\0')
		keyed_text(gate->keyed->person, slice_of(run->principal),
		    run->principal_mark);
	keyed_mint("run_", 16, run->id, sizeof(run->id));
	keyed_token(gate->keyed, slice_of(run->id), run->by_id.key);
	keyed_token(gate->keyed, slice_of(token), run->by_token.key);
}

static struct run *
run_alloc(struct run *parent)
{
	struct run *run = calloc(1, sizeof(*run));

	if (run == NULL)
		return NULL;
	if (pthread_mutex_init(&run->lock, NULL) != 0) {
		free(run);
		return NULL;
	}
	atomic_init(&run->refs, 1);
	run->parent = run_ref(parent);
	run->root.pid = -1;
	return run;
}

struct run *
run_new(struct gate *gate, struct rules *rules,
    const struct gate_run_options *options, struct run *parent,
    const char *token, struct gate_problem *why)
{
	struct run *run = run_alloc(parent);
	struct process root;

	gate_problem_set(why, 503, "gate/memory", "out of memory",
	    "close runs that are over");
	if (run == NULL)
		return NULL;
	identity_set(gate, run, options, token);
	run->uids[0] = run->uids[1] = options->uid;
	if (options->pid > 0 && process_look(options->pid, &root)) {
		run->root = (struct process_id){ root.pid, root.start_time };
		run->uids[1] = root.uid;
	}
	run->opened_ns = clock_wall_ns();
	run->opened_boot_ns = clock_boot_ns();
	run->limits = parent == NULL ? options->limits :
	    budget_narrow(&options->limits, &parent->limits);
	if (delegation_make(parent, rules->bindings, options, &run->delegation, why) == -1 ||
	    run_allowances_make(gate, rules, run) == -1) {
		run_unref(run);
		return NULL;
	}
	return run;
}

/* --- the tables ------------------------------------------------------ */

static struct run *
run_in(struct gate *gate, const struct table *table, struct slice text,
    size_t node_offset)
{
	uint8_t key[TABLE_KEY_LEN];
	struct table_node *node;
	struct run *run = NULL;

	keyed_token(gate->keyed, text, key);
	pthread_rwlock_rdlock(&gate->lock);
	node = table_find(table, key);
	if (node != NULL)
		run = run_ref((struct run *)((char *)node - node_offset));
	pthread_rwlock_unlock(&gate->lock);
	return run;
}

static struct run *
open_or_null(struct run *run)
{
	if (run != NULL && !run_open_p(run)) {
		run_unref(run);
		return NULL;
	}
	return run;
}

struct run *
gate_run_by_token(struct gate *gate, struct slice token)
{
	if (token.n != TOKEN_LEN || memcmp(token.p, TOKEN_RUN, 5) != 0)
		return NULL;
	return open_or_null(run_in(gate, &gate->tokens, token,
	    offsetof(struct run, by_token)));
}

struct run *
gate_run_by_id(struct gate *gate, struct slice id)
{
	return run_in(gate, &gate->ids, id, offsetof(struct run, by_id));
}

struct run *
gate_run_by_credential(struct gate *gate, struct slice text,
    struct credential **found)
{
	*found = gate_credential(gate, text);
	return *found != NULL ? open_or_null(run_ref((*found)->run)) : NULL;
}

struct run *
gate_run_by_process(struct gate *gate, int64_t pid)
{
	struct process line[PROCESS_DEPTH_MAX];
	unsigned n = process_line(pid, line, PROCESS_DEPTH_MAX);
	struct run *run, *found = NULL;

	pthread_rwlock_rdlock(&gate->lock);
	for (unsigned i = 0; i < n && found == NULL; i++)
		for (run = gate->first_run; run != NULL; run = run->next)
			if (run->root.pid == line[i].pid &&
			    run->root.start_time == line[i].start_time &&
			    run_open_p(run))
				found = run;	/* the newest of several */
	run_ref(found);
	pthread_rwlock_unlock(&gate->lock);
	return found;
}

static bool
enter(struct gate *gate, struct run *run)
{
	if (!table_add(&gate->tokens, &run->by_token) ||
	    !table_add(&gate->ids, &run->by_id))
		return false;
	for (size_t i = 0; i < run->n_allowances; i++)
		if (!table_add(&gate->credentials,
		    &run->allowances[i].credential.node))
			return false;
	return true;
}

static void
leave(struct gate *gate, struct run *run)
{
	struct grant *grant;

	table_remove(&gate->tokens, &run->by_token);
	table_remove(&gate->ids, &run->by_id);
	for (size_t i = 0; i < run->n_allowances; i++)
		table_remove(&gate->credentials,
		    &run->allowances[i].credential.node);
	for (grant = run->grants; grant != NULL; grant = grant->next) {
		table_remove(&gate->credentials, &grant->credential.node);
		table_remove(&gate->grants, &grant->by_id);
	}
}

bool
run_enter_locked(struct gate *gate, struct run *run)
{
	if (!enter(gate, run)) {
		leave(gate, run);
		return false;
	}
	run_ref(run);
	if (gate->last_run != NULL)
		gate->last_run->next = run;
	else
		gate->first_run = run;
	gate->last_run = run;
	gate->n_open++;
	atomic_store(&run->open, true);
	return true;
}

void
run_drop_locked(struct gate *gate, struct run *run)
{
	struct run *before = NULL, *at = gate->first_run;

	while (at != NULL && at != run) {
		before = at;
		at = at->next;
	}
	assert(at == run);
	if (before != NULL)
		before->next = run->next;
	else
		gate->first_run = run->next;
	if (gate->last_run == run)
		gate->last_run = before;
	leave(gate, run);
	run_unref(run);
}

void
run_forget_locked(struct gate *gate)
{
	struct run *run = gate->first_run, *next;

	for (; run != NULL && gate->n_closed > RUNS_CLOSED_KEPT; run = next) {
		next = run->next;
		if (run_open_p(run))
			continue;
		gate->n_closed--;
		run_drop_locked(gate, run);
	}
}

/* --- looking --------------------------------------------------------- */

void
run_info(struct run *run, struct gate_run_info *out)
{
	*out = (struct gate_run_info){ .open = run_open_p(run) };
	snprintf(out->id, sizeof(out->id), "%s", run->id);
	if (run->parent != NULL)
		snprintf(out->parent, sizeof(out->parent), "%s",
		    run->parent->id);
	text_set(out->principal, run->principal);
	text_set(out->agent_name, run->agent_name);
	text_set(out->agent_version, run->agent_version);
	out->opened_s = run->opened_ns / 1000000000;
	out->pid = run->root.pid;
	out->start_time = run->root.start_time;
	budget_used(run, &out->used);
	out->limits = run->limits;
	out->allowed = atomic_load(&run->allowed);
	out->refused = atomic_load(&run->refused);
	out->failed = atomic_load(&run->failed);
	out->redacted = atomic_load(&run->redacted);
	out->receipt = run->receipt;
	out->expires_s = -1;
	if (run->delegation == NULL)
		return;
	out->narrowed = true;
	out->expires_s = run->delegation->expires_s;
	out->n_scopes = run->delegation->n_scopes;
	memcpy(out->scopes, run->delegation->scopes,
	    out->n_scopes * sizeof(out->scopes[0]));
}

int64_t
gate_run_left_ms(const struct run *run)
{
	return delegation_left_ms(run);
}

void
gate_run_each(struct gate *gate, void (*each)(void *arg, struct run *run),
    void *arg)
{
	struct run **runs = NULL, *run;
	size_t n = 0, max;

	pthread_rwlock_rdlock(&gate->lock);
	max = gate->n_open + gate->n_closed;
	runs = calloc(max + 1, sizeof(*runs));
	for (run = gate->first_run; runs != NULL && run != NULL && n < max;
	    run = run->next)
		runs[n++] = run_ref(run);
	pthread_rwlock_unlock(&gate->lock);
	for (size_t i = 0; i < n; i++) {
		each(arg, runs[i]);
		run_unref(runs[i]);
	}
	free(runs);
}

void
gate_run_placeholders(struct run *run, const struct rules *rules,
    void (*each)(void *arg, const struct binding *binding,
    const char *placeholder), void *arg)
{
	for (size_t i = 0; i < run->n_allowances; i++) {
		const struct binding *binding = bindings_by_id(rules->bindings,
		    slice_of(run->allowances[i].binding));

		if (binding != NULL)
			each(arg, binding, run->allowances[i].placeholder);
	}
}

void
gate_run_lacks(const struct run *run, const struct rules *rules,
    void (*each)(void *arg, const struct binding *binding, const char *why,
    const char *remedy), void *arg)
{
	for (size_t i = 0; i < run->n_lacks; i++) {
		const struct binding *binding = bindings_by_id(rules->bindings,
		    slice_of(run->lacks[i].binding));

		if (binding != NULL)
			each(arg, binding, secrets_why(run->lacks[i].why),
			    secrets_remedy(run->lacks[i].why));
	}
}
