#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/coverage/passes.h"
#include "ledger/verify/load.h"

/* ---- what is left over ---- */

static bool
is_claimed(struct work *w, const char **excuse)
{
	const struct recorded *r = w->re->recorded;

	*excuse = "";
	for (size_t i = 0; i < r->claims; i++) {
		if (r->claim[i].is_record ? claim_covers(&r->claim[i].claim, w->act, &w->looks) :
		    scope_find(&r->claim[i].claim.sees, w->act, &w->looks) != NULL)
			return true;
		if ((*excuse)[0] == '\0')
			*excuse = claim_excuse(&r->claim[i].claim, w->act, &w->looks);
	}
	return r->claims == 0;	/* nobody says: everything is asked for */
}

static int
index_order(const void *a, const void *b)
{
	const struct match_slot *x = a, *y = b;
	const int order = strcmp(x->key, y->key);

	return order != 0 ? order : (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* By key and beginning; to_us becomes the latest end of any that begins no later. */
static void
index_sort(struct index *in)
{
	if (in->n > 1)
		qsort(in->slot, in->n, sizeof(*in->slot), index_order);
	for (size_t i = 1; i < in->n; i++)
		if (strcmp(in->slot[i].key, in->slot[i - 1].key) == 0 &&
		    in->slot[i].to_us < in->slot[i - 1].to_us)
			in->slot[i].to_us = in->slot[i - 1].to_us;
}

/* Whether one of these records is of that key and time: the last that begins in
 * time knows of all before it. */
static bool
stands_in(const struct index *in, const char *key, const struct work *w,
    const struct truth_seen *seen)
{
	const struct match_slot at = { .key = key,
	    .from_us = seen->time_us + w->re->truth->resolution_us };
	size_t low = 0, high = in->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (index_order(&in->slot[middle], &at) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && strcmp(in->slot[low - 1].key, key) == 0 &&
	    in->slot[low - 1].to_us >= seen->time_us;
}

/* A tunnel that let it through unseen. */
static bool
in_tunnel(struct work *w, const struct truth_seen *seen)
{
	char where[ACT_TARGET_MAX + 1];

	return passes_is_kind(seen->key, "http") && act_host_port(w->act, where, sizeof(where)) &&
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
	const bool differs = !passes_is_named(seen) && seen->outcome != 0 &&
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
	    ": the ledger has it refused, or nothing sent" : passes_is_named(seen) ?
	    " under the name he gives" : ""),
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
	bool claimed;

	act_of_key(w->act, seen->key);
	claimed = place != OUTSIDE && is_claimed(w, &excuse);
	if (place == OUTSIDE)
		s->outside_time++;
	else if (w->looks == 0)
		return;		/* nobody knows, and that will be said */
	else if (!claimed)
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
		if (scope_find(&t->sees, w->act, &w->looks) == NULL)
			continue;
		if (t->exhaustive)
			find_missed(w, act);
		else
			w->re->source->unseen++;
	}
}

/* ---- the whole ---- */

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
		else if (passes_is_kind(act->key, "connect"))
			index_add(&w->tunnels, strrchr(act->key, '\n') + 1, act, w->window_us);
	}
	index_sort(&w->tunnels);
	index_sort(&w->refused);
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
	index_sort(&w->spare);
}

static enum verify_verdict
verdict_of(const struct work *w)
{
	const struct coverage_source *s = w->re->source;

	if (s->unrecorded > 0)
		return VERIFY_GAP;
	if (s->unsettled > 0 || s->gave_up || s->lists_long || s->in_tunnel > 0 || s->edge > 0 ||
	    s->missed > 0 || s->bad > 0 || s->unread > 0 || s->beyond > 0 || s->ahead ||
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
	w->looks = w->re->truth->looks;
	for (size_t i = 0; w->place != NULL && i < m; i++)
		w->place[i] = (unsigned char)passes_place(w, &w->re->truth->seen[i]);
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

/* Clocks may be apart as far as those of the records. */
static bool
is_ahead(const struct truth *t, const struct coverage_options *options)
{
	return options->now_us > 0 && t->exhaustive && t->to_us != INT64_MAX &&
	    t->to_us > options->now_us + options->window_ms * 1000;
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
	s->beyond = re->truth->beyond;
	s->ahead = is_ahead(re->truth, re->options);
	if (work_init(&w) != 0 || make_indices(&w) != 0 || passes_best(&w) != 0)
		goto out;
	index_spare(&w);
	s->gave_up = w.gave_up && passes_left(&w) != 0;
	for (size_t i = 0; i < re->truth->n; i++) {
		s->seen += !w.again[i];
		if (w.pair[i] != PASSES_NONE) {
			s->recorded++;
			s->ours += re->recorded->act[w.pair[i]].ours;
			if (passes_is_unsettled(&w, i))
				find_unsettled(&w, i);
		} else if (!w.again[i]) {
			sort_out(&w, &re->truth->seen[i]);
		}
	}
	look_for_missed(&w);
	s->lists_long = w.looks == 0;
	s->verdict = verdict_of(&w);
	result = 0;
out:
	work_free(&w);
	return result;
}
