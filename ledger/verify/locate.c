#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/verify/locate.h"

#define WINDOW 256	/* leaves that are looked through for a match */

/* ---- by leaves ---- */

static uint64_t
slot_of(const struct locate *l, const uint8_t leaf[TREE_HASH_LEN])
{
	uint64_t h;

	memcpy(&h, leaf, sizeof(h));	/* a hash already */
	return h & l->mask;
}

/* The table of the leaves from base on. */
static void
tabulate(struct locate *l, uint64_t base)
{
	const uint8_t *leaf;
	uint64_t i, at;

	memset(l->table, 0, (l->mask + 1) * sizeof(*l->table));
	l->base = base;
	for (i = 0; i < LOCATE_SPAN && (leaf = leaves_at(l->leaves, base + i)) != NULL; i++) {
		for (at = slot_of(l, leaf); l->table[at] != 0; at = (at + 1) & l->mask)
			;
		l->table[at] = (uint32_t)(i + 1);
	}
}

int
locate_begin(struct locate *l)
{
	const uint64_t span = l->leaves->count < LOCATE_SPAN ? l->leaves->count : LOCATE_SPAN;
	uint64_t size = 64;

	l->at = l->pending = 0;
	while (size < 2 * span)
		size *= 2;
	l->mask = size - 1;
	if ((l->table = malloc(size * sizeof(*l->table))) == NULL)
		return -1;
	tabulate(l, 0);
	return 0;
}

void
locate_free(struct locate *l)
{
	free(l->table);
	l->table = NULL;
}

/* How far behind `at` the leaf stands, if within the window; or the window. */
static uint64_t
ahead(const struct locate *l, const uint8_t leaf[TREE_HASH_LEN], uint64_t window)
{
	const uint8_t *other;
	uint64_t slot, i;

	for (slot = slot_of(l, leaf); l->table[slot] != 0; slot = (slot + 1) & l->mask) {
		i = l->base + l->table[slot] - 1;
		if (i >= l->at && i - l->at < window &&
		    (other = leaves_at(l->leaves, i)) != NULL &&
		    memcmp(other, leaf, TREE_HASH_LEN) == 0)
			return i - l->at;
	}
	return window;
}

/* So many leaves behind `at` may be the next line's. */
static uint64_t
window_of(struct locate *l)
{
	const uint64_t left = l->leaves->count - l->at;
	uint64_t window = WINDOW + (uint64_t)l->pending;

	if (window > left)
		window = left;
	if (window > LOCATE_SPAN)
		window = LOCATE_SPAN;
	if (l->at + window > l->base + LOCATE_SPAN)
		tabulate(l, l->at);
	return window;
}

/* Where the line stands and what it calls itself, as far as it can be read. */
static void
describe(struct verify_finding *f, const struct locate *l,
    const struct walk_batch *batch, unsigned i)
{
	const struct walk_line *line = &batch->lines[i];

	f->line = batch->line + i;
	snprintf(f->file, sizeof(f->file), "%s",
	    l->load->segment[l->segment + batch->segment].path);
	if (line->rule != NULL)
		return;
	snprintf(f->stream, sizeof(f->stream), "%.*s",
	    (int)line->record.stream.len, line->record.stream.ptr);
	snprintf(f->type, sizeof(f->type), "%.*s", (int)line->record.type.len,
	    line->record.type.ptr);
	f->seq = line->record.seq;
	f->has_seq = true;
}

/*
 * The lines that matched nothing stand where count authentic records should.
 * As many: each was altered.  None: they were put in.  Otherwise both.
 */
