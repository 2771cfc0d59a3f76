#include <stdlib.h>

#include "ledger/verify/walk_slot.h"

int
walk_slot_make(struct walk_slot *slot, size_t facts_size)
{
	char *room = malloc(1 + WALK_BUFFER);

	*slot = (struct walk_slot){ .state = WALK_EMPTY };
	slot->buf = room != NULL ? room + 1 : NULL;
	slot->lines = malloc(WALK_LINES * sizeof(*slot->lines));
	slot->subtree = malloc(sizeof(*slot->subtree));
	slot->facts = malloc(facts_size > 0 ? facts_size : 1);
	if (slot->buf == NULL || slot->lines == NULL || slot->subtree == NULL ||
	    slot->facts == NULL)
		return -1;
	subtree_init(slot->subtree);
	return 0;
}

void
walk_slot_free(struct walk_slot *slot)
{
	if (slot->buf != NULL)
		free(slot->buf - 1);
	free(slot->lines);
	free(slot->subtree);
	free(slot->facts);
	*slot = (struct walk_slot){ .state = WALK_EMPTY };
}

/* In front of a line stands the LF of the one before, which nobody needs any
 * more: in its place the prefix makes both one message, which is not copied. */
static void
hash_lines(struct walk_slot *slot, unsigned place)
{
	struct sha256_job *job = slot->subtree->job;
	struct walk_line *line;
	uint8_t *leaf;
	unsigned i;
	char *message;

	for (i = 0; i < slot->batch.count; i++) {
		line = &slot->lines[i];
		message = slot->buf + (line->text - slot->buf) - 1;
		*message = TREE_LEAF_PREFIX;
		line->leaf = leaf = subtree_leaf(slot->subtree, place + i);
		job[i] = (struct sha256_job){ message, (size_t)line->len + 1, leaf };
	}
	sha256_jobs(job, slot->batch.count);
}

void
walk_slot_hash(struct walk_slot *slot)
{
	const unsigned place = (unsigned)(slot->batch.index % WALK_LINES);

	hash_lines(slot, place);
	subtree_fold(slot->subtree, place, place + slot->batch.count);
	slot->batch.subtree = slot->subtree;
}

int
walk_append(const struct walk_batch *batch, unsigned from, unsigned to,
    struct tree_frontier *tree)
{
	const unsigned place = (unsigned)(batch->index % WALK_LINES);

	return subtree_append(batch->subtree, place + from, place + to, tree);
}
