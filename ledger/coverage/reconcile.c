#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/coverage/match.h"
#include "ledger/coverage/reconcile.h"
#include "ledger/verify/load.h"

#define NONE SIZE_MAX

/* Records of one sort, by key. */
struct index {
	struct match_slot *slot;
	size_t n;
};

/* Of an action: within the run, outside of it, or too near to an end to tell. */
enum place { WITHIN, OUTSIDE, EDGE };

/* Which of them a round of passes is about. */
enum round { EVERY, NEAR, FAR };

/* Which records: those of which it is known what became, the others, or all, with
 * the others last. */
enum tier { SETTLED, UNSETTLED, ALL };

struct work {
	struct reconcile *re;
	struct index tunnels, refused, spare;	/* by "host:port"; by key */
	size_t *pair;		/* of each that was seen: its record, or NONE */
	bool *again;		/* it names an action that another line named */
	bool *taken, *taken_tcp;	/* of each record: it has its one */
	struct match_slot *record, *seen;	/* of a pass */
	char **key;		/* made for a pass, as many as there are seen or recorded */
	size_t keys;
	bool *taking;		/* which of the two flags */
	unsigned char *place;	/* of each that was seen: enum place */
	enum round round;
	enum tier tier;
	bool gave_up;		/* more pairs may be possible */
	struct act *act;	/* scratch */
	char about[ACT_VERB_MAX + ACT_TARGET_MAX + 2];	/* act, to be shown */
	int64_t window_us;	/* of this round */
};

/* ---- passes ---- */

static enum place
place_of(const struct work *w, const struct truth_seen *seen)
{
	const struct recorded *r = w->re->recorded;
	const int64_t last = seen->time_us + w->re->truth->resolution_us;

	if (last < r->from_us || seen->time_us > r->to_us)
		return OUTSIDE;
	return seen->time_us < r->from_us || last > r->to_us ? EDGE : WITHIN;
}

static bool
is_kind(const char *key, const char *kind)
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
	return w->pair[i] == NONE && !w->again[i] &&
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

static bool
is_named(const struct truth_seen *seen)
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
		if (is_left(w, i) && !is_named(&t->seen[i]))
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
		if (!is_left(w, i) || is_named(&t->seen[i]))
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
		w->re->source->hidden += w->pair[w->seen[i].of] != NONE;
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
		if (is_left(w, i) && is_kind(t->seen[i].key, "tcp") && !is_named(&t->seen[i]))
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

/* ---- what is left over ---- */

static bool
is_claimed(struct work *w, const char **excuse)
{
	const struct recorded *r = w->re->recorded;

	*excuse = "";
	for (size_t i = 0; i < r->claims; i++) {
		if (r->claim[i].is_record ? claim_covers(&r->claim[i].claim, w->act) :
		    scope_find(&r->claim[i].claim.sees, w->act) != NULL)
			return true;
		if ((*excuse)[0] == '\0')
			*excuse = claim_excuse(&r->claim[i].claim, w->act);
	}
	return r->claims == 0;	/* nobody says: everything is asked for */
}

