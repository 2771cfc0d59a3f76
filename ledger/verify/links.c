#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/verify/links_impl.h"

#define SETS_MAX 8192
#define SETS_MIN 16
#define ALLOWANCE_PART 4	/* one set of these for so many */
#define LINE_USUAL 2048	/* bytes of records for each set */
#define WAYS 8		/* a set is a line of the cache */
#define AHEAD 32		/* records whose sets are fetched before they are needed */

/* The marks of records that can admit.  The two lowest bits are the kind; the third
 * is clear once the record has what it can have once: an outcome, or a use of a
 * grant that is for one.  The one that was used last stands in front.  0: free. */
struct set {
	_Alignas(64) uint64_t way[WAYS];
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

/* Which kinds may admit a record of this one. */
static unsigned
admitted_by(enum links_kind kind)
{
	switch (kind) {
	case RUN:
	case NOTICE:
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
    enum links_kind kind, const uint8_t parent[TREE_HASH_LEN], const char *code,
    const char *why)
{
	const struct record_line *r = &batch->lines[i].record;
	const struct record_slice run = links_parent_run(r, kind);
	struct loose *l;

	if (links->count == LINKS_LOOSE_MAX || !room(links)) {
		links->more++;
		return;
	}
	l = &links->loose[links->count++];
	*l = (struct loose){ .kind = (uint8_t)kind, .why = why, .code = code };
	l->spends = links_spends(r, kind);
	l->anywhere = run.ptr == NULL && (kind == RUN || kind == REFUSAL);
	if (run.ptr != NULL)
		memcpy(l->run, run.ptr, run.len);
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
	if (parent == REFUSAL)
		return "its parent was refused";
	return (admitted_by(kind) & parent) != 0 ? NULL :
	    "its parent is a record of a type that admits none of this one";
}

/* Is it surely not one too many of its parent?  Else it is looked up: a second
 * use of a grant for one, say, which is kept nowhere. */
static bool
is_within(struct links *links, const struct links_fact *fact, uint64_t *parent)
{
	const bool untouched = (*parent & UNTOUCHED) != 0;
	/* A person's consent to one is kept as a grant for one, and other records than
	 * uses stand under it. */
	const bool use = kind_in(*parent) == GRANT && (fact->kind == USE ||
	    fact->kind == DECISION || (fact->kind == GRANT && fact->admits != 0));

	if (!use && fact->kind != OUTCOME)
		return true;
	*parent &= ~UNTOUCHED;
	return untouched || (use &&
	    allowances_take(links->allowances, fact->parent) == ALLOWANCE_TAKEN);
}

/* What it lacks by itself; NULL: nothing. */
static const char *
lacks(const struct links_fact *fact, const char **code)
{
	*code = (fact->names & NOT_ALLOWED) != 0 ? "refused" : "parent";
	if ((fact->names & NOT_ALLOWED) != 0)
		return "a use or a decision that does not say that it was allowed";
	if ((fact->names & NO_RUN) != 0)
		return "of what runs do, and of no run";
	if ((fact->names & NO_LEAF) != 0)
		return "its parent is no leaf hash";
	if ((fact->names & LACKS_ONE) == 0)
		return NULL;
	return fact->kind == OUTCOME ? "an outcome that names no record that it is of" :
	    "it names no record that it was admitted under";
}

static void
follow(struct links *links, const struct walk_batch *batch, const struct links_fact *fact)
{
	uint8_t leaf[TREE_HASH_LEN] = { 0 };
	const char *why, *code;
	uint64_t *parent;

	if ((fact->names & MANY) != 0)
		allowances_put(links->allowances, fact->admits | 7, fact->uses);
	if ((fact->names & ODD_STATE) != 0)
		note(links, batch, fact->line, fact->kind, leaf, LINKS_UNKNOWN,
		    "a grant whose state this version does not know");
	if ((fact->names & ~(MANY | ODD_STATE)) == NOTHING)
		return;
	if ((why = lacks(fact, &code)) == NULL) {
		parent = recall(links, fact->parent);
		if (parent != NULL && (why = links_misfit(fact->kind, kind_in(*parent))) == NULL &&
		    is_within(links, fact, parent))
			return;
		(void)links_decode(batch->lines[fact->line].record.parent, leaf);
	}
	note(links, batch, fact->line, fact->kind, leaf, code, why);
}

/* Always inline: GCC 12 takes a function that only fetches for one without effect,
 * and leaves its calls out. */
__attribute__((always_inline)) static inline void
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
