#include "gate/refusals.h"

#include "gate/admin.h"
#include "gate/impl.h"

#include <stdlib.h>

void
refusals_free(struct refusals *refusals)
{
	free(refusals->counts);
	refusals->counts = NULL;
}

/* FNV-1a: no agent chooses the names of rules, and who found two alike would only
 * have the second one counted. */
static uint64_t
digest_of(const char *rule)
{
	uint64_t hash = 14695981039346656037u;

	for (; *rule != '\0'; rule++)
		hash = (hash ^ (uint8_t)*rule) * 1099511628211u;
	return hash;
}

static bool
is_new_rule(struct refusals *refusals, const char *rule)
{
	const uint64_t digest = digest_of(rule);

	for (unsigned i = 0; i < refusals->n_rules; i++)
		if (refusals->rules[i] == digest)
			return false;
	if (refusals->n_rules == REFUSALS_RULES)
		return false;
	refusals->rules[refusals->n_rules++] = digest;
	return true;
}

/* False where there is no memory for it. */
static bool
count(struct gate *gate, struct run *run, const struct gate_counted *what,
    int64_t now_ms)
{
	struct refusals *refusals = &run->refusals;

	if (refusals->counts == NULL &&
	    (refusals->counts = calloc(1, sizeof(*refusals->counts))) == NULL)
		return false;
	counts_add(refusals->counts, what, now_ms, clock_wall_ns() / 1000);
	if (!refusals->listed) {
		refusals->listed = true;
		refusals->next = gate->counting;
		gate->counting = run_ref(run);
		atomic_fetch_add(&gate->n_counting, 1);
	}
	return true;
}

static unsigned
burst_of(struct gate *gate)
{
	struct rules *rules = gate_rules(gate);
	int64_t burst = bindings_refusals(rules->bindings);

	rules_unref(rules);
	return burst >= 0 ? (unsigned)burst : REFUSALS_BURST;
}

static bool
alone(struct gate *gate, struct run *run, const struct gate_counted *what)
{
	const unsigned burst = burst_of(gate);
	const int64_t now_ms = clock_boot_ms();
	struct run *top = (struct run *)(uintptr_t)run_top(run);
	bool alone;

	pthread_mutex_lock(&gate->refusals_lock);
	alone = bucket_spend(&top->refusals.full_ms, burst, now_ms);
	alone = is_new_rule(&run->refusals, what->rule) || alone ||
	    !count(gate, run, what, now_ms);
	pthread_mutex_unlock(&gate->refusals_lock);
	return alone;
}

bool
gate_refusal_alone(struct gate *gate, struct run *run,
    const struct gate_verdict *refusal, const char *kind, int64_t uid,
    const struct target *target)
{
	struct gate_counted what;

	counted_of(&what, refusal, uid, kind, refusal->tainted ? NULL : target);
	return alone(gate, run, &what);
}

bool
problem_alone(struct gate *gate, struct run *run, const struct gate_problem *why,
    const char *kind, int64_t uid)
{
	struct gate_counted what = { .uid = uid, .status = why->status,
	    .kind = kind };

	gate_text_copy(what.rule, sizeof(what.rule), why->rule);
	gate_text_copy(what.reason, sizeof(what.reason), why->detail);
	return alone(gate, run, &what);
}

/* The caller holds the lock, and takes over the list's reference. */
static void
unlist(struct gate *gate, struct run **at)
{
	struct run *run = *at;

	*at = run->refusals.next;
	run->refusals.next = NULL;
	run->refusals.listed = false;
	atomic_fetch_sub(&gate->n_counting, 1);
}

/* Held before it is looked at: then a close waits for the record. */
static bool
may_tell(struct run *run)
{
	gate_run_hold(run);
	if (run_open_p(run) || atomic_load(&run->settled))
		return true;
	gate_outcome_done(run);
	return false;
}

/* One of the run's counts that is due; it leaves the list with its last one. */
static bool
take_of(struct gate *gate, struct run **at, bool all, int64_t now_ms,
    struct run **found, struct gate_counted *out)
{
	struct run *run = *at;

	if (!may_tell(run))
		return false;
	if (!counts_take(run->refusals.counts, now_ms, all, out)) {
		gate_outcome_done(run);
		return false;
	}
	*found = run_ref(run);
	if (run->refusals.counts->n == 0) {
		unlist(gate, at);
		run_unref(run);
	}
	return true;
}

bool
gate_refusals_take(struct gate *gate, bool all, struct run **run,
    struct gate_counted *out)
{
	const int64_t now_ms = clock_boot_ms();
	bool taken = false;

	pthread_mutex_lock(&gate->refusals_lock);
	for (struct run **at = &gate->counting; *at != NULL && !taken;
	    at = taken ? at : &(*at)->refusals.next)
		taken = take_of(gate, at, all, now_ms, run, out);
	pthread_mutex_unlock(&gate->refusals_lock);
	return taken;
}

bool
refusals_take_last(struct gate *gate, struct run *run, struct gate_counted *out)
{
	struct run **at, *listed = NULL;
	bool taken;

	pthread_mutex_lock(&gate->refusals_lock);
	taken = run->refusals.counts != NULL &&
	    counts_take(run->refusals.counts, 0, true, out);
	if (taken && run->refusals.counts->n == 0) {
		for (at = &gate->counting; *at != run;
		    at = &(*at)->refusals.next)
			;
		listed = *at;
		unlist(gate, at);
	}
	pthread_mutex_unlock(&gate->refusals_lock);
	run_unref(listed);	/* the caller has another */
	return taken;
}

bool
gate_refusals_pending(struct gate *gate)
{
	return atomic_load(&gate->n_counting) > 0;
}

void
refusals_forget(struct gate *gate)
{
	struct run *run;

	while ((run = gate->counting) != NULL) {
		unlist(gate, &gate->counting);
		run_unref(run);
	}
}
