#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/tree/hashes.h"
#include "ledger/verify/beside.h"
#include "ledger/verify/locate.h"

/* The leaves of the segment that begins at `first`, as many as are there. */
static int
open_leaves(const struct load *load, uint64_t first, struct leaves *leaves)
{
	char name[HASHES_NAME_MAX];

	snprintf(name, sizeof(name), "hashes-%020llu", (unsigned long long)first);
	return leaves_open(leaves, load->dirfd, name, HASHES_SEGMENT);
}

static int
append_leaves(const struct load *load, uint64_t size, struct tree_frontier *tree)
{
	struct leaves leaves;
	int status = open_leaves(load, tree->size, &leaves);

	if (status == 0)
		status = leaves_append(&leaves, size - tree->size, tree);
	leaves_close(&leaves);
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

	if (l->end - l->first < HASHES_SEGMENT)
		return true;	/* all of them are in the signed root */
	tree_frontier_init(&tree);
	if (l->leaves->count != HASHES_SEGMENT ||
	    leaves_append(l->leaves, HASHES_SEGMENT, &tree) != 0)
		return false;
	tree_frontier_root(&tree, got);
	return hashes_read_end(load->dirfd, l->first, &end) == 0 &&
	    memcmp(got, end.root, TREE_HASH_LEN) == 0;
}

static int
batch_cb(void *context, const struct walk_batch *batch)
{
	locate_batch(context, batch);
	return 0;
}

/* The lines of the file that begins there, if there is one. */
static int
walk_segment(const struct load *load, struct locate *l)
{
	struct walk walk = { .dirfd = load->dirfd, .segment_count = 1,
	    .first = l->first, .batch = batch_cb, .context = l };
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
	struct leaves leaves;
	struct locate l = { .load = load, .result = result, .leaves = &leaves,
	    .first = first, .end = size };
	int status = -1;

	if (open_leaves(load, first, &leaves) == 0 && leaves.count > 0 &&
	    fold_to_end(load, &l))
		status = 0;
	if (status == 0 && result != NULL) {
		status = locate_begin(&l);
		if (status == 0 && (status = walk_segment(load, &l)) == 0)
			locate_end(&l);
		locate_free(&l);
	}
	leaves_close(&leaves);
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
