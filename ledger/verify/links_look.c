/* What a batch's records are and name, by itself. */
#include <string.h>

#include "ledger/record/record_memo.h"
#include "ledger/verify/links_impl.h"
#include "ledger/verify/member.h"

#define CAN_ADMIT (RUN | GRANT | DECISION | USE)
#define PARENT_TEXT (2 * TREE_HASH_LEN + 2)	/* bytes of it, a string of JSON */
#define OF_A_RUN (DECISION | USE | OUTCOME)	/* and under another record, always */

static enum links_kind
is(struct record_slice type, const char *name, enum links_kind kind)
{
	return memcmp(type.ptr, name, type.len) == 0 ? kind : OTHER;
}

/* Of every record: so by its length first. */
static inline enum links_kind
kind_of(struct record_slice type)
{
	switch (type.len) {
	case 3:
		return is(type, "use", USE) | is(type, "run", RUN);
	case 4:
		return is(type, "scan", NOTICE) | is(type, "loss", NOTICE);
	case 5:
		return is(type, "grant", GRANT);
	case 7:
		return is(type, "outcome", OUTCOME) | is(type, "refusal", REFUSAL);
	case 8:
		return is(type, "decision", DECISION) | is(type, "teardown", TEARDOWN);
	default:
		return OTHER;
	}
}

enum links_kind
links_kind_of(struct record_slice type)
{
	return kind_of(type);
}

/* ---- marks ---- */

/* Multilinear hashing (Carter and Wegman): strongly universal in the upper 64
 * bits, of which the three lowest are left to what is known of the record. */
static uint64_t
leaf_hash(const struct links *links, const uint8_t leaf[TREE_HASH_LEN])
{
	links_u128 sum = links->key[LINKS_HASH_WORDS];
	uint64_t word;
	unsigned i;

	for (i = 0; i < LINKS_HASH_WORDS; i++) {
		memcpy(&word, leaf + 8 * i, sizeof(word));
		sum += links->key[i] * word;
	}
	return (uint64_t)(sum >> 64);
}

uint64_t
links_run(const struct links *links, struct record_slice run)
{
	links_u128 sum = links->run_key[LINKS_RUN_WORDS];
	char name[RECORD_NAME_MAX] = { 0 };
	uint64_t word;
	unsigned i;

	if (run.ptr == NULL || run.len > sizeof(name))
		return 0;
	memcpy(name, run.ptr, run.len);
	sum += links->run_key[LINKS_RUN_WORDS + 1] * run.len;
	for (i = 0; i < LINKS_RUN_WORDS; i++) {
		memcpy(&word, name + 8 * i, sizeof(word));
		sum += links->run_key[i] * word;
	}
	return (uint64_t)(sum >> 64);
}

/* run: links_run of the record's, or 0 where any will do. */
static uint64_t
mark_of(const struct links *links, const uint8_t leaf[TREE_HASH_LEN], uint64_t run)
{
	return (leaf_hash(links, leaf) ^ run) | 7;
}

/* The kinds that can admit as two bits, all of them but the mark's own. */
static uint64_t
code_of(enum links_kind kind)
{
	return (uint64_t)(__builtin_ctz(kind) ^ 3);
}

static uint64_t
kept_as(uint64_t mark, enum links_kind kind)
{
	return mark ^ code_of(kind);
}

/* ---- the records ---- */

bool
links_decode(struct record_slice value, uint8_t leaf[TREE_HASH_LEN])
{
	return value.len == PARENT_TEXT && value.ptr[0] == '"' &&
	    record_hash_decode(value.ptr + 1, leaf);
}

/* As our broker begins its bodies: in three words, since it is asked of each use. */
static inline bool
begins_allowed(const struct record_line *record)
{
	static const char usual[] = "{\"decision\":\"allow\"";
	uint64_t is[3], want[3];

	if (record->body.len < sizeof(usual))
		return false;
	memcpy(is, record->body.ptr, 16);
	memcpy(is + 2, record->body.ptr + sizeof(usual) - 1 - 8, 8);
	memcpy(want, usual, 16);
	memcpy(want + 2, usual + sizeof(usual) - 1 - 8, 8);
	return ((is[0] ^ want[0]) | (is[1] ^ want[1]) | (is[2] ^ want[2])) == 0;
}

bool
links_allowed(const struct record_line *record)
{
	return begins_allowed(record) || member_is(record->body, "decision", "allow");
}

bool
links_ended(const struct record_line *record, enum links_kind kind)
{
	return (kind == RUN && member_is(record->body, "state", "closed")) ||
	    (kind == GRANT && member_is(record->body, "state", "revoked"));
}

