#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/verify/links.h"

#define SETS_MAX 8192
#define SETS_MIN 16
#define LINE_USUAL 2048	/* bytes of records for each set */
#define WAYS 8		/* a set is a line of the cache */
#define AHEAD 32		/* records whose sets are fetched before they are needed */
#define HASH_WORDS (TREE_HASH_LEN / 8)

__extension__ typedef unsigned __int128 u128;

enum kind {
	OTHER = 0,
	RUN = 1, GRANT = 2, DECISION = 4, USE = 8,	/* can admit */
	REFUSAL = 16, OUTCOME = 32, TEARDOWN = 64
};
#define CAN_ADMIT (RUN | GRANT | DECISION | USE)

/* What a record names. */
enum { NOTHING, A_PARENT, NO_LEAF };

/* The marks of records that can admit, with the kind in the two lowest bits;
 * the one that was used last in front.  0: free. */
struct set {
	_Alignas(64) uint64_t way[WAYS];
};

/* A record whose link is bad, or is not found yet. */
struct loose {
	uint8_t parent[TREE_HASH_LEN];
	uint8_t kind;		/* its own */
	uint8_t found;		/* the parent's kind; OTHER: not found */
	const char *why;	/* bad; NULL: loose */
	struct verify_finding place;
};

struct links {
	const struct load *load;
	const char *only;
	struct set *set;
	unsigned sets;		/* a power of two */
	u128 key[HASH_WORDS + 1];	/* of the marks */
	struct loose *loose;
	unsigned count;
	uint64_t more;		/* not kept */
	bool marked[65536];	/* first bytes of the leaves looked for */
};

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
	links->set = aligned_alloc(sizeof(*links->set), links->sets * sizeof(*links->set));
	if (links->set == NULL) {
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
	free(links->loose);
	free(links);
}

static enum kind
is(struct record_slice type, const char *name, enum kind kind)
{
	return memcmp(type.ptr, name, type.len) == 0 ? kind : OTHER;
}

/* Of every record: so by its length first. */
static enum kind
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

/* Which kinds may admit a record of this one. */
static unsigned
admitted_by(enum kind kind)
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
 * bits, of which the two lowest are left to the kind. */
static uint64_t
mark_of(const struct links *links, const uint8_t leaf[TREE_HASH_LEN])
{
	u128 sum = links->key[HASH_WORDS];
	uint64_t word;
	unsigned i;

	for (i = 0; i < HASH_WORDS; i++) {
		memcpy(&word, leaf + 8 * i, sizeof(word));
		sum += links->key[i] * word;
	}
	return (uint64_t)(sum >> 64) | 3;
}

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

/* The kinds that can admit as two bits, all of them but the mark's own. */
static uint64_t
code_of(enum kind kind)
{
	return (uint64_t)(__builtin_ctz(kind) ^ 3);
}

/* In place of the one that was used longest ago. */
static void
remember(struct links *links, uint64_t mark, enum kind kind)
{
	struct set *set = set_of(links, mark);
	const struct set old = *set;

	memcpy(set->way + 1, old.way, sizeof(old.way) - sizeof(old.way[0]));
	set->way[0] = mark ^ code_of(kind);
}

/* The kind of the record with this mark, or OTHER. */
static enum kind
recall(struct links *links, uint64_t mark)
{
	struct set *set = set_of(links, mark);
	uint64_t value;
	unsigned i;

	for (i = 0; i < WAYS; i++) {
		value = set->way[i];
		if ((value | 3) != mark || value == 0)
			continue;
		to_front(set, i, value);
		return (enum kind)(1u << (value & 3));
	}
	return OTHER;
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
static bool
decode(struct record_slice value, uint8_t leaf[TREE_HASH_LEN])
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
    enum kind kind, const uint8_t parent[TREE_HASH_LEN], const char *why)
{
	const struct record_line *r = &batch->lines[i].record;
	struct loose *l;

	if (links->count == LINKS_LOOSE_MAX || !room(links)) {
		links->more++;
		return;
	}
	l = &links->loose[links->count++];
	*l = (struct loose){ .kind = (uint8_t)kind, .why = why };
	memcpy(l->parent, parent, TREE_HASH_LEN);
	l->place = (struct verify_finding){ .has_index = true, .has_seq = true,
	    .index = batch->index + i, .seq = r->seq, .line = batch->line + i };
	snprintf(l->place.file, sizeof(l->place.file), "%s",
	    links->load->segment[batch->segment].path);
	snprintf(l->place.stream, sizeof(l->place.stream), "%.*s",
	    (int)r->stream.len, r->stream.ptr);
	snprintf(l->place.type, sizeof(l->place.type), "%.*s", (int)r->type.len, r->type.ptr);
}

static const char *
misfit(enum kind kind, enum kind parent)
{
	return (admitted_by(kind) & parent) != 0 ? NULL :
	    "its parent is a record of a type that admits none of this one";
}

