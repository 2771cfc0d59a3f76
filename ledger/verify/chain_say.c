/* What records of few types say of their stream: its sessions, its holes, its policy
 * packs, how all streams stand. */
#include <string.h>

#include <jansson.h>

#include "ledger/tree/note.h"
#include "ledger/verify/chain_impl.h"
#include "ledger/verify/heads.h"

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

bool
chain_declares(const struct chain_stream *stream, const struct record_line *record)
{
	json_t *object;
	bool fits;

	if (!record_slice_is(record->type, "drop"))
		return false;
	object = body(record);
	fits = member_is(object, "from", stream->next_seq, false) &&
	    member_is(object, "to", record->seq - 1, false) &&
	    member_is(object, "count", record->seq - stream->next_seq, false);
	json_decref(object);
	return fits;
}

static bool
member_number(json_t *object, const char *name, uint64_t *value)
{
	json_t *member = json_object_get(object, name);

	*value = (uint64_t)json_integer_value(member);
	return json_is_integer(member) && json_integer_value(member) >= 0;
}

uint64_t
chain_spans(const struct record_line *record)
{
	json_t *object = body(record);
	uint64_t from, to, count;
	bool fits;

	fits = member_number(object, "from", &from) && member_number(object, "to", &to) &&
	    member_number(object, "count", &count) && from <= to &&
	    to + 1 == record->seq && count == record->seq - from;
	json_decref(object);
	return fits ? from : record->seq;
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

/* What a session says of the ledger and the stream that it goes on with; older
 * recorders may not have said all of it. */
static bool
fits_open(const struct chain *chain, const struct chain_here *here)
{
	const uint64_t seq = here->line->record.seq;
	json_t *object = body(&here->line->record), *origin = json_object_get(object, "origin");
	bool fits = member_is(object, "size", here->index, true);

	if (origin != NULL && chain->origin != NULL)
		fits = fits && json_is_string(origin) &&
		    strcmp(json_string_value(origin), chain->origin) == 0;
	if (seq > 0)
		fits = fits && member_is(object, "last_seq", seq - 1, true);
	else
		fits = fits && json_object_get(object, "last_seq") == NULL;
	json_decref(object);
	return fits;
}

static void
take_open(struct chain *chain, const struct chain_here *here, struct chain_stream *s)
{
	if (here->index == 0)
		take_before(chain, &here->line->record);
	if (!fits_open(chain, here))
		chain_note(chain, CHAIN_OPEN, here, s, s->next_seq);
	s->session = here->line->record.seq;
	s->session_index = here->index;
	s->session_known = true;
	memset(s->pack, 0, sizeof(s->pack));
	in_force_add(&chain->packs, here->line->record.policy.ptr, here->index);
	if (s->open && (s->records > 0 || s->recalled)) {
		chain_note(chain, CHAIN_CUT, here, s, 0);
		s->cuts++;
	}
	s->open = true;
}

void
chain_take_state(struct chain *chain, const struct chain_here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;
	json_t *object;

	if (record_slice_is(r->type, "open")) {
		take_open(chain, here, s);
		return;
	}
	if (!s->open)
		chain_note(chain, CHAIN_UNOPENED, here, s, 0);
	s->open = true;		/* noted once */
	if (!record_slice_is(r->type, "close"))
		return;
	object = body(r);
	if (!member_is(object, "last_seq", r->seq, true) ||
	    (s->session_known && !member_is(object, "first_seq", s->session, true)))
		chain_note(chain, CHAIN_CLOSE, here, s, r->seq);
	json_decref(object);
	s->open = false;
	if (s->closed_index == 0)
		s->closed_index = here->index;
}

void
chain_take_pack(struct chain *chain, const struct chain_here *here, struct chain_stream *s)
{
	const struct record_slice own = here->line->record.policy;
	json_t *object = body(&here->line->record), *from = json_object_get(object, "before");
	const char *after = json_string_value(json_object_get(object, "after"));
	const char *before = json_string_value(from);

	if (from != NULL && (before == NULL || strlen(before) != own.len ||
	    memcmp(before, own.ptr, own.len) != 0))
		chain_note(chain, CHAIN_PACK_OTHER, here, s, 0);
	if (after != NULL && record_policy_valid(after, strlen(after)))
		in_force_add(&chain->packs, after, here->index);
	json_decref(object);
}

static bool
of_only(const struct chain *chain, const struct record_line *record)
{
	return chain->only != NULL && record_slice_is(record->run, chain->only);
}

/* Each pack is told once.  Of a stream that began before a part, its first record's
 * is taken as it is, and what other runs than the part's still have of packs before
 * that one is theirs. */
void
chain_look_pack(struct chain *chain, const struct chain_here *here, struct chain_stream *s)
{
	const struct record_line *r = &here->line->record;
	const uint64_t since = s->session_known ? s->session_index : 0;
	const bool began_before = !s->session_known && chain->part && s->records > 0;

	if (!in_force_has(&chain->packs, r->policy.ptr, since)) {
		if (began_before && !of_only(chain, r))
			return;
		if (!s->session_known && s->recalled)
			chain->pack_before = true;
		else if (began_before || in_force_forgot(&chain->packs, since))
			chain_note(chain, CHAIN_PACK_BEFORE, here, s, 0);
		else if (s->session_known)
			chain_note(chain, CHAIN_PACK, here, s, 0);
		in_force_add(&chain->packs, r->policy.ptr, here->index);
	}
	memcpy(s->pack, r->policy.ptr, RECORD_POLICY_LEN);
}

bool
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