bool
links_consent_once(const struct record_line *record, enum links_kind kind)
{
	struct record_slice approval;

	return kind == DECISION && member_find(record->body, "approval", &approval) &&
	    member_is(approval, "for", "once");
}

/* What adapters ask about, and a person's answer, is decided and no request. */
static bool
is_request(const struct record_line *record, enum links_kind kind)
{
	return kind == USE || (kind == DECISION && !member_is(record->body, "kind", "action"));
}

bool
links_request(const struct record_line *record)
{
	return is_request(record, kind_of(record->type));
}

bool
links_spends(const struct record_line *record, enum links_kind kind)
{
	return kind == USE || kind == DECISION ||
	    (kind == GRANT && !links_ended(record, kind));
}

uint32_t
links_uses(struct record_slice body)
{
	uint64_t uses;

	if (!member_number(body, "requests", &uses) || uses > ALLOWANCE_ENDLESS)
		return ALLOWANCE_ENDLESS;
	return (uint32_t)uses;
}

/* The runs of a batch's lines, as numbers: most lines are of one of the last few
 * runs, and say so. */
struct runs_seen {
	struct { uint32_t alike; uint64_t run; } kept[RECORD_MEMO_WAYS];
};

static uint64_t
run_of(const struct links *links, struct runs_seen *seen, const struct record_line *r)
{
	const unsigned at = r->alike % RECORD_MEMO_WAYS;

	if (r->alike == 0)
		return links_run(links, r->run);
	if (seen->kept[at].alike != r->alike) {
		seen->kept[at].alike = r->alike;
		seen->kept[at].run = links_run(links, r->run);
	}
	return seen->kept[at].run;
}

static bool
of_another_run(const struct links *links, uint64_t run)
{
	return links->only != NULL && run != links->only_run;
}

struct record_slice
links_parent_run(const struct record_line *record, enum links_kind kind)
{
	static const struct record_slice any = { NULL, 0 };
	struct record_slice name;

	if (kind != RUN)
		return kind == REFUSAL ? any : record->run;
	if (member_is(record->body, "state", "closed"))
		return record->run;
	if (!member_find(record->body, "parent_run", &name) || name.len < 2 ||
	    name.ptr[0] != '"' || name.len > RECORD_NAME_MAX + 2)
		return any;
	return (struct record_slice){ name.ptr + 1, name.len - 2 };
}

/* The parent that was named last, and its mark: what a run does stands under one
 * record, so the next line mostly names it again. */
struct parent_seen {
	const char *text;	/* NULL: none */
	uint64_t run, mark;
};

static bool
named_again(const struct parent_seen *seen, struct record_slice parent, uint64_t run)
{
	return seen->text != NULL && seen->run == run && parent.len == PARENT_TEXT &&
	    memcmp(parent.ptr, seen->text, PARENT_TEXT) == 0;
}

/* What it can admit, under its mark.  What is no request has no outcome: it is taken for one
 * that has had it, and looked up. */
static uint64_t
admits(const struct links *links, const struct walk_line *line, enum links_kind kind,
    uint64_t run, bool request)
{
	const bool once = links_consent_once(&line->record, kind);
	const uint64_t kept = kept_as(mark_of(links, line->leaf, run), once ? GRANT : kind);

	return kind == DECISION && !once && !request ? kept ^ UNTOUCHED : kept;
}

/* What it names, and that one's mark. */
static void
look_parent(const struct links *links, const struct record_line *record, uint64_t run,
    struct parent_seen *seen, struct links_fact *fact)
{
	uint8_t parent[TREE_HASH_LEN];

	fact->names = NOTHING;
	if (of_another_run(links, run))
		return;
	if ((fact->kind & OF_A_RUN) != 0 && record->run.ptr == NULL)
		fact->names = NO_RUN;
	if (record->parent.ptr == NULL) {
		if ((fact->kind & OF_A_RUN) != 0)
			fact->names |= LACKS_ONE;
		return;
	}
	if (fact->kind == RUN)		/* it may have been opened below another */
		run = links_run(links, links_parent_run(record, RUN));
	if (!named_again(seen, record->parent, run)) {
		if (!links_decode(record->parent, parent)) {
			fact->names |= NO_LEAF;
			return;
		}
		*seen = (struct parent_seen){ record->parent.ptr, run,
		    mark_of(links, parent, run) };
	}
	fact->names |= A_PARENT;
	fact->parent = seen->mark;
}

/* What was not allowed admits nothing.  A question to a person is a decision too. */
static void
look_refused(const struct links *links, const struct record_line *record, uint64_t run,
    struct links_fact *fact)
{
	fact->admits = 0;
	if (!of_another_run(links, run) &&
	    (fact->kind == USE || !member_is(record->body, "decision", "ask")))
		fact->names |= NOT_ALLOWED;
}

