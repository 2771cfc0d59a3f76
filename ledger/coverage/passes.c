#include <stdlib.h>
#include <string.h>

#include "ledger/coverage/passes.h"

enum place
passes_place(const struct work *w, const struct truth_seen *seen)
{
	const struct recorded *r = w->re->recorded;
	const int64_t last = seen->time_us + w->re->truth->resolution_us;

	if (last < r->from_us || seen->time_us > r->to_us)
		return OUTSIDE;
	return seen->time_us < r->from_us || last > r->to_us ? EDGE : WITHIN;
}

bool
passes_is_kind(const char *key, const char *kind)
{
	const size_t len = strlen(kind);

	return strncmp(key, kind, len) == 0 && key[len] == '\n';
}

static void
add_record(struct work *w, size_t i, const char *key, size_t *n)
{
	const struct recorded_act *act = &w->re->recorded->act[i];

	w->record[(*n)++] = (struct match_slot){ key, act->from_us - w->window_us,
	    act->to_us + w->window_us, i, act->status, act->unsettled };
}

static void
add_seen(struct work *w, size_t i, const char *key, size_t *n)
{
	const struct truth_seen *seen = &w->re->truth->seen[i];

	w->seen[(*n)++] = (struct match_slot){ key, seen->time_us,
	    seen->time_us + w->re->truth->resolution_us, i, seen->outcome, false };
}

static void
on_pair(void *context, size_t record, size_t seen)
{
	struct work *w = context;

	w->pair[seen] = record;
	w->taking[record] = true;
}

static bool
is_free(const struct work *w, size_t i)
{
	const struct recorded_act *act = &w->re->recorded->act[i];

	return act->fate != RECORDED_REFUSED && act->fate != RECORDED_NOTHING &&
	    !w->taken[i] && (w->tier == ALL || act->unsettled == (w->tier == UNSETTLED));
}

static bool
is_left(const struct work *w, size_t i)
{
	return w->pair[i] == PASSES_NONE && !w->again[i] &&
	    (w->round == EVERY || (w->place[i] == OUTSIDE) == (w->round == FAR));
}

/* A key that this pass made, or NULL: no memory. */
static const char *
keep(struct work *w, char *key)
{
	if (key != NULL)
		w->key[w->keys++] = key;
	return key;
}

static int
match(struct work *w, size_t records, size_t seen, bool *taking)
{
	int result;

	w->taking = taking;
	result = match_run(w->record, records, w->seen, seen, on_pair, w);
	if (result == 1) {
		w->gave_up = true;
		result = 0;
	}
	while (w->keys > 0)
		free(w->key[--w->keys]);
	return result;
}

static bool
is_one_outcome(int a, int b)
{
	return a == b || a == 0 || b == 0;
}

/* Told by whoever was told the record's leaf: that one and no other. */
static void
pass_by_record(struct work *w)
{
	const struct truth *t = w->re->truth;
	const struct recorded_act *act;
	size_t at;

	w->tier = ALL;
	for (size_t i = 0; i < t->n; i++) {
		if (!t->seen[i].has_record || w->again[i])
			continue;
		act = recorded_find(w->re->recorded, w->re->by_leaf, t->seen[i].record);
		if (act == NULL)
			continue;
		at = (size_t)(act - w->re->recorded->act);
		if (is_free(w, at) && strcmp(act->key, t->seen[i].key) == 0 &&
		    is_one_outcome(act->status, t->seen[i].outcome)) {
			w->pair[i] = at;
			w->taken[at] = true;
		}
	}
}

/* The same action under the same grant. */
static int
pass_by_grant(struct work *w)
{
	const struct recorded *r = w->re->recorded;
	const struct truth *t = w->re->truth;
	size_t n = 0, m = 0;
	char *key;

	for (size_t i = 0; i < r->n; i++) {
		if (!is_free(w, i) || r->act[i].grant == NULL)
			continue;
		if (asprintf(&key, "%s\n%s", r->act[i].key, r->act[i].grant) < 0)
			return -1;
		add_record(w, i, keep(w, key), &n);
	}
	for (size_t i = 0; i < t->n; i++) {
		if (!is_left(w, i) || t->seen[i].grant == NULL || t->seen[i].has_record)
			continue;
		if (asprintf(&key, "%s\n%s", t->seen[i].key, t->seen[i].grant) < 0)
			return -1;
		add_seen(w, i, keep(w, key), &m);
	}
	return match(w, n, m, w->taken);
}

bool
passes_is_named(const struct truth_seen *seen)
{
	return seen->has_record || seen->grant != NULL;
}

static int
pass_by_key(struct work *w)
{
	const struct recorded *r = w->re->recorded;
	const struct truth *t = w->re->truth;
	size_t n = 0, m = 0;

	for (size_t i = 0; i < r->n; i++)
		if (is_free(w, i) && !r->act[i].hidden)
			add_record(w, i, r->act[i].key, &n);
	for (size_t i = 0; i < t->n; i++)
		if (is_left(w, i) && !passes_is_named(&t->seen[i]))
			add_seen(w, i, t->seen[i].key, &m);
	return match(w, n, m, w->taken);
}

/* Requests whose path the ledger has as a digest only: by their host. */
static int
pass_by_host(struct work *w)
{
	const struct recorded *r = w->re->recorded;
	const struct truth *t = w->re->truth;
	size_t n = 0, m = 0, origin;
	const char *key;

	for (size_t i = 0; i < r->n; i++)
		if (is_free(w, i) && r->act[i].hidden)
			add_record(w, i, r->act[i].key, &n);
	if (n == 0)
		return 0;
	for (size_t i = 0; i < t->n; i++) {
		if (!is_left(w, i) || passes_is_named(&t->seen[i]))
			continue;
		act_of_key(w->act, t->seen[i].key);
		if ((origin = act_origin_len(w->act)) == 0)
			continue;
		memcpy(w->act->target + origin, "/", 2);
		if ((key = keep(w, act_key(w->act))) == NULL)
			return -1;
		add_seen(w, i, key, &m);
	}
	if (match(w, n, m, w->taken) != 0)
		return -1;
	for (size_t i = 0; i < m; i++)
		w->re->source->hidden += w->pair[w->seen[i].of] != PASSES_NONE;
	return 0;
}