static void
difference(struct locate *l, uint64_t count)
{
	const uint64_t index = l->first + l->at;
	const struct verify_finding *place = &l->place;
	struct verify_finding *f;

	if (index < l->end && count > l->end - index)
		count = l->end - index;
	if (index >= l->end || (l->pending == 0 && count == 0)) {
		l->pending = 0;
		return;
	}
	if (l->pending == 0)
		f = verify_find(l->result, VERIFY_GAP, "missing",
		    "%" PRIu64 " signed record%s not there", count,
		    count == 1 ? " is" : "s are");
	else if (count == 0)
		f = verify_find(l->result, VERIFY_GAP, "inserted",
		    "%u line%s that the signed tree does not have", l->pending,
		    l->pending == 1 ? "" : "s");
	else if (count == l->pending)
		f = verify_find(l->result, VERIFY_GAP, "altered",
		    count == 1 ? "its leaf is not the one in the signed tree" :
		    "%" PRIu64 " records in a row are not those in the signed tree",
		    count);
	else
		f = verify_find(l->result, VERIFY_GAP, "altered",
		    "%u line%s where the signed tree has %" PRIu64 " record%s",
		    l->pending, l->pending == 1 ? "" : "s", count, count == 1 ? "" : "s");
	if (l->pending > 0) {
		memcpy(f->file, place->file, sizeof(f->file));
		memcpy(f->stream, place->stream, sizeof(f->stream));
		memcpy(f->type, place->type, sizeof(f->type));
		f->line = place->line;
		f->seq = place->seq;
		f->has_seq = place->has_seq;
	}
	f->has_index = true;
	f->index = index;
	f->count = count > 0 ? count : 1;
	l->pending = 0;
}

void
locate_batch(struct locate *l, const struct walk_batch *batch)
{
	uint64_t k, window;
	unsigned i;

	for (i = 0; i < batch->count; i++) {
		window = window_of(l);
		k = ahead(l, batch->lines[i].leaf, window);
		if (k < window) {
			difference(l, k);
			l->at += k + 1;
		} else if (l->pending++ == 0) {
			memset(&l->place, 0, sizeof(l->place));
			describe(&l->place, l, batch, i);
		}
	}
}

void
locate_end(struct locate *l)
{
	difference(l, l->leaves->count - l->at);
}

/* ---- by the chain ---- */

struct verify_finding *
locate_at_event(const struct chain *chain, const struct load *load,
    const struct chain_event *e, struct verify_finding *f)
{
	f->has_index = true;
	f->index = e->index;
	f->line = e->line;
	snprintf(f->file, sizeof(f->file), "%s", load->segment[e->segment].path);
	if (e->stream >= 0)
		snprintf(f->stream, sizeof(f->stream), "%s", chain->stream[e->stream].name);
	if (e->kind != CHAIN_UNREADABLE) {
		f->has_seq = true;
		f->seq = e->seq;
		snprintf(f->type, sizeof(f->type), "%s", e->type);
	}
	return f;
}

/* The record before e in its stream. */
static void
at_before(const struct chain *chain, const struct load *load,
    const struct chain_event *e, struct verify_finding *f)
{
	locate_at_event(chain, load, e, f);
	f->index = e->before;
	f->seq = e->expected - 1;
	f->type[0] = '\0';
	/* its line is known where it lies in the same file */
	f->line = e->index - e->before < e->line ? e->line - (e->index - e->before) : 0;
	if (f->line == 0)
		f->file[0] = '\0';
}

/* The event, further on, that the stream's record behind e showed; or NULL. */
static const struct chain_event *
follower(const struct chain *chain, unsigned i)
{
	const struct chain_event *e = &chain->event[i];
	unsigned k;

	for (k = i + 1; k < chain->events; k++)
		if (chain->event[k].stream == e->stream && e->stream >= 0 &&
		    chain->event[k].before == e->index)
			return &chain->event[k];
	return NULL;
}

/* Whether a line between the event's record and the one before it already
 * explains the hole: unreadable, or under a name that no stream had. */
static bool
explained(const struct chain *chain, unsigned i)
{
	const struct chain_event *e = &chain->event[i];
	unsigned k;

	for (k = i; k-- > 0;)
		if ((chain->event[k].kind == CHAIN_UNREADABLE ||
		    chain->event[k].kind == CHAIN_START) &&
		    (e->before == UINT64_MAX || chain->event[k].index > e->before))
			return true;
	return false;
}