/* A word of a newer version may mean that it was taken back. */
static void
look_state(const struct record_line *record, struct links_fact *fact)
{
	struct record_slice state;

	if (member_find(record->body, "state", &state) &&
	    !member_is(record->body, "state", "issued") &&
	    !member_is(record->body, "state", "revoked"))
		fact->names |= ODD_STATE;
}

/* A ledger's sessions, for the runs that they open; a torn end that was cut off; and what
 * no version before this one has written: in a bundle another run's is none of its
 * business.  RUNS_ON: none of these. */
static enum runs_kind
other_kind(const struct links *links, const struct record_line *r, uint64_t run)
{
	if (!record_type_known(r->type.ptr, r->type.len))
		return r->run.ptr != NULL && of_another_run(links, run) ? RUNS_ON :
		    RUNS_UNKNOWN;
	if (record_slice_is(r->type, "recover"))
		return RUNS_RECOVER;
	if (links->only != NULL)
		return RUNS_ON;
	return record_slice_is(r->type, "open") ? RUNS_BEGIN :
	    record_slice_is(r->type, "close") ? RUNS_END : RUNS_ON;
}

/* A grant for more than one use is taken for touched, and counted elsewhere. */
static void
look_uses(const struct record_line *record, struct links_fact *fact)
{
	fact->uses = links_uses(record->body);
	if (fact->uses == 1)
		return;
	fact->names |= MANY;
	fact->admits ^= UNTOUCHED;
}

/* What only some records have. */
static void
look_special(const struct links *links, const struct walk_line *line, uint64_t run,
    struct links_part *part, struct links_fact *fact)
{
	const struct record_line *r = &line->record;

	if (fact->kind == GRANT && !of_another_run(links, run))
		look_state(r, fact);
	if (links_ended(r, fact->kind))
		fact->admits = 0;
	else if (fact->kind == GRANT)
		look_uses(r, fact);
	else if (fact->kind == RUN)
		part->fact[part->count++] = (struct links_fact){ .line = fact->line,
		    .admits = kept_as(mark_of(links, line->leaf, 0), RUN), .kind = RUN };
	if (fact->kind != GRANT && !of_another_run(links, run))
		runs_note(&part->runs, fact->line, run, fact->kind == RUN ? RUNS_RUN :
		    fact->kind == TEARDOWN ? RUNS_TEARDOWN :
		    record_slice_is(r->type, "loss") ? RUNS_LOSS : RUNS_SCAN);
}

#define SPECIAL (GRANT | RUN | NOTICE | TEARDOWN)
#define ALIKE_NONE UINT32_MAX

void
links_look(const struct links *links, const struct walk_batch *batch,
    struct links_part *part)
{
	struct runs_seen seen = { .kept = { { .alike = 0 } } };
	struct parent_seen parent = { .text = NULL };
	const struct record_line *r;
	struct links_fact *fact;
	enum links_kind kind;
	enum runs_kind other;
	uint32_t alike = ALIKE_NONE;
	uint64_t run = 0;
	unsigned i, on = 0;
	bool request;

	part->count = part->runs.count = 0;
	for (i = 0; i < batch->count; i++) {
		if (batch->lines[i].rule != NULL)
			continue;
		r = &batch->lines[i].record;
		if (r->alike != alike) {
			alike = r->alike != 0 ? r->alike : ALIKE_NONE;
			run = run_of(links, &seen, r);
			on = part->runs.count;
			if (!of_another_run(links, run))
				runs_note(&part->runs, i, run, RUNS_ON);
		}
		/* what other types have under this name is theirs */
		if ((kind = kind_of(r->type)) == OTHER) {
			if ((other = other_kind(links, r, run)) == RUNS_ON)
				continue;
			runs_note(&part->runs, i, 1, other);
			alike = r->run.ptr == NULL ? alike : ALIKE_NONE;
			continue;
		}
		fact = &part->fact[part->count++];
		fact->line = (uint16_t)i;
		fact->kind = (uint8_t)kind;
		fact->admits = 0;
		request = is_request(r, kind);
		if ((kind & CAN_ADMIT) != 0)
			fact->admits = admits(links, &batch->lines[i], kind, run, request);
		look_parent(links, r, run, &parent, fact);
		if (links->only == NULL)
			part->runs.fact[on].requests += request;
		if ((kind & (USE | DECISION)) != 0 && !begins_allowed(r) &&
		    !links_allowed(r))
			look_refused(links, r, run, fact);
		if ((kind & SPECIAL) == 0)
			continue;
		look_special(links, &batch->lines[i], run, part, fact);
		alike = kind == GRANT ? alike : ALIKE_NONE;
	}
}
