#include <unistd.h>

#include "ledger/evidence/evidence.h"
#include "ledger/io.h"
#include "ledger/verify/leaves.h"

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
	if (io_read(leaves->fd, leaves->window, want, from * TREE_HASH_LEN) !=
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

int
leaves_append(struct leaves *leaves, uint64_t count, struct tree_frontier *tree)
{
	const uint8_t (*window)[TREE_HASH_LEN] =
	    (const uint8_t (*)[TREE_HASH_LEN])leaves->window;
	uint64_t at = 0;
	size_t n;

	if (count > leaves->count)
		return -1;
	for (; at < count; at += n) {
		if (leaves_at(leaves, at) == NULL)
			return -1;
		n = count - at < leaves->have ? (size_t)(count - at) : leaves->have;
		if (tree_frontier_append_leaves(tree, window, n) != 0)
			return -1;
	}
	return 0;
}