/* A stream of one record that would be the one before e, had it e's name. */
static const struct chain_stream *
misnamed(const struct chain *chain, const struct chain_event *e)
{
	unsigned i;

	for (i = 0; i < chain->count; i++)
		if (chain->stream[i].records == 1 &&
		    chain->stream[i].next_seq == e->seq &&
		    chain->stream[i].first_index < e->index)
			return &chain->stream[i];
	return NULL;
}

static void
name_start(const struct chain *chain, const struct load *load,
    const struct chain_event *e, struct verify_result *result)
{
	const struct chain_stream *other = misnamed(chain, e);
	struct verify_finding *f;

	if (other == NULL) {
		locate_at_event(chain, load, e, verify_find(result, VERIFY_GAP, "altered",
		    "a stream of this name never began"));
		return;
	}
	f = verify_find(result, VERIFY_GAP, "altered", "alone in its stream, where "
	    "the stream at index %" PRIu64 " lacks the record before", e->index);
	f->has_index = f->has_seq = true;
	f->index = other->first_index;
	f->seq = other->first_seq;
	snprintf(f->stream, sizeof(f->stream), "%s", other->name);
}

/*
 * Where prev and the leaf before do not agree, which of the two was changed?
 * The record itself, where the one behind it does not know its leaf either, or
 * the one before is sealed.  A stream's last record leaves it open: then the
 * root tells whether the leaf that prev names would have given it.
 */
static bool
before_is_intact(const struct suspects *s, const struct chain_event *e,
    const struct chain_event *after)
{
	if (after != NULL || e->before < s->from)
		return true;
	if (e->index != s->chain->stream[e->stream].last_index)
		return false;
	return !s->fits(s->context, e->before, e->prev);
}

/* Of two neighbours whose link does not fit, the one that was changed. */
static void
name_link(const struct suspects *s, const struct chain_event *e, const struct chain_event *after)
{
	if (before_is_intact(s, e, after))
		locate_at_event(s->chain, s->load, e, verify_find(s->result, VERIFY_GAP,
		    "altered", "its prev is not the leaf of its stream's record before"));
	else
		at_before(s->chain, s->load, e, verify_find(s->result, VERIFY_GAP,
		    "altered", "its leaf is not the prev of the stream's next "
		    "record, at index %" PRIu64, e->index));
}

/* A seq beyond the one expected: its record was changed where the next one goes on
 * behind the expected one, else records are gone. */
static void
name_jump(const struct suspects *s, const struct chain_event *e, bool next_goes_on)
{
	if (next_goes_on)
		locate_at_event(s->chain, s->load, e, verify_find(s->result, VERIFY_GAP,
		    "altered", "seq %" PRIu64 " stands where %" PRIu64 " belongs",
		    e->seq, e->expected));
	else
		locate_at_event(s->chain, s->load, e, verify_find(s->result, VERIFY_GAP,
		    "missing", "seq %" PRIu64 " to %" PRIu64 " are not there, before this record",
		    e->expected, e->seq - 1))->count = e->seq - e->expected;
}

/* What one event names.  *next gets an event that it explains too. */
static void
name_event(const struct suspects *s, unsigned i, const struct chain_event **next)
{
	const struct chain *chain = s->chain;
	const struct chain_event *e = &chain->event[i];
	const struct chain_event *after = follower(chain, i);
	bool next_goes_on;

	switch (e->kind) {
	case CHAIN_UNREADABLE:
		locate_at_event(chain, s->load, e, verify_find(s->result, VERIFY_GAP, "altered",
		    "no record: %s", e->rule));
		return;
	case CHAIN_START:
		if (e->seq > 0 && explained(chain, i))	/* its first one is unreadable */
			return;
		if (after != NULL)
			*next = after;
		name_start(chain, s->load, e, s->result);
		return;
	case CHAIN_PREV:
		*next = after;
		name_link(s, e, after);
		return;
	case CHAIN_MISSING:
		if (explained(chain, i))
			return;
		next_goes_on = after != NULL && after->seq == e->expected + 1;
		if (next_goes_on)
			*next = after;
		name_jump(s, e, next_goes_on);
		return;
	case CHAIN_BACK:
		if (after != NULL && after->kind == CHAIN_MISSING)
			*next = after;
		locate_at_event(chain, s->load, e, verify_find(s->result, VERIFY_GAP, "reordered",
		    "seq %" PRIu64 " stands where %" PRIu64 " belongs", e->seq,
		    e->expected));
		return;
	default:
		locate_at_event(chain, s->load, e, verify_find(s->result, VERIFY_GAP, "altered",
		    "it does not fit its stream"));
	}
}

