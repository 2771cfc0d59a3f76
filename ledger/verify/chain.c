#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/verify/chain_impl.h"
#include "ledger/verify/heads.h"

#define TABLE (4 * CHAIN_STREAMS_MAX)

int
chain_init(struct chain *chain, bool part)
{
	memset(chain, 0, sizeof(*chain));
	chain->part = part;
	chain->end = UINT64_MAX;
	chain->table = calloc(TABLE, sizeof(*chain->table));
	return chain->table != NULL ? 0 : -1;
}

void
chain_free(struct chain *chain)
{
	free(chain->stream);
	free(chain->table);
	chain->stream = NULL;
	chain->table = NULL;
}

void
chain_note(struct chain *chain, enum chain_kind kind, const struct chain_here *here,
    struct chain_stream *stream, uint64_t expected)
{
	const struct record_line *r = &here->line->record;
	struct chain_event *e;
	bool readable = here->line->rule == NULL;

	if (stream != NULL && kind != CHAIN_CUT && kind != CHAIN_DROP &&
	    kind != CHAIN_PACK_BEFORE)
		stream->faults++;
	chain->event_count++;
	if (chain->events == CHAIN_EVENTS_MAX)
		return;
	e = &chain->event[chain->events++];
	*e = (struct chain_event){ .kind = kind, .index = here->index,
	    .before = UINT64_MAX, .stream = -1, .expected = expected,
	    .rule = here->line->rule, .line = here->number, .segment = here->segment };
	if (stream != NULL) {
		e->stream = (int)(stream - chain->stream);
		if (stream->records > 0)
			e->before = stream->last_index;
	}
	if (readable) {
		e->seq = r->seq;
		memcpy(e->prev, here->line->prev, TREE_HASH_LEN);
		snprintf(e->type, sizeof(e->type), "%.*s", (int)r->type.len, r->type.ptr);
	}
}

static bool
named(const struct chain_stream *stream, struct record_slice name)
{
	return stream->name_len == name.len &&
	    memcmp(stream->name, name.ptr, name.len) == 0;
}

static uint32_t
hash(struct record_slice name)
{
	uint32_t h = 2166136261u;
	size_t i;

	for (i = 0; i < name.len; i++)
		h = (h ^ (uint8_t)name.ptr[i]) * 16777619u;
	return h;
}

/* Where the name is, or belongs, in the table. */
static uint32_t
place_of(const struct chain *chain, struct record_slice name)
{
	uint32_t at = hash(name) % TABLE;

	while (chain->table[at] != 0 &&
	    !named(&chain->stream[chain->table[at] - 1], name))
		at = (at + 1) % TABLE;
	return at;
}

struct chain_stream *
chain_find(struct chain *chain, struct record_slice name)
{
	const uint32_t at = place_of(chain, name);

	return chain->table[at] == 0 ? NULL : &chain->stream[chain->table[at] - 1];
}

/* One more; the array doubles.  NULL: too many, or memory lacks. */
static struct chain_stream *
add_stream(struct chain *chain, struct record_slice name)
{
	const unsigned count = chain->count;
	struct chain_stream *more, *stream;

	if (count == CHAIN_STREAMS_MAX)
		return NULL;
	if ((count & (count + 1)) == 0) {
		more = realloc(chain->stream, (2 * (size_t)count + 2) * sizeof(*more));
		if (more == NULL)
			return NULL;
		chain->stream = more;
	}
	stream = &chain->stream[chain->count++];
	memset(stream, 0, sizeof(*stream));
	memcpy(stream->name, name.ptr, name.len);
	stream->name_len = name.len;
	return stream;
}

/* The stream of that name, made where there is none; NULL: too many. */
static struct chain_stream *
stream_of(struct chain *chain, struct record_slice name)
{
	uint32_t at;

	if (chain->count > 0 && named(&chain->stream[chain->recent], name))
		return &chain->stream[chain->recent];
	at = place_of(chain, name);
	if (chain->table[at] == 0) {
		if (add_stream(chain, name) == NULL)
			return NULL;
		chain->table[at] = (uint16_t)chain->count;
	}
	chain->recent = chain->table[at] - 1u;
	return &chain->stream[chain->recent];
}

static void
note_drop(struct chain *chain, const struct chain_here *here, struct chain_stream *s,
    uint64_t from)
{
	const uint64_t count = here->line->record.seq - from;

	chain_note(chain, CHAIN_DROP, here, s, from);
	s->dropped += count;
	if (chain->events > 0)
		chain->event[chain->events - 1].dropped = count;
}

static void
take_seq(struct chain *chain, const struct chain_here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;
	bool fits = memcmp(here->line->prev, s->last, TREE_HASH_LEN) == 0;

	if (r->seq == s->next_seq) {
		if (!fits)
			chain_note(chain, CHAIN_PREV, here, s, s->next_seq);
		else if (record_slice_is(r->type, "drop"))
			chain_note(chain, CHAIN_NO_HOLE, here, s, s->next_seq);
	} else if (r->seq < s->next_seq) {
		chain_note(chain, CHAIN_BACK, here, s, s->next_seq);
	} else if (fits && chain_declares(s, r)) {
		note_drop(chain, here, s, s->next_seq);
	} else {
		chain_note(chain, CHAIN_MISSING, here, s, s->next_seq);
	}
}