/* Whether one of these records, sorted by key, is of that key and time. */
static bool
stands_in(const struct index *in, const char *key, const struct work *w,
    const struct truth_seen *seen)
{
	size_t low = 0, high = in->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(in->slot[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < in->n && strcmp(in->slot[low].key, key) == 0; low++)
		if (in->slot[low].from_us <= seen->time_us + w->re->truth->resolution_us &&
		    in->slot[low].to_us >= seen->time_us)
			return true;
	return false;
}

/* A tunnel that let it through unseen. */
static bool
in_tunnel(struct work *w, const struct truth_seen *seen)
{
	char where[ACT_TARGET_MAX + 1];

	return is_kind(seen->key, "http") && act_host_port(w->act, where, sizeof(where)) &&
	    stands_in(&w->tunnels, where, w, seen);
}

/* Verb and target as they may be shown, valid until the next call. */
static const char *
shown_act(struct work *w)
{
	const struct coverage_options *o = w->re->options;

	snprintf(w->about, sizeof(w->about), "%s %s", w->act->verb, w->act->target);
	return o->shown == NULL ? w->about : o->shown(o->shown_context, w->about);
}

static void
put_place(struct work *w, struct verify_finding *f, uint64_t line)
{
	f->line = line;
	snprintf(f->file, sizeof(f->file), "%s", w->re->source->file);
}

static void
find_unrecorded(struct work *w, const struct truth_seen *seen)
{
	struct coverage_source *s = w->re->source;
	const bool refused = stands_in(&w->refused, seen->key, w, seen);
	const bool differs = !is_named(seen) && seen->outcome != 0 &&
	    stands_in(&w->spare, seen->key, w, seen);
	char time[RECORD_TIME_LEN + 1] = "";

	s->unrecorded++;
	s->refused += refused;
	s->differ += differs;
	record_time_format(time, seen->time_us);
	put_place(w, verify_find(w->re->result, VERIFY_GAP, "unrecorded",
	    "%s saw %.180s at %s, and no record lets it through%s", s->source,
	    shown_act(w), time, differs ?
	    " with that outcome: the ledger has another" : refused ?
	    ": the ledger has it refused, or nothing sent" : is_named(seen) ? " under the name he gives" : ""),
	    seen->line);
}

static void
find_edge(struct work *w, const struct truth_seen *seen)
{
	w->re->source->edge++;
	put_place(w, verify_find(w->re->result, VERIFY_NOT_ESTABLISHED, "edge",
	    "%s saw %.180s about when the run began or ended: his times are too coarse "
	    "to tell which side", w->re->source->source, shown_act(w)), seen->line);
}

static void
find_in_tunnel(struct work *w, const struct truth_seen *seen)
{
	w->re->source->in_tunnel++;
	put_place(w, verify_find(w->re->result, VERIFY_NOT_ESTABLISHED, "in_tunnel",
	    "%s saw %.180s while a recorded tunnel to that place was open: what was said in "
	    "it is not recorded", w->re->source->source, shown_act(w)), seen->line);
}

static void
find_unsettled(struct work *w, size_t i)
{
	const struct truth_seen *seen = &w->re->truth->seen[i];
	const uint64_t index = w->re->recorded->act[w->pair[i]].index;

	w->re->source->unsettled++;
	act_of_key(w->act, seen->key);
	put_place(w, verify_find(w->re->result, VERIFY_NOT_ESTABLISHED, "unsettled",
	    "%s saw %.180s, and only record %" PRIu64 " is left for it, which does not tell "
	    "whether it was carried out", w->re->source->source, shown_act(w), index), seen->line);
}

static void
find_outside(struct coverage_source *s, const char *excuse)
{
	if (s->outside_scope++ == 0)
		snprintf(s->excuse, sizeof(s->excuse), "%s", excuse);
}

static void
sort_out(struct work *w, const struct truth_seen *seen)
{
	struct coverage_source *s = w->re->source;
	const enum place place = w->place[seen - w->re->truth->seen];
	const char *excuse = "";

	act_of_key(w->act, seen->key);
	if (place == OUTSIDE)
		s->outside_time++;
	else if (!is_claimed(w, &excuse))
		find_outside(s, excuse);
	else if (in_tunnel(w, seen))
		find_in_tunnel(w, seen);
	else if (place == EDGE)
		find_edge(w, seen);
	else
		find_unrecorded(w, seen);
}

/* ---- the other direction ---- */

static void
find_missed(struct work *w, const struct recorded_act *act)
{
	struct coverage_source *s = w->re->source;
	struct verify_finding *f;

	s->missed++;
	f = verify_find(w->re->result, VERIFY_NOT_ESTABLISHED, "unobserved",
	    "%.180s was sent and answered, and %s, who sees all of these, did not see it",
	    shown_act(w), s->source);
	f->has_index = true;
	f->index = act->index;
}

/* Sent and answered within his time, his to see. */
static void
look_for_missed(struct work *w)
{
	const struct recorded *r = w->re->recorded;
	const struct truth *t = w->re->truth;

	for (size_t i = 0; i < r->n; i++) {
		const struct recorded_act *act = &r->act[i];

		if (!act->ours || act->fate != RECORDED_SENT || w->taken[i] || act->hidden ||
		    act->from_us < t->from_us || act->to_us > t->to_us)
			continue;
		act_of_key(w->act, act->key);
		if (scope_find(&t->sees, w->act) == NULL)
			continue;
		if (t->exhaustive)
			find_missed(w, act);
		else
			w->re->source->unseen++;
	}
}

/* ---- the whole ---- */

static int
index_order(const void *a, const void *b)
{
	return strcmp(((const struct match_slot *)a)->key,
	    ((const struct match_slot *)b)->key);
}

static void
index_add(struct index *to, const char *key, const struct recorded_act *act,
    int64_t window_us)
{
	to->slot[to->n++] = (struct match_slot){ key, act->from_us - window_us,
	    act->to_us + window_us, 0, act->status, false };
}

/* Once, so that many actions without a record do not cost many searches. */
static int
make_indices(struct work *w)
{
	const struct recorded *r = w->re->recorded;

	w->tunnels.slot = calloc(r->n + 1, sizeof(*w->tunnels.slot));
	w->refused.slot = calloc(r->n + 1, sizeof(*w->refused.slot));
	w->spare.slot = calloc(r->n + 1, sizeof(*w->spare.slot));
	if (w->tunnels.slot == NULL || w->refused.slot == NULL || w->spare.slot == NULL)
		return -1;
	for (size_t i = 0; i < r->n; i++) {
		const struct recorded_act *act = &r->act[i];

		if (act->fate == RECORDED_REFUSED || act->fate == RECORDED_NOTHING)
			index_add(&w->refused, act->key, &(struct recorded_act){
			    .from_us = act->from_us, .to_us = act->from_us }, w->window_us);
		else if (is_kind(act->key, "connect"))
			index_add(&w->tunnels, strrchr(act->key, '\n') + 1, act, w->window_us);
	}
	if (w->tunnels.n > 1)
		qsort(w->tunnels.slot, w->tunnels.n, sizeof(*w->tunnels.slot), index_order);
	if (w->refused.n > 1)
		qsort(w->refused.slot, w->refused.n, sizeof(*w->refused.slot), index_order);
	return 0;
}

/* Records that have a status and are nobody's. */
static void
index_spare(struct work *w)
{
	const struct recorded *r = w->re->recorded;

	for (size_t i = 0; i < r->n; i++)
		if (!w->taken[i] && r->act[i].status != 0 && r->act[i].fate != RECORDED_REFUSED)
			index_add(&w->spare, r->act[i].key, &r->act[i], w->window_us);
	if (w->spare.n > 1)
		qsort(w->spare.slot, w->spare.n, sizeof(*w->spare.slot), index_order);
}

static enum verify_verdict
verdict_of(const struct work *w)
{
	const struct coverage_source *s = w->re->source;

	if (s->unrecorded > 0)
		return VERIFY_GAP;
	if (s->unsettled > 0 || s->gave_up || s->in_tunnel > 0 || s->edge > 0 || s->missed > 0 || s->bad > 0 || s->unread > 0 ||
	    s->ours == 0 || w->re->recorded->unclear > 0 ||
	    w->re->recorded->unread > 0 || w->re->recorded->full)
		return VERIFY_NOT_ESTABLISHED;
	return VERIFY_COMPLETE;
}

static int
work_init(struct work *w)
{
	const size_t n = w->re->recorded->n, m = w->re->truth->n;

	w->pair = calloc(m + 1, sizeof(*w->pair));
	w->again = calloc(m + 1, sizeof(*w->again));
	w->seen = calloc(m + 1, sizeof(*w->seen));
	w->taken = calloc(n + 1, sizeof(*w->taken));
	w->taken_tcp = calloc(n + 1, sizeof(*w->taken_tcp));
	w->record = calloc(n + 1, sizeof(*w->record));
	w->key = calloc(n + m + 1, sizeof(*w->key));
	w->act = malloc(sizeof(*w->act));
	w->place = calloc(m + 1, sizeof(*w->place));
	w->window_us = w->re->options->window_ms * 1000;
	for (size_t i = 0; w->place != NULL && i < m; i++)
		w->place[i] = (unsigned char)place_of(w, &w->re->truth->seen[i]);
	return w->pair == NULL || w->again == NULL || w->seen == NULL ||
	    w->taken == NULL || w->taken_tcp == NULL || w->record == NULL ||
	    w->key == NULL || w->act == NULL || w->place == NULL ? -1 : 0;
}

static void
work_free(struct work *w)
{
	while (w->keys > 0)
		free(w->key[--w->keys]);
	free(w->pair);
	free(w->again);
	free(w->seen);
	free(w->taken);
	free(w->taken_tcp);
	free(w->record);
	free(w->key);
	free(w->act);
	free(w->place);
	free(w->tunnels.slot);
	free(w->refused.slot);
	free(w->spare.slot);
}

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
		w->pair[i] = NONE;
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

static bool
is_unsettled(const struct work *w, size_t seen)
{
	const struct recorded_act *act;

	if (w->pair[seen] == NONE)
		return false;
	act = &w->re->recorded->act[w->pair[seen]];
	return is_kind(w->re->truth->seen[seen].key, "tcp") ? is_unsettled_tcp(act) : act->unsettled;
}

/* How far the pairs are from what everybody wants: one that is left counts more
 * than all that are unsettled. */
static uint64_t
left_within(const struct work *w)
{
	uint64_t left = 0, unsettled = 0;

	for (size_t i = 0; i < w->re->truth->n; i++) {
		left += w->pair[i] == NONE && !w->again[i] && w->place[i] != OUTSIDE;
		unsettled += is_unsettled(w, i);
	}
	return left << 32 | unsettled;
}

/* The exact way may leave one more without a record than has to be, where clocks
 * are apart: then the other way has the last word. */
static int
pair_best(struct work *w)
{
	uint64_t left;

	if (mark_duplicates(w) != 0 || pair_all(w, true) != 0)
		return -1;
	if ((left = left_within(w)) == 0)
		return 0;
	if (pair_all(w, false) != 0)
		return -1;
	return left_within(w) < left ? 0 : pair_all(w, true);
}

int
reconcile_run(struct reconcile *re)
{
	struct work w = { .re = re };
	struct coverage_source *s = re->source;
	int result = -1;

	s->exhaustive = re->truth->exhaustive;
	s->bad = re->truth->bad;
	s->left_out = re->truth->left_out;
	s->unread = re->truth->unread;
	if (work_init(&w) != 0 || make_indices(&w) != 0 || pair_best(&w) != 0)
		goto out;
	index_spare(&w);
	s->gave_up = w.gave_up && left_within(&w) != 0;
	for (size_t i = 0; i < re->truth->n; i++) {
		s->seen += !w.again[i];
		if (w.pair[i] != NONE) {
			s->recorded++;
			s->ours += re->recorded->act[w.pair[i]].ours;
			if (is_unsettled(&w, i))
				find_unsettled(&w, i);
		} else if (!w.again[i]) {
			sort_out(&w, &re->truth->seen[i]);
		}
	}
	look_for_missed(&w);
	s->verdict = verdict_of(&w);
	result = 0;
out:
	work_free(&w);
	return result;
}