/* Nothing in the chain: what no record points to was changed. */
static void
name_last(const struct chain *chain, const struct load *load, uint64_t from,
    uint64_t seal_size, struct verify_result *result)
{
	const struct chain_stream *s, *only = NULL;
	struct verify_finding *f;
	unsigned i, candidates = 0;

	for (i = 0; i < chain->count; i++) {
		s = &chain->stream[i];
		if (s->last_index < from || s->last_index >= seal_size)
			continue;
		candidates++;
		only = s;
	}
	if (candidates != 1) {
		f = verify_find(result, VERIFY_GAP, "altered", "a record between index %"
		    PRIu64 " and %" PRIu64 " does not give the signed root: one that no "
		    "other record points to, or the frontier before them", from,
		    seal_size - 1);
		f->count = seal_size - from;
		f->has_index = true;
		f->index = from;
		return;
	}
	f = verify_find(result, VERIFY_GAP, "altered",
	    "the last record of its stream does not give the signed root");
	f->has_index = f->has_seq = true;
	f->index = only->last_index;
	f->seq = only->next_seq - 1;
	snprintf(f->stream, sizeof(f->stream), "%s", only->name);
	if (load->segments == 1) {
		f->line = only->last_index - load->segment[0].first + 1;
		snprintf(f->file, sizeof(f->file), "%s", load->segment[0].path);
	}
}

/* What follows from the order of types is a consequence of what was changed,
 * unless nothing else shows. */
static bool
is_consequence(enum chain_kind kind)
{
	return kind == CHAIN_CLOSE || kind == CHAIN_UNOPENED || kind == CHAIN_HEADS ||
	    kind == CHAIN_CLOCK || kind == CHAIN_CROWDED || kind == CHAIN_OPEN ||
	    kind == CHAIN_NO_HOLE || kind == CHAIN_PACK_OTHER || kind == CHAIN_PACK || kind == CHAIN_PACK_BEFORE;
}

static void
name_events(const struct suspects *s, bool consequences)
{
	const struct chain_event *skip[CHAIN_EVENTS_MAX] = { NULL }, *next;
	const struct chain_event *e, *unreadable = NULL;
	unsigned i, k, skips = 0;

	for (i = 0; i < s->chain->events; i++) {
		e = &s->chain->event[i];
		for (k = 0; k < skips && skip[k] != e; k++)
			;
		if (k < skips || e->kind == CHAIN_CUT || e->kind == CHAIN_DROP ||
		    is_consequence(e->kind) != consequences)
			continue;
		/* a record that became several lines is one record */
		if (e->kind == CHAIN_UNREADABLE) {
			next = unreadable;
			unreadable = e;
			if (next != NULL && next->index + 1 == e->index)
				continue;
		}
		next = NULL;
		name_event(s, i, &next);
		if (next != NULL)
			skip[skips++] = next;
	}
}

void
locate_by_chain(const struct suspects *s)
{
	const uint64_t found = s->result->finding_count;

	name_events(s, false);
	if (s->result->finding_count == found)
		name_events(s, true);
	if (s->result->finding_count == found && s->to > s->from)
		name_last(s->chain, s->load, s->from, s->to, s->result);
}
