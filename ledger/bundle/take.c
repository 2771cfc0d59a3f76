/*
 * Taking a run's part out of a ledger: what it costs follows from what was
 * written since the run was opened, not from what was written before.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/bundle/impl.h"
#include "ledger/io.h"

#define SEARCH_BLOCK (1024 * 1024)
#define NEEDLE_MAX (RECORD_NAME_MAX + 16)

static bool
is_ours(const struct bundle *b, const struct walk_line *line)
{
	return line->rule == NULL && record_slice_is(line->record.run, b->options->run);
}

/* ---- where to begin ---- */

/* Whether the run's id stands in an envelope of the segment, or seems to: 1,
 * 0, or -1. */
static int
mentions(const struct bundle *b, const struct walk_segment *segment, char *block)
{
	char needle[NEEDLE_MAX];
	const size_t len = (size_t)snprintf(needle, sizeof(needle), ",\"run\":\"%.64s\",",
	    b->options->run);
	const int fd = evidence_open(b->load.dirfd, segment->path, NULL);
	uint64_t at = 0;
	size_t kept = 0;
	ptrdiff_t n = -1;
	int found = 0;

	while (fd >= 0 && !found && at < segment->bytes &&
	    (n = io_read(fd, block + kept, SEARCH_BLOCK - kept, at)) > 0) {
		at += (uint64_t)n;
		found = memmem(block, kept + (size_t)n, needle, len) != NULL;
		kept += (size_t)n;
		memmove(block, block + kept - (kept < len ? kept : len), kept < len ? kept : len);
		kept = kept < len ? kept : len;
	}
	if (fd >= 0)
		close(fd);
	return fd < 0 || n < 0 ? -1 : found;
}

struct opening {
	const struct bundle *b;
	bool found;
};

static int
look_batch(void *context, const struct walk_batch *batch)
{
	struct opening *o = context;
	unsigned i;

	for (i = 0; i < batch->count && !o->found; i++)
		o->found = is_ours(o->b, &batch->lines[i]) &&
		    record_slice_is(batch->lines[i].record.type, "run") &&
		    memmem(batch->lines[i].record.body.ptr, batch->lines[i].record.body.len,
		    "\"state\":\"closed\"", 16) == NULL;
	return o->found;
}

/* The newest segment in which the run was opened; 0 where none says so, which
 * then is said when all is read. */
static unsigned
opening_segment(const struct bundle *b)
{
	const struct load *load = &b->load;
	struct opening o = { b, false };
	char *block = malloc(SEARCH_BLOCK), err[256];
	unsigned i = load->segments, found = 0;

	while (block != NULL && i-- > 0 && !o.found) {
		struct walk walk = { .dirfd = load->dirfd, .segments = &load->segment[i],
		    .segment_count = 1, .first = load->segment[i].first, .threads = 1,
		    .batch = look_batch, .context = &o };

		if (mentions(b, &load->segment[i], block) != 0 &&
		    walk_run(&walk, err, sizeof(err)) < 0)
			break;
		if (o.found)
			found = i;
	}
	free(block);
	return found;
}

/* ---- the records ---- */

/* The smallest good checkpoint of at least that size; 0, or -1: none yet. */
static int
choose_seal(struct bundle *b, uint64_t size)
{
	const struct load *load = &b->load;
	unsigned i;

	for (i = 0; i < load->seals.count; i++) {
		if (load->seals.seal[i].state != SEAL_GOOD || load->seals.seal[i].at.size < size)
			continue;
		b->seal = load->seals.seal[i];
		b->until = b->seal.at.size;
		return 0;
	}
	return bundle_fail(b, "run %s: no signed checkpoint covers its end yet",
	    b->options->run);
}

static int
begin(struct bundle *b, const struct walk_line *line, uint64_t index)
{
	if (!record_slice_is(line->record.type, "run"))
		return bundle_fail(b, "run %s: its first record, at index %" PRIu64
		    ", is no opening", b->options->run, index);
	b->before = b->tree;
	bundle_note_opening(b, line);
	snprintf(b->stream, sizeof(b->stream), "%.*s", (int)line->record.stream.len,
	    line->record.stream.ptr);
	b->records = bundle_create(b, "ledger/records.jsonl");
	b->leaves = b->records != NULL ? bundle_create(b, "ledger/leaves") : NULL;
	return b->leaves != NULL ? 0 : -1;
}

/* Whether nothing of the run comes behind that record. */
static bool
ends(const struct bundle *b, const struct walk_line *line, bool ours)
{
	if (ours)
		return record_slice_is(line->record.type, "teardown");
	return line->rule == NULL && record_slice_is(line->record.type, "open") &&
	    record_slice_is(line->record.stream, b->stream);
}

