#include "ledger/recorder/grow.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WORTH HASHES_BLOCK	/* leaves that fill the lanes of the hash */

void
grow_init(struct grow *grow)
{
	*grow = (struct grow){ .size = 0 };
	grow->hashes.fd = -1;
}

int
grow_start(struct grow *grow, const struct tree_frontier *tree)
{
	grow->waiting = malloc(GROW_WAITING * sizeof(*grow->waiting));
	if (grow->waiting == NULL)
		return -1;
	grow->block = grow->tree = *tree;
	grow->block.size = tree->size % HASHES_BLOCK;
	grow->tree.size = tree->size - grow->block.size;
	grow->size = tree->size;
	return 0;
}

void
grow_stop(struct grow *grow)
{
	hashes_stop(&grow->hashes);
	free(grow->waiting);
	grow_init(grow);
}

static void
end_block(struct grow *grow)
{
	int status = tree_frontier_append_node(&grow->tree,
	    HASHES_BLOCK_LEVEL, grow->block.node[HASHES_BLOCK_LEVEL]);

	/* grow_add let nobody in for whom there is no place. */
	assert(status == 0);
	tree_frontier_init(&grow->block);
}

void
grow_up(struct grow *grow)
{
	const uint8_t (*leaf)[TREE_HASH_LEN] =
	    (const uint8_t (*)[TREE_HASH_LEN])grow->waiting;
	struct tree_frontier *block = &grow->block;

	while (grow->n_waiting > 0) {
		size_t n = (size_t)(HASHES_BLOCK - block->size);
		bool whole = n <= grow->n_waiting;

		n = whole ? n : grow->n_waiting;
		tree_frontier_append_leaves(block, leaf, n);
		hashes_add_leaves(&grow->hashes, leaf, (unsigned)n,
		    whole ? block->node[HASHES_BLOCK_LEVEL] : NULL);
		if (whole)
			end_block(grow);
		leaf += n;
		grow->n_waiting -= n;
	}
}

void
grow_tidy(struct grow *grow)
{
	if (grow->n_waiting >= WORTH)
		grow_up(grow);
}

int
grow_add(struct grow *grow, const uint8_t leaf[TREE_HASH_LEN])
{
	if (grow->size >= (UINT64_C(1) << TREE_LEVELS) - 1)
		return -1;
	if (grow->n_waiting == GROW_WAITING)
		grow_up(grow);
	memcpy(grow->waiting[grow->n_waiting++], leaf, TREE_HASH_LEN);
	grow->size++;
	return 0;
}

/* The blocks' tree, then what is behind them, largest subtree first. */
void
grow_tree(struct grow *grow, struct tree_frontier *out)
{
	grow_up(grow);
	*out = grow->tree;
	for (unsigned k = HASHES_BLOCK_LEVEL; k-- > 0;) {
		if ((grow->block.size >> k & 1) != 0)
			tree_frontier_append_node(out, k, grow->block.node[k]);
	}
	assert(out->size == grow->size);
}
