/* The anchor's record that the run's opening names, which stands before it. */
#include <string.h>

#include "ledger/bundle/impl.h"
#include "ledger/record/record_memo.h"
#include "ledger/verify/bound.h"
#include "ledger/verify/member.h"

void
bundle_note_opening(struct bundle *b, const struct walk_line *opening)
{
	const struct record_slice body = opening->record.body;
	struct record_slice leaf;

	b->has_after = opening->rule == NULL && member_find(body, "after", &leaf) &&
	    leaf.len == 2 * TREE_HASH_LEN + 2 && leaf.ptr[0] == '"' &&
	    record_hash_decode(leaf.ptr + 1, b->after_leaf) &&
	    member_number(body, "after_index", &b->after_index);
}

struct search {
	struct bundle *b;
	int status;	/* of putting it; 0 also where it was not found */
};

static int
put_line(struct bundle *b, const struct walk_line *line)
{
	FILE *file = bundle_create(b, BOUND_FILE);

	if (file == NULL)
		return -1;
	fwrite(line->text, 1, line->len, file);
	putc('\n', file);
	return bundle_finish(b, file, BOUND_FILE);
}

static int
on_batch(void *context, const struct walk_batch *batch)
{
	struct search *search = context;
	struct bundle *b = search->b;
	const struct walk_line *line;

	if (b->after_index >= batch->index + batch->count)
		return 0;
	line = &batch->lines[b->after_index - batch->index];
	/* another one proves nothing; the verifier says that there is none */
	if (line->rule == NULL && memcmp(line->leaf, b->after_leaf, TREE_HASH_LEN) == 0)
		search->status = put_line(b, line);
	return 1;
}

int
bundle_put_before(struct bundle *b)
{
	struct search search = { b, 0 };
	struct walk walk = { .dirfd = b->load.dirfd, .segment_count = 1, .threads = 1,
	    .batch = on_batch, .context = &search };
	char err[256];
	unsigned i = b->load.segments;

	if (!b->has_after || b->after_index >= b->before.size)
		return 0;
	while (i > 0 && b->load.segment[i - 1].first > b->after_index)
		i--;
	if (i == 0)
		return 0;
	walk.segments = &b->load.segment[i - 1];
	walk.first = walk.segments->first;
	if (walk_run(&walk, err, sizeof(err)) < 0)
		return bundle_fail(b, "%s", err);
	return search.status;
}
