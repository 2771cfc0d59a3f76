#include "ledger/verify/subtree.h"

/* Where a level's pairs begin: the leaves' take half of them, the level above
 * half of what is left, and so on; the last one holds the root alone. */
static unsigned
level_at(unsigned level)
{
	return SUBTREE_LEAVES - (SUBTREE_LEAVES >> level);
}

static uint8_t *
node(struct subtree *subtree, unsigned level, unsigned i)
{
	return subtree->pair[level_at(level) + i / 2].hash[i % 2];
}

void
subtree_init(struct subtree *subtree)
{
	unsigned i;

	for (i = 0; i < SUBTREE_LEAVES; i++)
		subtree->pair[i].prefix = TREE_NODE_PREFIX;
}

uint8_t *
subtree_leaf(struct subtree *subtree, unsigned place)
{
	return node(subtree, 0, place);
}

void
subtree_fold(struct subtree *subtree, unsigned first, unsigned end)
{
	struct sha256_job *job = subtree->job;
	unsigned level, i, n;

	for (level = 1; level <= SUBTREE_LEVEL; level++) {
		first = (first + 1) / 2;
		end /= 2;
		if (first >= end)
			return;
		for (i = first, n = 0; i < end; i++, n++)
			job[n] = (struct sha256_job){ &subtree->pair[level_at(level - 1) + i],
			    sizeof(subtree->pair[0]), node(subtree, level, i) };
		sha256_jobs(job, n);
	}
}

int
subtree_append(const struct subtree *subtree, unsigned first, unsigned end,
    struct tree_frontier *tree)
{
	unsigned level, i;

	for (; first < end; first += 1u << level) {
		for (level = 0; level < SUBTREE_LEVEL && first % (2u << level) == 0 &&
		    first + (2u << level) <= end; level++)
			;
		i = first >> level;
		if (tree_frontier_append_node(tree, level,
		    subtree->pair[level_at(level) + i / 2].hash[i % 2]) != 0)
			return -1;
	}
	return 0;
}
