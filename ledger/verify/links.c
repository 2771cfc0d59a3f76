#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/record/record_memo.h"
#include "ledger/verify/links_impl.h"
#include "ledger/verify/member.h"

#define SETS_MAX 8192
#define SETS_MIN 16
#define ALLOWANCE_PART 4	/* one set of these for so many */
#define LINE_USUAL 2048	/* bytes of records for each set */
#define WAYS 8		/* a set is a line of the cache */
#define AHEAD 32		/* records whose sets are fetched before they are needed */

/* What a record names. */
enum { NOTHING = 0, A_PARENT = 1, NO_LEAF = 2, LACKS_ONE = 4,
	MANY = 8	/* and it is for more than one use */ };

#define CAN_ADMIT (RUN | GRANT | DECISION | USE)

/* The marks of records that can admit.  The two lowest bits are the kind; the third
 * is clear once the record has what it can have once: an outcome, or a use of a
 * grant that is for one.  The one that was used last stands in front.  0: free. */
struct set {
	_Alignas(64) uint64_t way[WAYS];
};
#define UNTOUCHED UINT64_C(4)

struct links *
links_new(const struct load *load, const char *only)
{
	struct links *links = calloc(1, sizeof(*links));

	if (links == NULL)
		return NULL;
	links->load = load;
	links->only = only;
	for (links->sets = SETS_MIN; links->sets < SETS_MAX &&
	    links->sets < load->bytes / LINE_USUAL; links->sets *= 2)
		;
	randombytes_buf(links->key, sizeof(links->key));
	randombytes_buf(links->run_key, sizeof(links->run_key));
	if (only != NULL)
		links->only_run = links_run(links,
		    (struct record_slice){ only, strlen(only) });
	links->allowances = allowances_new(links->sets / ALLOWANCE_PART);
	links->set = aligned_alloc(sizeof(*links->set), links->sets * sizeof(*links->set));
	if (links->set == NULL || links->allowances == NULL) {
		links_free(links);
		return NULL;
	}
	memset(links->set, 0, links->sets * sizeof(*links->set));
	return links;
}

void
links_free(struct links *links)
{
	if (links == NULL)
		return;
	free(links->set);
	allowances_free(links->allowances);
	free(links->loose);
	free(links);
}

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

/* Which kinds may admit a record of this one. */
static unsigned
admitted_by(enum links_kind kind)
{
	switch (kind) {
	case RUN:
	case TEARDOWN:
		return RUN;
	case GRANT:
	case USE:
	case DECISION:
	case REFUSAL:
		return RUN | GRANT | DECISION;
	case OUTCOME:
		return USE | DECISION;
	default:
		return 0;
	}
}

/* ---- the table ---- */

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

/* Of a mark, or of what is kept under it. */
static struct set *
set_of(const struct links *links, uint64_t mark)
{
	return &links->set[(mark >> 32) & (links->sets - 1)];
}

/* In front, and all that stand before i back by one. */
static void
to_front(struct set *set, unsigned i, uint64_t value)
{
	for (; i > 0; i--)
		set->way[i] = set->way[i - 1];
	set->way[0] = value;
}