static int
take_line(struct bundle *b, const struct walk_line *line, uint64_t index)
{
	const bool ours = is_ours(b, line);

	if (b->records == NULL && !ours)
		return tree_frontier_append(&b->tree, line->leaf);
	if (b->records == NULL && begin(b, line, index) != 0)
		return -1;
	if (line->rule == NULL)
		packs_note(&b->named, &line->record, ours);
	fwrite(line->text, 1, line->len, b->records);
	putc('\n', b->records);
	fwrite(line->leaf, 1, TREE_HASH_LEN, b->leaves);
	if (b->end == UINT64_MAX && ends(b, line, ours)) {
		b->end = index;
		if (choose_seal(b, index + 1) != 0)
			return -1;
	}
	return tree_frontier_append(&b->tree, line->leaf);
}

static int
on_batch(void *context, const struct walk_batch *batch)
{
	struct bundle *b = context;
	unsigned i = 0;

	if (b->records == NULL && batch->count <= b->until - b->tree.size) {
		/* most of a long ledger: nothing of ours in it */
		while (i < batch->count && !is_ours(b, &batch->lines[i]))
			i++;
		if (i == batch->count)
			return walk_append(batch, 0, batch->count, &b->tree);
	}
	for (i = 0; i < batch->count; i++) {
		if (b->tree.size == b->until)
			return 1;
		if (take_line(b, &batch->lines[i], batch->index + i) != 0)
			return -2;
	}
	return b->tree.size == b->until ? 1 : 0;
}

static int
take_from(struct bundle *b, unsigned segment)
{
	struct walk walk = {
		.dirfd = b->load.dirfd, .segments = b->load.segment + segment,
		.segment_count = b->load.segments - segment, .first = b->tree.size,
		.threads = 1, .batch = on_batch, .context = b,
	};

	b->err[0] = '\0';
	if (walk_run(&walk, b->err, b->err_len) < 0)
		return b->err[0] != '\0' ? -1 : bundle_fail(b, "the ledger is too large");
	if (b->records == NULL)
		return bundle_fail(b, "the ledger has no run %s", b->options->run);
	if (b->end == UINT64_MAX)
		return bundle_fail(b, "run %s has not ended: it is open, or its daemon "
		    "ended before it and was not started again", b->options->run);
	if (b->tree.size != b->until)
		return bundle_fail(b, "the ledger ends before its checkpoint of size %"
		    PRIu64, b->until);
	return 0;
}

static bool
is_signed(const struct bundle *b)
{
	uint8_t root[TREE_HASH_LEN];

	tree_frontier_root(&b->tree, root);
	return memcmp(root, b->seal.at.root, TREE_HASH_LEN) == 0;
}

/* As if nothing had been taken. */
static void
forget(struct bundle *b)
{
	if (b->records != NULL)
		fclose(b->records);
	if (b->leaves != NULL)
		fclose(b->leaves);
	b->records = b->leaves = NULL;
	unlinkat(b->dirfd, "ledger/records.jsonl", 0);
	unlinkat(b->dirfd, "ledger/leaves", 0);
	memset(&b->named, 0, sizeof(b->named));
	b->end = b->until = UINT64_MAX;
	tree_frontier_init(&b->tree);
}

static int
put_records(struct bundle *b)
{
	FILE *records = b->records, *leaves = b->leaves;
	char text[TREE_TEXT_MAX];
	int len, bad;

	b->records = b->leaves = NULL;
	bad = bundle_finish(b, records, "ledger/records.jsonl") != 0;
	bad |= bundle_finish(b, leaves, "ledger/leaves") != 0;
	len = tree_frontier_format(&b->before, text, sizeof(text));
	return bad || len < 0 ? -1 : bundle_put(b, "ledger/frontier", text, (size_t)len);
}

int
bundle_take(struct bundle *b)
{
	const unsigned segment = opening_segment(b);

	/* the short way; what it is built on may be damaged, so that the long
	 * one has the last word */
	if (segment > 0 && load_tree_before(&b->load, segment, &b->tree) == 0) {
		const int taken = take_from(b, segment);

		if (taken == 0 && is_signed(b))
			return put_records(b);
		if (taken != 0 && b->records != NULL)
			return -1;	/* nothing that lies before would change that */
		forget(b);
	}
	tree_frontier_init(&b->tree);
	if (take_from(b, 0) != 0)
		return -1;
	if (!is_signed(b))
		return bundle_fail(b, "the records do not give the signed root at size %"
		    PRIu64, b->until);
	return put_records(b);
}
