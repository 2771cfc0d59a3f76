/* What can be told of a batch by itself. */
#include "ledger/verify/chain_impl.h"

/* Types that take sees more in than their place in the chain. */
static bool
is_special(const struct record_line *record)
{
	switch (record->type.len) {
	case 3:
		return record_slice_is(record->type, "key");
	case 4:
		return record_slice_is(record->type, "open") || record_slice_is(record->type, "drop");
	case 5:
		return record_slice_is(record->type, "close") || record_slice_is(record->type, "heads");
	case 6:
		return record_slice_is(record->type, "policy");
	default:
		return false;
	}
}

static bool
same_policy(struct chain_stretch *stretch, const struct record_line *first,
    const struct record_line *record)
{
	if (record->alike != 0 && record->alike == stretch->alike)
		return true;
	stretch->alike = record->alike;
	return memcmp(first->policy.ptr, record->policy.ptr, RECORD_POLICY_LEN) == 0;
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
		if (!same_policy(stretch, &batch->lines[stretch->first].record, &line->record))
			return;
		stretch->last = i;
		stretch->records = stretch->first == i ? 1 : stretch->records + 1;
	}
	part->plain = true;
}
