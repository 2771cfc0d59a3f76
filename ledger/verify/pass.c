#include <inttypes.h>
#include <string.h>

#include "ledger/evidence/facts.h"
#include "ledger/verify/member.h"
#include "ledger/verify/pass.h"

/* Roots at the sizes that were signed. */
static void
reach(struct pass *pass)
{
	uint8_t root[TREE_HASH_LEN];
	struct seal *seal;
	bool known = false;

	while (pass->next_seal < pass->load->seals.count) {
		seal = &pass->load->seals.seal[pass->next_seal];
		if (seal->at.size > pass->tree.size)
			return;
		if (seal->at.size == pass->tree.size) {
			if (!known)
				tree_frontier_root(&pass->tree, root);
			known = true;
			seal->reached = true;
			seal->matches = memcmp(root, seal->at.root, TREE_HASH_LEN) == 0;
		}
		pass->next_seal++;
	}
}

/* The tree, in stretches that end where a size was signed. */
static int
grow(struct pass *pass, const struct walk_batch *batch)
{
	const struct seals *seals = &pass->load->seals;
	unsigned from = 0, to;
	uint64_t left;

	for (; from < batch->count; from = to) {
		to = batch->count;
		left = pass->next_seal < seals->count ?
		    seals->seal[pass->next_seal].at.size - pass->tree.size : UINT64_MAX;
		if (left < to - from)
			to = from + (unsigned)left;
		if (walk_append(batch, from, to, &pass->tree) != 0)
			return -1;
		reach(pass);
	}
	return 0;
}

/* The bundle's run: where it was opened and torn down; and the packs. */
static void
follow_run(struct pass *pass, const struct walk_batch *batch)
{
	const struct record_line *r;
	uint64_t index;
	unsigned i;
	bool ours;

	for (i = 0; i < batch->count; i++) {
		r = &batch->lines[i].record;
		index = batch->index + i;
		if (batch->lines[i].rule != NULL)
			continue;
		ours = record_slice_is(r->run, pass->result->run);
		packs_note(&pass->named, r, ours);
		runs_count(pass->runs, batch, i, ours);
		if (!ours)
			continue;
		if (pass->run_records++ == 0)
			pass->run_first = index;
		if (pass->opened == UINT64_MAX && record_slice_is(r->type, "run") &&
		    member_is(r->body, "state", "open"))
			pass->opened = index;
		if (record_slice_is(r->type, "teardown"))
			pass->teardown = index;
	}
}

/* A file whose name says another index than it has: one before it is gone. */
static void
check_segment(struct pass *pass, const struct walk_batch *batch)
{
	const struct walk_segment *segment = &pass->load->segment[batch->segment];
	struct verify_finding *f;

	if (batch->line != 1 || segment->first == batch->index)
		return;
	if (pass->load->kind == VERIFY_LEDGER && !pass->segment_gap) {
		f = verify_find(pass->result, VERIFY_GAP, "missing",
		    "%s begins at %" PRIu64 ", the records before it end at %" PRIu64,
		    segment->path, segment->first, batch->index);
		f->has_index = true;
		f->index = batch->index;
		f->count = segment->first > batch->index ? segment->first - batch->index : 1;
		pass->segment_gap = true;
	}
}

/*
 * Behind the signed records the first NUL ends them: it is space taken ahead,
 * which a reader may see for a moment before what is being written there, and
 * which a power cut leaves.  What lies beyond is no record yet, and is not
 * followed; but it is counted.
 */
static void
check_end(struct pass *pass, const struct walk_batch *batch)
{
	const uint64_t sealed = load_sealed(pass->load);
	const struct walk_line *line;
	unsigned i;

	if (pass->load->kind != VERIFY_LEDGER || batch->index + batch->count <= sealed)
		return;
	for (i = 0; i < batch->count; i++) {
		line = &batch->lines[i];
		if (pass->chain.end != UINT64_MAX) {
			pass->beyond += line->rule == NULL;
		} else if (line->rule != NULL && batch->index + i >= sealed &&
		    memchr(line->text, '\0', line->len) != NULL) {
			pass->chain.end = batch->index + i;
			pass->nul = true;
			pass->torn = line->len;
			pass->torn_line = batch->line + i;
			pass->torn_segment = batch->segment;
		}
	}
}

static void
tell_progress(struct pass *pass, const struct walk_batch *batch)
{
	if (pass->options->progress == NULL)
		return;
	pass->done += batch->bytes;
	pass->options->progress(pass->options->context, pass->done, pass->load->bytes);
}

/* What is told of a batch by the thread that has it. */
struct part {
	struct chain_part chain;
	struct links_part links;
	struct bound_part bound;
	uint64_t told, told_records;
};

static void
count_told(struct part *part, const struct record_line *record)
{
	const uint64_t n = facts_told(record);

	part->told += n;
	part->told_records += n > 0;
}

static void
look(void *context, const struct walk_batch *batch, void *facts)
{
	const struct pass *pass = context;
	struct part *part = facts;
	unsigned i;

	chain_look(batch, &part->chain);
	links_look(pass->links, batch, &part->links);
	bound_look(pass->bound, batch, &part->bound);
	part->told = part->told_records = 0;
	for (i = 0; i < batch->count; i++)
		if (batch->lines[i].rule == NULL)
			count_told(part, &batch->lines[i].record);
}

static int
on_batch(void *context, const struct walk_batch *batch)
{
	struct pass *pass = context;
	const struct part *part = batch->facts;

	tell_progress(pass, batch);
	check_segment(pass, batch);
	check_end(pass, batch);
	pass->result->counted += part->told;
	pass->result->counted_records += part->told_records;
	if (pass->result->run[0] != '\0')
		follow_run(pass, batch);
	links_batch(pass->links, batch, &part->links, load_sealed(pass->load));
	runs_batch(pass->runs, batch, &part->links.runs, load_sealed(pass->load));
	bound_batch(pass->bound, batch, &part->bound, load_sealed(pass->load));
	return chain_batch(&pass->chain, batch, &part->chain) != 0 || grow(pass, batch) != 0 ? -2 : 0;
}

static int
on_torn(void *context, unsigned segment, uint64_t line, uint64_t bytes)
{
	struct pass *pass = context;

	pass->torn = bytes;
	pass->torn_line = line;
	pass->torn_segment = segment;
	return 0;
}

int
pass_run(struct pass *pass, char *err, size_t err_len)
{
	struct walk walk = {
		.dirfd = pass->load->dirfd, .segments = pass->load->segment,
		.segment_count = pass->load->segments,
		.first = pass->load->frontier.size, .threads = load_threads(pass->options),
		.look = look, .facts_size = sizeof(struct part),
		.batch = on_batch, .torn = on_torn, .context = pass,
	};
	int result;

	pass->tree = pass->load->frontier;
	reach(pass);
	result = walk_run(&walk, err, err_len);
	pass->result->bytes = walk.bytes;
	return result;
}

int
pass_again(const struct load *load,
    int (*batch)(void *, const struct walk_batch *), void *context)
{
	char err[256];
	struct walk walk = {
		.dirfd = load->dirfd, .segments = load->segment,
		.segment_count = load->segments, .first = load->frontier.size,
		.batch = batch, .context = context,
	};

	return walk_run(&walk, err, sizeof(err));
}