static bool
of_another_run(const struct links *links, const struct record_line *r)
{
	return links->only != NULL && (r->run.len != strlen(links->only) ||
	    memcmp(r->run.ptr, links->only, r->run.len) != 0);
}

void
links_look(const struct links *links, const struct walk_batch *batch,
    struct links_part *part)
{
	uint8_t parent[TREE_HASH_LEN];
	const struct walk_line *line;
	struct links_fact *fact;
	enum kind kind;
	unsigned i;

	part->count = 0;
	for (i = 0; i < batch->count; i++) {
		line = &batch->lines[i];
		kind = line->rule == NULL ? kind_of(line->record.type) : OTHER;
		/* what other types have under this name is theirs */
		if (kind == OTHER)
			continue;
		fact = &part->fact[part->count++];
		fact->line = (uint16_t)i;
		fact->kind = (uint8_t)kind;
		fact->leaf = mark_of(links, line->leaf);
		fact->names = NOTHING;
		if (line->record.parent.ptr == NULL || of_another_run(links, &line->record))
			continue;
		fact->names = NO_LEAF;
		if (!decode(line->record.parent, parent))
			continue;
		fact->names = A_PARENT;
		fact->parent = mark_of(links, parent);
	}
}

static void
follow(struct links *links, const struct walk_batch *batch, const struct links_fact *fact)
{
	uint8_t parent[TREE_HASH_LEN] = { 0 };
	enum kind found = OTHER;
	const char *why = NULL;

	if (fact->names == NO_LEAF) {
		why = "its parent is no leaf hash";
	} else {
		if ((found = recall(links, fact->parent)) != OTHER &&
		    (why = misfit(fact->kind, found)) == NULL)
			return;
		(void)decode(batch->lines[fact->line].record.parent, parent);
	}
	note(links, batch, fact->line, fact->kind, parent, why);
}

static void
fetch(const struct links *links, const struct links_fact *fact)
{
	__builtin_prefetch(set_of(links, fact->leaf), 1);
	if (fact->names == A_PARENT)
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
		if ((fact->kind & CAN_ADMIT) != 0)
			remember(links, fact->leaf, fact->kind);
	}
}

/* ---- the second walk ---- */

/* A record that others name: theirs if it stands before them. */
static void
match(struct links *links, const struct walk_line *line, uint64_t index)
{
	struct loose *l;
	unsigned i;

	for (i = 0; i < links->count; i++) {
		l = &links->loose[i];
		if (l->why != NULL || index >= l->place.index ||
		    memcmp(l->parent, line->leaf, TREE_HASH_LEN) != 0)
			continue;
		/* of any type: then it is not one that admits */
		l->found = line->rule == NULL ? (uint8_t)kind_of(line->record.type) : OTHER;
		if (l->found == OTHER)
			l->found = TEARDOWN;
	}
}

static int
look_up(void *context, const struct walk_batch *batch)
{
	struct links *links = context;
	const uint8_t *leaf;
	unsigned i;

	for (i = 0; i < batch->count; i++) {
		leaf = batch->lines[i].leaf;
		if (links->marked[leaf[0] << 8 | leaf[1]])
			match(links, &batch->lines[i], batch->index + i);
	}
	return 0;
}

static bool
mark(struct links *links)
{
	const struct loose *l;
	bool any = false;
	unsigned i;

	for (i = 0; i < links->count; i++) {
		l = &links->loose[i];
		if (l->why != NULL)
			continue;
		links->marked[l->parent[0] << 8 | l->parent[1]] = true;
		any = true;
	}
	return any;
}

/* Records may lie before those that are here: a run's parent before its
 * bundle, anything before a saved head. */
static bool
may_precede(const struct links *links, const struct loose *l)
{
	return links->load->frontier.size > 0 &&
	    (links->load->kind == VERIFY_LEDGER || l->kind == RUN);
}

void
links_judge(struct links *links, struct verify_result *result,
    int (*again)(const struct load *, int (*)(void *, const struct walk_batch *),
    void *))
{
	struct verify_finding *f;
	struct loose *l;
	unsigned i;

	if (mark(links) && again(links->load, look_up, links) != 0)
		return;		/* what cannot be read was said */
	for (i = 0; i < links->count; i++) {
		l = &links->loose[i];
		if (l->why == NULL && l->found != OTHER)
			l->why = misfit(l->kind, l->found);
		else if (l->why == NULL && !may_precede(links, l))
			l->why = "its parent is the leaf of no record before it";
		if (l->why == NULL)
			continue;
		f = verify_find(result, VERIFY_GAP, "parent", "%s", l->why);
		l->place.verdict = f->verdict;
		l->place.code = f->code;
		l->place.count = f->count;
		memcpy(l->place.what, f->what, sizeof(f->what));
		*f = l->place;
	}
	if (links->more > 0)
		verify_find(result, VERIFY_NOT_ESTABLISHED, "more", "%" PRIu64
		    " more records whose parent is not found or not one that admits them",
		    links->more);
}