static bool
is_unsettled_tcp(const struct recorded_act *act)
{
	return act->unsettled || act->fate == RECORDED_NOTHING;
}

/* A connection is opened for a request or a tunnel to that place; one may carry
 * several, so that no record is asked to have one.  There may have been one, too,
 * where nothing was sent: then nobody knows. */
static int
pass_tcp(struct work *w)
{
	const struct recorded *r = w->re->recorded;
	const struct truth *t = w->re->truth;
	char where[ACT_TARGET_MAX + 1];
	size_t n = 0, m = 0;
	const char *key;

	for (size_t i = 0; i < t->n; i++)
		if (is_left(w, i) && passes_is_kind(t->seen[i].key, "tcp") && !passes_is_named(&t->seen[i]))
			add_seen(w, i, strrchr(t->seen[i].key, '\n') + 1, &m);
	for (size_t i = 0; i < r->n && m > 0; i++) {
		const bool unsettled = is_unsettled_tcp(&r->act[i]);

		if (r->act[i].fate == RECORDED_REFUSED || w->taken_tcp[i] ||
		    (w->tier != ALL && unsettled != (w->tier == UNSETTLED)))
			continue;
		act_of_key(w->act, r->act[i].key);
		if (!act_host_port(w->act, where, sizeof(where)))
			continue;
		if ((key = keep(w, strdup(where))) == NULL)
			return -1;
		add_record(w, i, key, &n);
		w->record[n - 1].status = 0;
		w->record[n - 1].last = unsettled;
	}
	return match(w, n, m, w->taken_tcp);
}

/* ---- duplicates ---- */

struct named {
	const struct truth_seen *seen;
	size_t at;
};

static int
by_id(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	const int order = strcmp(x->seen->id, y->seen->id);

	return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int
mark_duplicates(struct work *w)
{
	const struct truth *t = w->re->truth;
	struct named *named = calloc(t->n + 1, sizeof(*named));
	size_t n = 0;

	if (named == NULL)
		return -1;
	for (size_t i = 0; i < t->n; i++)
		if (t->seen[i].id != NULL)
			named[n++] = (struct named){ &t->seen[i], i };
	if (n > 1)
		qsort(named, n, sizeof(*named), by_id);
	for (size_t i = 1; i < n; i++) {
		w->again[named[i].at] = strcmp(named[i].seen->id, named[i - 1].seen->id) == 0 &&
		    strcmp(named[i].seen->key, named[i - 1].seen->key) == 0;
		w->re->source->duplicates += w->again[named[i].at];
	}
	free(named);
	return 0;
}

/* ---- the rounds ---- */

static int
pass_all(struct work *w, enum round round, int64_t window_us)
{
	w->round = round;
	w->window_us = window_us;
	return pass_by_grant(w) != 0 || pass_by_key(w) != 0 || pass_by_host(w) != 0 ||
	    pass_tcp(w) != 0 ? -1 : 0;
}

/* All over again.  Exact: whom the times fit as they stand is paired first, so that
 * what is left over is what does not fit, and the neighbours of the run's ends
 * take nothing away from those within. */
static int
pair_all(struct work *w, bool exact)
{
	const int64_t window_us = w->re->options->window_ms * 1000;
	const size_t n = w->re->recorded->n;

	memset(w->taken, 0, n * sizeof(*w->taken));
	memset(w->taken_tcp, 0, n * sizeof(*w->taken_tcp));
	for (size_t i = 0; i < w->re->truth->n; i++)
		w->pair[i] = PASSES_NONE;
	w->re->source->hidden = 0;
	w->gave_up = false;
	pass_by_record(w);
	w->tier = exact ? SETTLED : ALL;
	if (exact && pass_all(w, EVERY, 0) != 0)
		return -1;
	if (pass_all(w, NEAR, window_us) != 0 || pass_all(w, FAR, window_us) != 0)
		return -1;
	if (!exact)
		return 0;
	w->tier = UNSETTLED;
	return pass_all(w, NEAR, window_us) != 0 || pass_all(w, FAR, window_us) != 0 ? -1 : 0;
}

bool
passes_is_unsettled(const struct work *w, size_t seen)
{
	const struct recorded_act *act;

	if (w->pair[seen] == PASSES_NONE)
		return false;
	act = &w->re->recorded->act[w->pair[seen]];
	return passes_is_kind(w->re->truth->seen[seen].key, "tcp") ? is_unsettled_tcp(act) :
	    act->unsettled;
}

uint64_t
passes_left(const struct work *w)
{
	uint64_t left = 0, unsettled = 0;

	for (size_t i = 0; i < w->re->truth->n; i++) {
		left += w->pair[i] == PASSES_NONE && !w->again[i] && w->place[i] != OUTSIDE;
		unsettled += passes_is_unsettled(w, i);
	}
	return left << 32 | unsettled;
}

/* The exact way may leave one more without a record than has to be, where clocks
 * are apart: then the other way has the last word. */
int
passes_best(struct work *w)
{
	uint64_t left;

	if (mark_duplicates(w) != 0 || pair_all(w, true) != 0)
		return -1;
	if ((left = passes_left(w)) == 0)
		return 0;
	if (pair_all(w, false) != 0)
		return -1;
	return passes_left(w) < left ? 0 : pair_all(w, true);
}