static enum links_kind
kind_in(uint64_t value)
{
	return (enum links_kind)(1u << (value & 3));
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

/* In place of the one that was used longest ago. */
static void
remember(struct links *links, uint64_t value)
{
	struct set *set = set_of(links, value);
	const struct set old = *set;

	memcpy(set->way + 1, old.way, sizeof(old.way) - sizeof(old.way[0]));
	set->way[0] = value;
}

/* What is known of the record with this mark; NULL: nothing. */
static uint64_t *
recall(struct links *links, uint64_t mark)
{
	struct set *set = set_of(links, mark);
	uint64_t value;
	unsigned i;

	for (i = 0; i < WAYS; i++) {
		value = set->way[i];
		if ((value | 7) != mark || value == 0)
			continue;
		to_front(set, i, value);
		return &set->way[0];
	}
	return NULL;
}

/* ---- the records ---- */

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A JSON string of 64 lowercase digits. */
bool
links_decode(struct record_slice value, uint8_t leaf[TREE_HASH_LEN])
{
	size_t i;
	int high, low;

	if (value.len != 2 * TREE_HASH_LEN + 2 || value.ptr[0] != '"')
		return false;
	for (i = 0; i < TREE_HASH_LEN; i++) {
		high = digit(value.ptr[1 + 2 * i]);
		low = digit(value.ptr[2 + 2 * i]);
		if (high < 0 || low < 0)
			return false;
		leaf[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* For one more; the array doubles. */
static bool
room(struct links *links)
{
	const size_t count = links->count;
	struct loose *more;

	if ((count & (count + 1)) != 0)
		return true;
	more = realloc(links->loose, (2 * count + 2) * sizeof(*more));
	if (more == NULL)
		return false;
	links->loose = more;
	return true;
}

static void
note(struct links *links, const struct walk_batch *batch, unsigned i,
    enum links_kind kind, const uint8_t parent[TREE_HASH_LEN], const char *why)
{
	const struct record_line *r = &batch->lines[i].record;
	struct loose *l;

	if (links->count == LINKS_LOOSE_MAX || !room(links)) {
		links->more++;
		return;
	}
	l = &links->loose[links->count++];
	*l = (struct loose){ .kind = (uint8_t)kind, .why = why, .code = "parent" };
	if (r->run.ptr != NULL)
		memcpy(l->run, r->run.ptr, r->run.len);
	memcpy(l->parent, parent, TREE_HASH_LEN);
	l->place = (struct verify_finding){ .has_index = true, .has_seq = true,
	    .index = batch->index + i, .seq = r->seq, .line = batch->line + i };
	snprintf(l->place.file, sizeof(l->place.file), "%s",
	    links->load->segment[batch->segment].path);
	snprintf(l->place.stream, sizeof(l->place.stream), "%.*s",
	    (int)r->stream.len, r->stream.ptr);
	snprintf(l->place.type, sizeof(l->place.type), "%.*s", (int)r->type.len, r->type.ptr);
}

const char *
links_misfit(enum links_kind kind, enum links_kind parent)
{
	return (admitted_by(kind) & parent) != 0 ? NULL :
	    "its parent is a record of a type that admits none of this one";
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

/* What it names, and that one's mark. */
static void
look_parent(const struct links *links, const struct record_line *record, uint64_t run,
    struct links_fact *fact)
{
	uint8_t parent[TREE_HASH_LEN];

	fact->names = NOTHING;
	if (record->parent.ptr == NULL) {
		if (fact->kind == OUTCOME && !of_another_run(links, run))
			fact->names = LACKS_ONE;
		return;
	}
	if (of_another_run(links, run))
		return;
	fact->names = NO_LEAF;
	if (!links_decode(record->parent, parent))
		return;
	fact->names = A_PARENT;
	/* a run may have been opened below another */
	fact->parent = mark_of(links, parent, fact->kind == RUN ? 0 : run);
}

/* What only some records have.  A grant for more than one use is taken for touched,
 * and counted elsewhere. */
static void
look_special(const struct links *links, const struct walk_line *line, uint64_t run,
    struct links_part *part, struct links_fact *fact)
{
	const struct record_line *r = &line->record;

	if (fact->kind == GRANT) {
		fact->uses = links_uses(r->body);
		fact->names |= MANY;
		if (fact->uses == 1)
			fact->names &= (uint8_t)~MANY;
		else
			fact->admits ^= UNTOUCHED;
		return;
	}
	if (fact->kind == RUN)
		part->fact[part->count++] = (struct links_fact){ .line = fact->line,
		    .admits = kept_as(mark_of(links, line->leaf, 0), RUN), .kind = RUN };
	if (!of_another_run(links, run))
		runs_note(&part->runs, fact->line, run,
		    fact->kind == RUN ? RUNS_RUN : RUNS_TEARDOWN);
}

#define SPECIAL (GRANT | RUN | TEARDOWN)
#define ALIKE_NONE UINT32_MAX

void
links_look(const struct links *links, const struct walk_batch *batch,
    struct links_part *part)
{
	struct runs_seen seen = { .kept = { { .alike = 0 } } };
	const struct record_line *r;
	struct links_fact *fact;
	enum links_kind kind;
	uint32_t alike = ALIKE_NONE;
	uint64_t run = 0;
	unsigned i;

	part->count = part->runs.count = 0;
	for (i = 0; i < batch->count; i++) {
		if (batch->lines[i].rule != NULL)
			continue;
		r = &batch->lines[i].record;
		if (r->alike != alike) {
			alike = r->alike != 0 ? r->alike : ALIKE_NONE;
			run = run_of(links, &seen, r);
			if (!of_another_run(links, run))
				runs_note(&part->runs, i, run, RUNS_ON);
		}
		/* what other types have under this name is theirs */
		if ((kind = kind_of(r->type)) == OTHER)
			continue;
		fact = &part->fact[part->count++];
		fact->line = (uint16_t)i;
		fact->kind = (uint8_t)kind;
		fact->admits = 0;
		if ((kind & CAN_ADMIT) != 0)
			fact->admits = kept_as(mark_of(links, batch->lines[i].leaf, run), kind);
		look_parent(links, r, run, fact);
		if ((kind & SPECIAL) == 0)
			continue;
		look_special(links, &batch->lines[i], run, part, fact);
		alike = kind == GRANT ? alike : ALIKE_NONE;
	}
}

/* Is it surely not one too many of its parent?  Else it is looked up: a second
 * use of a grant for one, say, which is kept nowhere. */
static bool
is_within(struct links *links, const struct links_fact *fact, uint64_t *parent)
{
	const bool untouched = (*parent & UNTOUCHED) != 0;
	const bool use = fact->kind == USE && kind_in(*parent) == GRANT;

	if (!use && fact->kind != OUTCOME)
		return true;
	*parent &= ~UNTOUCHED;
	return untouched || (use &&
	    allowances_take(links->allowances, fact->parent) == ALLOWANCE_TAKEN);
}

static void
follow(struct links *links, const struct walk_batch *batch, const struct links_fact *fact)
{
	uint8_t leaf[TREE_HASH_LEN] = { 0 };
	const char *why = NULL;
	uint64_t *parent;

	if ((fact->names & MANY) != 0)
		allowances_put(links->allowances, fact->admits | 7, fact->uses);
	if ((fact->names & ~MANY) == NOTHING)
		return;
	if ((fact->names & NO_LEAF) != 0) {
		why = "its parent is no leaf hash";
	} else if ((fact->names & LACKS_ONE) != 0) {
		why = "an outcome that names no record that it is of";
	} else {
		parent = recall(links, fact->parent);
		if (parent != NULL && (why = links_misfit(fact->kind, kind_in(*parent))) == NULL &&
		    is_within(links, fact, parent))
			return;
		(void)links_decode(batch->lines[fact->line].record.parent, leaf);
	}
	note(links, batch, fact->line, fact->kind, leaf, why);
}

static void
fetch(const struct links *links, const struct links_fact *fact)
{
	if (fact->admits != 0)
		__builtin_prefetch(set_of(links, fact->admits), 1);
	if ((fact->names & A_PARENT) != 0)
		__builtin_prefetch(set_of(links, fact->parent), 1);
}

void
links_batch(struct links *links, const struct walk_batch *batch,
    const struct links_part *part, uint64_t end)
{
	const struct links_fact *fact;
	unsigned i;

	for (i = 0; i < part->count; i++) {
		fact = &part->fact[i];
		if (batch->index + fact->line >= end)
			return;
		if (i + AHEAD < part->count)
			fetch(links, fact + AHEAD);
		if (fact->names != NOTHING)
			follow(links, batch, fact);
		if (fact->admits != 0)
			remember(links, fact->admits);
	}
}