static void
take_first(struct chain *chain, const struct chain_here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;
	bool zeros = sodium_is_zero(here->line->prev, TREE_HASH_LEN);
	uint64_t from;

	s->begun = r->seq == 0;
	s->open = !s->begun;	/* what began before is taken as open */
	if (zeros != s->begun || (!s->begun && !chain->part))
		chain_note(chain, CHAIN_START, here, s, 0);
	else if (!record_slice_is(r->type, "drop"))
		return;
	else if ((from = chain_spans(r)) < r->seq)
		note_drop(chain, here, s, from);
	else
		chain_note(chain, CHAIN_NO_HOLE, here, s, 0);
}

int
chain_recall(struct chain *chain, const struct record_line *heads)
{
	struct heads_entry entry;
	struct chain_stream *s;
	struct heads table;
	int status = heads_open(&table, heads->body);

	while (status == 0 && heads_next(&table, &entry)) {
		s = stream_of(chain, entry.name);
		if (s == NULL || s->next_seq != 0) {
			status = -1;
			break;
		}
		memcpy(s->last, entry.last, TREE_HASH_LEN);
		s->next_seq = entry.next_seq;
		s->first_seq = entry.next_seq - 1;
		s->open = entry.open;
		s->begun = s->recalled = true;
	}
	if (table.bad)
		status = -1;
	heads_close(&table);
	in_force_add(&chain->packs, heads->policy.ptr, 0);
	return status;
}

/* The recorder's clock may be set back: a `clock` record says so, which is the
 * first behind it, but for the `open` of a session that begins so. */
static void
take_time(struct chain *chain, const struct chain_here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;

	if (r->time_us < s->time_us && !record_slice_is(r->type, "clock") &&
	    !record_slice_is(r->type, "open"))
		chain_note(chain, CHAIN_CLOCK, here, s, 0);
}

static void
keep_time(struct chain *chain, struct chain_stream *s, const struct record_line *r,
    uint64_t index)
{
	s->time_us = r->time_us;
	if (r->time_us > chain->latest_us) {
		chain->latest_us = r->time_us;
		chain->latest = index;
	}
}

/* The line's stream; NULL: none, or one too many. */
static struct chain_stream *
take(struct chain *chain, const struct chain_here *here)
{
	const struct record_line *r = &here->line->record;
	struct chain_stream *s;

	if (here->line->rule != NULL) {
		chain_note(chain, CHAIN_UNREADABLE, here, NULL, 0);
		return NULL;
	}
	if ((s = stream_of(chain, r->stream)) == NULL) {
		chain->crowded = true;
		chain_note(chain, CHAIN_CROWDED, here, NULL, 0);
		return NULL;
	}
	if (s->records == 0 && !s->recalled)
		take_first(chain, here, s);
	else
		take_seq(chain, here, s);
	if (s->records == 0) {
		s->first_seq = r->seq;
		s->first_index = here->index;
	}
	take_time(chain, here, s);
	/* five letters at most: most records are told apart by their length */
	if (!s->open || r->type.len == 4 || r->type.len == 5)
		chain_take_state(chain, here, s);
	if (memcmp(s->pack, r->policy.ptr, RECORD_POLICY_LEN) != 0)
		chain_look_pack(chain, here, s);
	if (record_slice_is(r->type, "policy"))
		chain_take_pack(chain, here, s);
	if (record_slice_is(r->type, "heads") && !chain_heads_fit(chain, r))
		chain_note(chain, CHAIN_HEADS, here, s, s->next_seq);
	if (record_slice_is(r->type, "key") && chain->keys < CHAIN_KEYS_MAX)
		chain->key[chain->keys++] = here->index;
	keep_time(chain, s, r, here->index);
	memcpy(s->last, here->line->leaf, TREE_HASH_LEN);
	s->next_seq = r->seq + 1;
	s->last_index = here->index;
	s->records++;
	return s;
}

/* Each line, one after the other. */
static void
take_lines(struct chain *chain, const struct walk_batch *batch)
{
	struct chain_here here = { .segment = batch->segment };
	unsigned i;

	for (i = 0; i < batch->count && batch->index + i < chain->end; i++) {
		here.line = &batch->lines[i];
		here.index = batch->index + i;
		here.number = batch->line + i;
		(void)take(chain, &here);
	}
}

/* The first of them as ever; what continues it moves its stream on. */
static void
take_stretch(struct chain *chain, const struct walk_batch *batch,
    const struct chain_stretch *stretch)
{
	const struct walk_line *last = &batch->lines[stretch->last];
	struct chain_here here = { .segment = batch->segment,
	    .line = &batch->lines[stretch->first],
	    .index = batch->index + stretch->first,
	    .number = batch->line + stretch->first };
	struct chain_stream *s = take(chain, &here);

	if (s == NULL)
		return;
	keep_time(chain, s, &last->record, batch->index + stretch->last);
	memcpy(s->last, last->leaf, TREE_HASH_LEN);
	s->next_seq = last->record.seq + 1;
	s->last_index = batch->index + stretch->last;
	s->records += stretch->records - 1;
}

int
chain_batch(struct chain *chain, const struct walk_batch *batch,
    const struct chain_part *part)
{
	unsigned i;

	if (part == NULL || !part->plain || batch->index + batch->count > chain->end ||
	    chain->count + part->count > CHAIN_STREAMS_MAX) {
		take_lines(chain, batch);
		return 0;
	}
	for (i = 0; i < part->count; i++)
		take_stretch(chain, batch, &part->stretch[i]);
	return 0;
}
