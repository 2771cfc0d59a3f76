#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/evidence.h"
#include "ledger/hashes.h"
#include "ledger/verify/beside.h"
#include "ledger/verify/locate.h"

/* The leaves of the segment that begins at `first`, as many as are there;
 * NULL: none. */
static uint8_t (*
read_leaves(const struct load *load, uint64_t first, uint64_t *count))[TREE_HASH_LEN]
{
	const size_t room = (size_t)HASHES_SEGMENT * TREE_HASH_LEN;
	char name[HASHES_NAME_MAX];
	uint8_t *leaves = malloc(room);
	ptrdiff_t n = -1;
	int fd;

	snprintf(name, sizeof(name), "hashes-%020llu", (unsigned long long)first);
	fd = evidence_open(load->dirfd, name, NULL);
	if (fd >= 0 && leaves != NULL)
		n = evidence_pread(fd, leaves, room, 0);
	if (fd >= 0)
		close(fd);
	*count = n > 0 ? (uint64_t)n / TREE_HASH_LEN : 0;
	if (*count > 0)
		return (uint8_t (*)[TREE_HASH_LEN])leaves;
	free(leaves);
	return NULL;
}

static int
append_leaves(const struct load *load, uint64_t size, struct tree_frontier *tree)
{
	uint64_t count, i;
	uint8_t (*leaf)[TREE_HASH_LEN] = read_leaves(load, tree->size, &count);
	int status = leaf != NULL && count >= size - tree->size ? 0 : -1;

	for (i = 0; status == 0 && tree->size < size; i++)
		status = tree_frontier_append(tree, leaf[i]);
	free(leaf);
	return status;
}

bool
beside_gives(const struct load *load, uint64_t size, const uint8_t root[TREE_HASH_LEN])
{
	struct tree_frontier tree = load->frontier;
	uint8_t got[TREE_HASH_LEN];
	struct hashes_end end;

	if (load->kind != VERIFY_LEDGER || tree.size % HASHES_SEGMENT != 0)
		return false;
	while (size > tree.size && size - tree.size >= HASHES_SEGMENT)
		if (hashes_read_end(load->dirfd, tree.size, &end) != 0 ||
		    tree_frontier_append_node(&tree, HASHES_LEVEL, end.root) != 0)
			return false;
	if (size < tree.size || (size > tree.size && append_leaves(load, size, &tree) != 0))
		return false;
	tree_frontier_root(&tree, got);
	return memcmp(got, root, TREE_HASH_LEN) == 0;
}

/* The leaves of a full segment give the root that was believed. */
static bool
fold_to_end(const struct load *load, const struct locate *l)
{
	struct tree_frontier tree;
	uint8_t got[TREE_HASH_LEN];
	struct hashes_end end;
	uint64_t i;

	if (l->end - l->first < HASHES_SEGMENT)
		return true;	/* all of them are in the signed root */
	tree_frontier_init(&tree);
	for (i = 0; i < l->leaves; i++)
		if (tree_frontier_append(&tree, l->leaf[i]) != 0)
			return false;
	tree_frontier_root(&tree, got);
	return l->leaves == HASHES_SEGMENT &&
	    hashes_read_end(load->dirfd, l->first, &end) == 0 &&
	    memcmp(got, end.root, TREE_HASH_LEN) == 0;
}

static int
batch_cb(void *context, const struct walk_batch *batch)
{
	locate_batch(context, batch);
	return 0;
}

static int
torn_cb(void *context, unsigned segment, uint64_t line, uint64_t bytes)
{
	(void)context;
	(void)segment;
	(void)line;
	(void)bytes;
	return 0;
}

/* The lines of the file that begins there, if there is one. */
static int
walk_segment(const struct load *load, struct locate *l)
{
	struct walk walk = { .dirfd = load->dirfd, .segment_count = 1,
	    .first = l->first, .batch = batch_cb, .torn = torn_cb, .context = l };
	char err[256];
	unsigned i;

	for (i = 0; i < load->segments && load->segment[i].first != l->first; i++)
		;
	if (i == load->segments)
		return 0;
	l->segment = i;
	walk.segments = &load->segment[i];
	return walk_run(&walk, err, sizeof(err)) == 0 ? 0 : -1;
}

/* Of one segment; all must be found good before anything is named. */
static int
take_segment(const struct load *load, uint64_t first, uint64_t size,
    struct verify_result *result)
{
	struct locate l = { .load = load, .result = result, .first = first, .end = size };
	uint8_t (*leaf)[TREE_HASH_LEN] = read_leaves(load, first, &l.leaves);
	int status = -1;

	l.leaf = (const uint8_t (*)[TREE_HASH_LEN])leaf;
	if (leaf != NULL && fold_to_end(load, &l))
		status = 0;
	if (status == 0 && result != NULL) {
		status = locate_begin(&l);
		if (status == 0 && (status = walk_segment(load, &l)) == 0)
			locate_end(&l);
		locate_free(&l);
	}
	free(leaf);
	return status;
}

int
beside_name(const struct load *load, uint64_t size, struct verify_result *result)
{
	uint64_t first;

	for (first = load->frontier.size; first < size; first += HASHES_SEGMENT)
		if (take_segment(load, first, size, NULL) != 0)
			return -1;
	for (first = load->frontier.size; first < size; first += HASHES_SEGMENT)
		if (take_segment(load, first, size, result) != 0)
			return -1;
	return 0;
}
