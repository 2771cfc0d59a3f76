#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/evidence.h"
#include "ledger/verify/leaves.h"
#include "ledger/verify/subtree.h"

int
leaves_open(struct leaves *leaves, int dirfd, const char *path, uint64_t most)
{
	uint64_t size;

	leaves->have = 0;
	leaves->from = leaves->count = 0;
	leaves->fd = evidence_open(dirfd, path, &size);
	if (leaves->fd < 0)
		return -1;
	leaves->whole = size % TREE_HASH_LEN == 0;
	leaves->count = size / TREE_HASH_LEN < most ? size / TREE_HASH_LEN : most;
	return 0;
}

void
leaves_close(struct leaves *leaves)
{
	if (leaves->fd >= 0)
		close(leaves->fd);
	leaves->fd = -1;
	leaves->count = 0;
}

/* The window that begins at a multiple of its size. */
static int
move(struct leaves *leaves, uint64_t from)
{
	const uint64_t left = leaves->count - from;
	const size_t want = (left < LEAVES_WINDOW ? (size_t)left : LEAVES_WINDOW) *
	    TREE_HASH_LEN;

	leaves->have = 0;
	if (evidence_pread(leaves->fd, leaves->window, want, from * TREE_HASH_LEN) !=
	    (ptrdiff_t)want)
		return -1;
	leaves->from = from;
	leaves->have = (unsigned)(want / TREE_HASH_LEN);
	return 0;
}

const uint8_t *
leaves_at(struct leaves *leaves, uint64_t i)
{
	if (i >= leaves->count)
		return NULL;
	if ((i < leaves->from || i - leaves->from >= leaves->have) &&
	    move(leaves, i - i % LEAVES_WINDOW) != 0)
		return NULL;
	return leaves->window[i - leaves->from];
}

/* As many as there are places for from that of the tree's size on. */
static int
append_some(struct leaves *leaves, uint64_t at, unsigned n, struct subtree *subtree,
    struct tree_frontier *tree)
{
	const unsigned place = (unsigned)(tree->size % SUBTREE_LEAVES);
	const uint8_t *leaf;
	unsigned i;

	for (i = 0; i < n; i++) {
		if ((leaf = leaves_at(leaves, at + i)) == NULL)
			return -1;
		memcpy(subtree_leaf(subtree, place + i), leaf, TREE_HASH_LEN);
	}
	subtree_fold(subtree, place, place + n);
	return subtree_append(subtree, place, place + n, tree);
}

int
leaves_append(struct leaves *leaves, uint64_t count, struct tree_frontier *tree)
{
	struct subtree *subtree = malloc(sizeof(*subtree));
	int status = subtree != NULL && count <= leaves->count ? 0 : -1;
	uint64_t at = 0;
	unsigned n;

	if (subtree != NULL)
		subtree_init(subtree);
	for (; status == 0 && at < count; at += n) {
		n = SUBTREE_LEAVES - (unsigned)(tree->size % SUBTREE_LEAVES);
		n = count - at < n ? (unsigned)(count - at) : n;
		status = append_some(leaves, at, n, subtree, tree);
	}
	free(subtree);
	return status;
}
