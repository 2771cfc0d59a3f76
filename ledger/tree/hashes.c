#include "ledger/io.h"
#include "ledger/tree/hashes.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK HASHES_BLOCK
#define BLOCK_LEVEL HASHES_BLOCK_LEVEL
#define NODES_AT ((uint64_t)HASHES_SEGMENT * TREE_HASH_LEN)
#define END_AT (NODES_AT + BLOCK * TREE_HASH_LEN)
#define END_LEN (TREE_HASH_LEN + 8)

static void
file_name(char out[HASHES_NAME_MAX], uint64_t first)
{
	snprintf(out, HASHES_NAME_MAX, "hashes-%020" PRIu64, first);
}

static void
give_up(struct hashes *hashes)
{
	if (hashes->fd >= 0)
		close(hashes->fd);
	hashes->fd = -1;
}

/* The root of 2^level hashes. */
static void
fold(const uint8_t (*hash)[TREE_HASH_LEN], unsigned level,
    uint8_t out[TREE_HASH_LEN])
{
	struct tree_frontier tree;

	tree_frontier_init(&tree);
	tree_frontier_append_leaves(&tree, hash, (size_t)1 << level);
	memcpy(out, tree.node[level], TREE_HASH_LEN);
}

void
hashes_start(struct hashes *hashes, int dirfd, uint64_t first,
    const uint8_t (*leaves)[TREE_HASH_LEN], uint64_t count)
{
	char name[HASHES_NAME_MAX];

	memset(hashes, 0, sizeof(*hashes));
	hashes->dirfd = dirfd;
	hashes->first = first;
	file_name(name, first);
	hashes->fd = io_open(dirfd, name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (uint64_t i = 0; i < count; i++)
		hashes_add(hashes, leaves[i]);
	hashes_flush(hashes);
}

static void
end_block(struct hashes *hashes, const uint8_t *node)
{
	uint8_t *out = hashes->node[hashes->count / BLOCK - 1];

	hashes_flush(hashes);
	if (node != NULL)
		memcpy(out, node, TREE_HASH_LEN);
	else
		fold((const uint8_t (*)[TREE_HASH_LEN])hashes->leaf,
		    BLOCK_LEVEL, out);
}

void
hashes_add_leaves(struct hashes *hashes, const uint8_t (*leaf)[TREE_HASH_LEN],
    unsigned count, const uint8_t node[TREE_HASH_LEN])
{
	if (hashes->fd < 0 || hashes->count == HASHES_SEGMENT)
		return;
	assert(hashes->count % BLOCK + count <= BLOCK);
	memcpy(hashes->leaf[hashes->count % BLOCK], leaf,
	    (size_t)count * TREE_HASH_LEN);
	hashes->count += count;
	hashes->waiting += count;
	if (count > 0 && hashes->count % BLOCK == 0)
		end_block(hashes, node);
}

void
hashes_add(struct hashes *hashes, const uint8_t leaf[TREE_HASH_LEN])
{
	hashes_add_leaves(hashes, (const uint8_t (*)[TREE_HASH_LEN])leaf, 1,
	    NULL);
}

void
hashes_flush(struct hashes *hashes)
{
	uint64_t from = hashes->count - hashes->waiting;

	if (hashes->fd < 0 || hashes->waiting == 0)
		return;
	if (io_write(hashes->fd, hashes->leaf[from % BLOCK],
	    (size_t)hashes->waiting * TREE_HASH_LEN,
	    from * TREE_HASH_LEN) != 0)
		give_up(hashes);
	hashes->waiting = 0;
}

static void
put_be64(uint8_t out[8], uint64_t value)
{
	for (int i = 7; i >= 0; i--) {
		out[i] = (uint8_t)value;
		value >>= 8;
	}
}

static uint64_t
get_be64(const uint8_t in[8])
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | in[i];
	return value;
}

/* The end makes the file count as whole, so all else is on disk before it. */
void
hashes_finish(struct hashes *hashes, uint64_t bytes)
{
	uint8_t end[END_LEN];

	hashes_flush(hashes);
	if (hashes->fd < 0 || hashes->count != HASHES_SEGMENT)
		return;
	if (io_write(hashes->fd, hashes->node, sizeof(hashes->node),
	    NODES_AT) != 0 || io_sync(hashes->fd) != 0) {
		give_up(hashes);
		return;
	}
	fold((const uint8_t (*)[TREE_HASH_LEN])hashes->node,
	    HASHES_LEVEL - BLOCK_LEVEL, end);
	put_be64(end + TREE_HASH_LEN, bytes);
	if (io_write(hashes->fd, end, sizeof(end), END_AT) == 0)
		io_sync(hashes->fd);
	give_up(hashes);
}

void
hashes_stop(struct hashes *hashes)
{
	hashes_flush(hashes);
	give_up(hashes);
}

