#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#include "ledger/verify/chain.h"
#include "ledger/verify/heads.h"

#define TABLE (4 * CHAIN_STREAMS_MAX)

/* One line while it is looked at. */
struct here {
	const struct walk_line *line;
	uint64_t index, number;
	unsigned segment;
};

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

static void
note(struct chain *chain, enum chain_kind kind, const struct here *here,
    struct chain_stream *stream, uint64_t expected)
{
	const struct record_line *r = &here->line->record;
	struct chain_event *e;
	bool readable = here->line->rule == NULL;

	if (stream != NULL && kind != CHAIN_CUT && kind != CHAIN_DROP)
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
is_type(const struct record_line *record, const char *type)
{
	return record->type.len == strlen(type) &&
	    memcmp(record->type.ptr, type, record->type.len) == 0;
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

static struct chain_stream *
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

/* A rare record's body; NULL cannot happen after record_check but for want of
 * memory, and is then an empty object. */
static json_t *
body(const struct record_line *record)
{
	json_t *value = json_loadb(record->body.ptr, record->body.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

	return value != NULL ? value : json_object();
}

static bool
member_is(json_t *object, const char *name, uint64_t value, bool absent)
{
	json_t *member = json_object_get(object, name);

	if (member == NULL)
		return absent;
	return json_is_integer(member) && json_integer_value(member) >= 0 &&
	    (uint64_t)json_integer_value(member) == value;
}

/* A drop names exactly the hole that it stands behind. */
static bool
is_declared(const struct chain_stream *stream, const struct record_line *record)
{
	json_t *object;
	bool fits;

	if (!is_type(record, "drop"))
		return false;
	object = body(record);
	fits = member_is(object, "from", stream->next_seq, false) &&
	    member_is(object, "to", record->seq - 1, false) &&
	    member_is(object, "count", record->seq - stream->next_seq, false);
	json_decref(object);
	return fits;
}

static void
take_seq(struct chain *chain, const struct here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;
	bool fits = memcmp(here->line->prev, s->last, TREE_HASH_LEN) == 0;

	if (r->seq == s->next_seq) {
		if (!fits)
			note(chain, CHAIN_PREV, here, s, s->next_seq);
	} else if (r->seq < s->next_seq) {
		note(chain, CHAIN_BACK, here, s, s->next_seq);
	} else if (fits && is_declared(s, r)) {
		note(chain, CHAIN_DROP, here, s, s->next_seq);
		s->dropped += r->seq - s->next_seq;
		if (chain->events > 0)
			chain->event[chain->events - 1].dropped = r->seq - s->next_seq;
	} else {
		note(chain, CHAIN_MISSING, here, s, s->next_seq);
	}
}

static void
take_first(struct chain *chain, const struct here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;
	bool zeros = sodium_is_zero(here->line->prev, TREE_HASH_LEN);

	s->begun = r->seq == 0;
	s->open = !s->begun;	/* what began before is taken as open */
	if (zeros != s->begun || (!s->begun && !chain->part))
		note(chain, CHAIN_START, here, s, 0);
}

/* A ledger's first record names the one that it follows by its last checkpoint;
 * whose word that is, and whether it is so, is for whoever has that ledger. */
static void
take_before(struct chain *chain, const struct record_line *record)
{
	json_t *object = body(record);
	const char *text = json_string_value(json_object_get(object, "continues"));
	const char *why;
	struct note note;

	if (text == NULL || note_parse(&note, text, strlen(text), &why) != 0 ||
	    checkpoint_parse(&chain->before, note.text, note.text_len) != 0)
		memset(&chain->before, 0, sizeof(chain->before));
	json_decref(object);
}

static void
take_state(struct chain *chain, const struct here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;
	json_t *object;

	if (is_type(r, "open")) {
		if (here->index == 0)
			take_before(chain, r);
		s->session = r->seq;
		s->session_known = true;
		if (s->open && (s->records > 0 || s->recalled)) {
			note(chain, CHAIN_CUT, here, s, 0);
			s->cuts++;
		}
		s->open = true;
		return;
	}
	if (!s->open)
		note(chain, CHAIN_UNOPENED, here, s, 0);
	s->open = true;		/* noted once */
	if (!is_type(r, "close"))
		return;
	object = body(r);
	if (!member_is(object, "last_seq", r->seq, true) ||
	    (s->session_known && !member_is(object, "first_seq", s->session, true)))
		note(chain, CHAIN_CLOSE, here, s, r->seq);
	json_decref(object);
	s->open = false;
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
	return status;
}

/* Does the table of heads say how the streams stand, now?  Of all of them,
 * unless the chain is one of a part. */
static bool
chain_heads_fit(struct chain *chain, const struct record_line *heads)
{
	struct heads_entry entry;
	const struct chain_stream *s;
	struct heads table;
	unsigned known = 0;
	bool fits = heads_open(&table, heads->body) == 0;

	while (fits && heads_next(&table, &entry)) {
		s = chain_find(chain, entry.name);
		if (s == NULL)	/* of a part, it may stand before it */
			fits = chain->part || chain->crowded;
		else
			fits = s->next_seq == entry.next_seq && s->open == entry.open &&
			    memcmp(s->last, entry.last, TREE_HASH_LEN) == 0;
		known += s != NULL;
	}
	/* each of them, and none twice */
	if (fits && !chain->crowded)
		fits = !table.bad && known == chain->count;
	heads_close(&table);
	return fits;
}

/* The recorder's clock may be set back: a `clock` record says so, which is the
 * first behind it, but for the `open` of a session that begins so. */
static void
take_time(struct chain *chain, const struct here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;

	if (r->time_us < s->time_us && !is_type(r, "clock") && !is_type(r, "open"))
		note(chain, CHAIN_CLOCK, here, s, 0);
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
take(struct chain *chain, const struct here *here)
{
	const struct record_line *r = &here->line->record;
	struct chain_stream *s;

	if (here->line->rule != NULL) {
		note(chain, CHAIN_UNREADABLE, here, NULL, 0);
		return NULL;
	}
	if ((s = stream_of(chain, r->stream)) == NULL) {
		chain->crowded = true;
		note(chain, CHAIN_CROWDED, here, NULL, 0);
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
		take_state(chain, here, s);
	if (r->type.len == 5 && is_type(r, "heads") && !chain_heads_fit(chain, r))
		note(chain, CHAIN_HEADS, here, s, s->next_seq);
	if (r->type.len == 3 && is_type(r, "key") &&
	    chain->keys < CHAIN_KEYS_MAX)
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
	struct here here = { .segment = batch->segment };
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
	struct here here = { .segment = batch->segment,
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

/* ---- a batch by itself ---- */

/* Types that take sees more in than their place in the chain. */
static bool
is_special(const struct record_line *record)
{
	switch (record->type.len) {
	case 3:
		return is_type(record, "key");
	case 4:
		return is_type(record, "open");
	case 5:
		return is_type(record, "close") || is_type(record, "heads");
	default:
		return false;
	}
}

static bool
same_stream(const struct walk_line *a, const struct walk_line *b)
{
	return a->record.stream.len == b->record.stream.len &&
	    memcmp(a->record.stream.ptr, b->record.stream.ptr, a->record.stream.len) == 0;
}

/* The stretch of the line's stream, made where there is none; NULL: too many.
 * Tried first is that of the line before. */
static struct chain_stretch *
stretch_of(struct chain_part *part, const struct walk_batch *batch, unsigned i,
    struct chain_stretch *recent)
{
	unsigned k;

	if (recent != NULL && same_stream(&batch->lines[recent->first], &batch->lines[i]))
		return recent;
	for (k = 0; k < part->count; k++)
		if (same_stream(&batch->lines[part->stretch[k].first], &batch->lines[i]))
			return &part->stretch[k];
	if (part->count == CHAIN_PART_STREAMS)
		return NULL;
	part->stretch[part->count] = (struct chain_stretch){ .first = i, .last = i };
	return &part->stretch[part->count++];
}

static bool
continues(const struct walk_line *before, const struct walk_line *line)
{
	return line->record.seq == before->record.seq + 1 &&
	    line->record.time_us >= before->record.time_us &&
	    memcmp(line->prev, before->leaf, TREE_HASH_LEN) == 0;
}

void
chain_look(const struct walk_batch *batch, struct chain_part *part)
{
	struct chain_stretch *stretch = NULL;
	const struct walk_line *line;
	unsigned i;

	part->plain = false;
	part->count = 0;
	for (i = 0; i < batch->count; i++) {
		line = &batch->lines[i];
		if (line->rule != NULL || is_special(&line->record) ||
		    (stretch = stretch_of(part, batch, i, stretch)) == NULL)
			return;
		if (stretch->first != i && !continues(&batch->lines[stretch->last], line))
			return;
		stretch->last = i;
		stretch->records = stretch->first == i ? 1 : stretch->records + 1;
	}
	part->plain = true;
}
