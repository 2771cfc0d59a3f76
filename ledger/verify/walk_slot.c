#include <stdlib.h>

#include "ledger/verify/walk_slot.h"

/* Where a level's pairs begin: the leaves' take half of them, the level above
 * half of what is left, and so on; the last one holds the root alone. */
static unsigned
level_at(unsigned level)
{
	return WALK_LINES - (WALK_LINES >> level);
}

static uint8_t *
hash_of(struct walk_hashes *hashes, unsigned level, unsigned i)
{
	return hashes->pair[level_at(level) + i / 2].hash[i % 2];
}

int
walk_slot_make(struct walk_slot *slot, size_t facts_size)
{
	char *room = malloc(1 + WALK_BUFFER);
	unsigned i;

	*slot = (struct walk_slot){ .state = WALK_EMPTY };
	slot->buf = room != NULL ? room + 1 : NULL;
	slot->lines = malloc(WALK_LINES * sizeof(*slot->lines));
	slot->hashes = malloc(sizeof(*slot->hashes));
	slot->facts = malloc(facts_size > 0 ? facts_size : 1);
	if (slot->buf == NULL || slot->lines == NULL || slot->hashes == NULL ||
	    slot->facts == NULL)
		return -1;
	for (i = 0; i < WALK_LINES; i++)
		slot->hashes->pair[i].prefix = TREE_NODE_PREFIX;
	return 0;
}

void
walk_slot_free(struct walk_slot *slot)
{
	if (slot->buf != NULL)
		free(slot->buf - 1);
	free(slot->lines);
	free(slot->hashes);
	free(slot->facts);
	*slot = (struct walk_slot){ .state = WALK_EMPTY };
}

/* In front of a line stands the LF of the one before, which nobody needs any
 * more: in its place the prefix makes both one message, which is not copied. */
static void
hash_lines(struct walk_slot *slot, unsigned place)
{
	struct walk_hashes *h = slot->hashes;
	struct walk_line *line;
	unsigned i;
	char *message;

	for (i = 0; i < slot->batch.count; i++) {
		line = &slot->lines[i];
		message = slot->buf + (line->text - slot->buf) - 1;
		*message = TREE_LEAF_PREFIX;
		line->leaf = hash_of(h, 0, place + i);
		h->job[i] = (struct sha256_job){ message, (size_t)line->len + 1,
		    hash_of(h, 0, place + i) };
	}
	sha256_jobs(h->job, slot->batch.count);
}

/* Level by level, what lies wholly in the lines' places. */
static void
fold(struct walk_hashes *h, unsigned first, unsigned end)
{
	unsigned level, i, n;

	for (level = 1; level <= WALK_LEVEL; level++) {
		first = (first + 1) / 2;
		end /= 2;
		if (first >= end)
			return;
		for (i = first, n = 0; i < end; i++, n++)
			h->job[n] = (struct sha256_job){ &h->pair[level_at(level - 1) + i],
			    sizeof(h->pair[0]), hash_of(h, level, i) };
		sha256_jobs(h->job, n);
	}
}

void
walk_slot_hash(struct walk_slot *slot)
{
	const unsigned place = (unsigned)(slot->batch.index % WALK_LINES);

	hash_lines(slot, place);
	fold(slot->hashes, place, place + slot->batch.count);
	slot->batch.hashes = slot->hashes;
}

int
walk_append(const struct walk_batch *batch, unsigned from, unsigned to,
    struct tree_frontier *tree)
{
	unsigned place = (unsigned)((batch->index + from) % WALK_LINES), level;
	const unsigned end = place + (to - from);

	for (; place < end; place += 1u << level) {
		for (level = 0; level < WALK_LEVEL && place % (2u << level) == 0 &&
		    place + (2u << level) <= end; level++)
			;
		if (tree_frontier_append_node(tree, level, batch->hashes->pair[level_at(level) +
		    (place >> level) / 2].hash[(place >> level) % 2]) != 0)
			return -1;
	}
	return 0;
}