/* Exactly len bytes at an offset of a segment's file. */
static int
read_at(int dirfd, uint64_t first, uint64_t at, void *out, size_t len)
{
	char name[HASHES_NAME_MAX];
	int fd, status;

	file_name(name, first);
	fd = io_open(dirfd, name, O_RDONLY, 0);
	if (fd < 0)
		return -1;
	status = io_read(fd, out, len, at) == (ssize_t)len ? 0 : -1;
	close(fd);
	return status;
}

int
hashes_read_end(int dirfd, uint64_t first, struct hashes_end *out)
{
	uint8_t end[END_LEN];

	if (read_at(dirfd, first, END_AT, end, sizeof(end)) != 0)
		return -1;
	memcpy(out->root, end, sizeof(out->root));
	out->bytes = get_be64(end + TREE_HASH_LEN);
	return 0;
}

/* Nodes that are stored: of level 0, 8 or 16, all of one segment. */
static int
read_stored(int dirfd, unsigned level, uint64_t from, uint64_t count,
    uint8_t (*out)[TREE_HASH_LEN])
{
	uint64_t leaf = from << level, at = leaf % HASHES_SEGMENT;
	size_t len = (size_t)count * TREE_HASH_LEN;

	if (level == BLOCK_LEVEL)
		at = NODES_AT + (at >> BLOCK_LEVEL) * TREE_HASH_LEN;
	else if (level == HASHES_LEVEL)
		at = END_AT;
	else
		at *= TREE_HASH_LEN;
	return read_at(dirfd, leaf - leaf % HASHES_SEGMENT, at, out, len);
}

/* The same; where the segment is not full, from the leaves. */
static int
read_level(int dirfd, unsigned level, uint64_t from, uint64_t count,
    uint8_t (*out)[TREE_HASH_LEN])
{
	if (read_stored(dirfd, level, from, count, out) == 0)
		return 0;
	if (level == 0)
		return -1;
	for (uint64_t i = 0; i < count; i++) {
		uint8_t below[BLOCK][TREE_HASH_LEN];

		if (read_level(dirfd, level - BLOCK_LEVEL, (from + i) * BLOCK,
		    BLOCK, below) != 0)
			return -1;
		fold((const uint8_t (*)[TREE_HASH_LEN])below, BLOCK_LEVEL,
		    out[i]);
	}
	return 0;
}

static int
read_node(int dirfd, unsigned level, uint64_t index,
    uint8_t out[TREE_HASH_LEN])
{
	unsigned up = level % BLOCK_LEVEL;
	uint8_t below[BLOCK / 2][TREE_HASH_LEN];

	if (level > HASHES_LEVEL) {
		if (read_node(dirfd, level - 1, 2 * index, below[0]) != 0 ||
		    read_node(dirfd, level - 1, 2 * index + 1, below[1]) != 0)
			return -1;
		tree_node(below[0], below[1], out);
		return 0;
	}
	if (read_level(dirfd, level - up, index << up, UINT64_C(1) << up,
	    below) != 0)
		return -1;
	fold((const uint8_t (*)[TREE_HASH_LEN])below, up, out);
	return 0;
}

/* Are the count nodes from index on complete subtrees of the reader's tree? */
static bool
within(const struct hashes_reader *reader, unsigned level, uint64_t index,
    uint64_t count)
{
	return level < TREE_LEVELS && count <= reader->size >> level &&
	    index <= (reader->size >> level) - count;
}

static int
source_node(void *context, unsigned level, uint64_t index,
    uint8_t out[TREE_HASH_LEN])
{
	const struct hashes_reader *reader = context;

	if (!within(reader, level, index, 1))
		return -1;
	return read_node(reader->dirfd, level, index, out);
}

struct tree_source
hashes_source(struct hashes_reader *reader)
{
	return (struct tree_source){ .node = source_node, .context = reader };
}

int
hashes_tile(struct hashes_reader *reader, unsigned level, uint64_t index,
    unsigned width, uint8_t out[256 * TREE_HASH_LEN])
{
	uint64_t from = index * BLOCK;

	if (width < 1 || width > BLOCK || level > TREE_LEVELS / BLOCK_LEVEL ||
	    index > UINT64_MAX / BLOCK ||
	    !within(reader, level * BLOCK_LEVEL, from, width))
		return -1;
	/* The first two tiles' levels lie together in one segment. */
	if (level <= 1)
		return read_level(reader->dirfd, level * BLOCK_LEVEL, from,
		    width, (uint8_t (*)[TREE_HASH_LEN])out);
	for (unsigned i = 0; i < width; i++) {
		if (read_node(reader->dirfd, level * BLOCK_LEVEL, from + i,
		    out + (size_t)i * TREE_HASH_LEN) != 0)
			return -1;
	}
	return 0;
}
