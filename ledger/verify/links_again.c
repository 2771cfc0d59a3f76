#include <inttypes.h>
#include <string.h>

#include "ledger/verify/links_impl.h"

static bool
same_run(const struct loose *l, const struct record_line *r)
{
	return r->run.len == strlen(l->run) &&
	    (r->run.len == 0 || memcmp(r->run.ptr, l->run, r->run.len) == 0);
}

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
		l->found = line->rule == NULL ? (uint8_t)links_kind_of(line->record.type) : OTHER;
		if (l->found == OTHER) {
			l->found = TEARDOWN;
			continue;
		}
		if ((l->found & (USE | DECISION)) != 0 && !links_allowed(&line->record))
			l->found = REFUSAL;
		if (links_ended(&line->record, l->found) || (l->kind == OUTCOME &&
		    l->found == DECISION && !links_request(&line->record)))
			l->found = TEARDOWN;
		l->foreign = !same_run(l, &line->record);
		l->consent = links_consent_once(&line->record, l->found);
		if (l->consent)
			l->found = GRANT;
		else if (l->found == GRANT)
			l->uses = links_uses(line->record.body);
	}
}

/* One more that names what others name too. */
static void
match_sibling(struct links *links, enum links_kind kind, bool spends,
    const uint8_t parent[TREE_HASH_LEN], uint64_t index)
{
	struct loose *l;
	unsigned i;

	for (i = 0; i < links->count; i++) {
		l = &links->loose[i];
		if (l->why != NULL || index >= l->place.index ||
		    memcmp(l->parent, parent, TREE_HASH_LEN) != 0)
			continue;
		l->earlier += l->kind == kind;
		l->spent += spends;
	}
}

static bool
marked(const struct links *links, const uint8_t leaf[TREE_HASH_LEN])
{
	return links->marked[leaf[0] << 8 | leaf[1]];
}

static int
look_up(void *context, const struct walk_batch *batch)
{
	struct links *links = context;
	const struct walk_line *line;
	uint8_t parent[TREE_HASH_LEN];
	enum links_kind kind;
	bool spends;
	unsigned i;

	for (i = 0; i < batch->count; i++) {
		line = &batch->lines[i];
		if (marked(links, line->leaf))
			match(links, line, batch->index + i);
		kind = line->rule == NULL ? links_kind_of(line->record.type) : OTHER;
		spends = kind != OTHER && links_spends(&line->record, kind);
		if ((spends || kind == OUTCOME) && line->record.parent.ptr != NULL &&
		    links_decode(line->record.parent, parent) && marked(links, parent))
			match_sibling(links, kind, spends, parent, batch->index + i);
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

/* What the second walk says of it. */
static void
judge_one(const struct links *links, struct loose *l)
{
	if (l->found == OTHER) {
		if (!may_precede(links, l))
			l->why = "its parent is the leaf of no record before it";
		return;
	}
	l->why = links_misfit(l->kind, l->found);
	if (l->why == NULL && l->foreign && !l->anywhere)
		l->why = "its parent is a record of another run";
	if (l->why != NULL)
		return;
	if (l->kind == OUTCOME && l->earlier > 0)
		l->why = "a second outcome of one record";
	else if (l->consent && l->spends && l->spent > 0)
		l->why = "one more than a person agreed to, which was one";
	else if (l->kind == USE && l->found == GRANT && !l->consent && l->uses != ALLOWANCE_ENDLESS &&
	    l->earlier >= l->uses)
		l->why = "one use more than its grant is for";
	l->code = "twice";
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
		if (l->why == NULL)
			judge_one(links, l);
		if (l->why == NULL)
			continue;
		f = verify_find(result, l->code != NULL && strcmp(l->code, LINKS_UNKNOWN) == 0 ?
		    VERIFY_NOT_ESTABLISHED : VERIFY_GAP, l->code, "%s", l->why);
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
