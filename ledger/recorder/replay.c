#include "ledger/recorder/replay.h"
#include "ledger/io.h"
#include "ledger/recorder/segment.h"
#include "ledger/tree/hashes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK (1024 * 1024)	/* bytes read at a time; a line must fit */

/* One pass over all segments. */
struct pass {
	struct replay *replay;
	const struct checkpoint *checkpoint;
	struct problem *problem;
	struct json_scan *scratch;
	char *block;
	char name[SEGMENT_NAME_MAX];
	bool last;		/* the segment that may have a torn end */
};

static struct replay_stream *
find_stream(const struct replay *replay, struct record_slice name)
{
	for (unsigned i = 0; i < replay->n_streams; i++) {
		struct replay_stream *stream = &replay->streams[i];

		if (strlen(stream->name) == name.len &&
		    memcmp(stream->name, name.ptr, name.len) == 0)
			return stream;
	}
	return NULL;
}

const struct replay_stream *
replay_find(const struct replay *replay, const char *name)
{
	return find_stream(replay, (struct record_slice){ name, strlen(name) });
}

static struct replay_stream *
add_stream(struct pass *pass, struct record_slice name)
{
	struct replay *replay = pass->replay;
	struct replay_stream *stream;

	if (replay->n_streams == REPLAY_STREAMS_MAX) {
		problem_set(pass->problem, "%s: more than %d streams",
		    pass->name, REPLAY_STREAMS_MAX);
		return NULL;
	}
	stream = &replay->streams[replay->n_streams++];
	*stream = (struct replay_stream){ .next_seq = 0 };
	memcpy(stream->name, name.ptr, name.len);
	return stream;
}

/* A `drop` record stands behind the hole it declares. */
static bool
seq_continues(const struct replay_stream *stream,
    const struct record_line *record)
{
	return record->seq == stream->next_seq ||
	    (record->seq > stream->next_seq && record_slice_is(record->type, "drop"));
}

static int
follow(struct pass *pass, const struct record_line *record,
    const uint8_t leaf[RECORD_HASH_LEN])
{
	struct replay_stream *stream = find_stream(pass->replay,
	    record->stream);
	char prev[2 * RECORD_HASH_LEN + 1];

	if (stream == NULL)
		stream = add_stream(pass, record->stream);
	if (stream == NULL)
		return -1;
	sodium_bin2hex(prev, sizeof(prev), stream->last, RECORD_HASH_LEN);
	if (memcmp(prev, record->prev.ptr, 2 * RECORD_HASH_LEN) != 0)
		return problem_set(pass->problem, "%s: record %" PRIu64
		    " does not follow the record of its stream before it",
		    pass->name, pass->replay->tree.size);
	if (!seq_continues(stream, record))
		return problem_set(pass->problem, "%s: record %" PRIu64
		    " has seq %" PRIu64 " where %" PRIu64 " is due",
		    pass->name, pass->replay->tree.size, record->seq,
		    stream->next_seq);
	memcpy(stream->last, leaf, RECORD_HASH_LEN);
	stream->next_seq = record->seq + 1;
	stream->time_us = record->time_us;
	stream->open = !record_slice_is(record->type, "close");
	return 0;
}

static int
check_root(struct pass *pass)
{
	const struct checkpoint *checkpoint = pass->checkpoint;
	uint8_t root[TREE_HASH_LEN];

	if (pass->replay->tree.size != checkpoint->size)
		return 0;
	tree_frontier_root(&pass->replay->tree, root);
	if (memcmp(root, checkpoint->root, sizeof(root)) == 0)
		return 0;
	return problem_set(pass->problem, "the first %" PRIu64 " records do "
	    "not have the root that the checkpoint signs: the ledger was "
	    "altered; keep it for countersign-verify and start another "
	    "(countersign ledger restart-origin)",
	    checkpoint->size);
}

/* For a change of the key that a crash may have interrupted. */
static int
keep_key(struct replay *replay, const char *line, size_t len)
{
	char *copy = realloc(replay->key_line, len + 1);

	if (copy == NULL)
		return -1;
	memcpy(copy, line, len);
	copy[len] = '\0';
	replay->key_line = copy;
	replay->key_len = len;
	replay->key_before = replay->tree;
	return 0;
}

/* One complete line, without its LF. */
static int
take_line(struct pass *pass, const char *line, size_t len)
{
	struct replay *replay = pass->replay;
	uint8_t leaf[TREE_HASH_LEN];
	struct record_line record;
	const char *rule;

	if (replay->tree.size < pass->checkpoint->size)
		rule = record_parse(line, len, &record);
	else
		rule = record_check(pass->scratch, line, len, &record);
	if (rule != NULL)
		return problem_set(pass->problem, "%s: record %" PRIu64
		    " is not valid: %s", pass->name, replay->tree.size, rule);
	tree_leaf(line, len, leaf);
	if (follow(pass, &record, leaf) != 0)
		return -1;
	if (record_slice_is(record.type, "key") && keep_key(replay, line, len) != 0)
		return problem_set(pass->problem, "out of memory");
	if (tree_frontier_append(&replay->tree, leaf) != 0)
		return problem_set(pass->problem, "the ledger is full");
	memcpy(replay->leaves[replay->segment_count], leaf, sizeof(leaf));
	replay->segment_count++;
	replay->segment_size += len + 1;
	return check_root(pass);
}

/* What follows the last complete line of a segment. */
static int
take_end(struct pass *pass, int fd)
{
	struct replay *replay = pass->replay;
	off_t end = lseek(fd, 0, SEEK_END);
	uint64_t left;

	if (end < 0)
		return problem_errno(pass->problem, "%s", pass->name);
	left = (uint64_t)end - replay->segment_size;
	if (!pass->last && (left > 0 ||
	    replay->segment_count != SEGMENT_RECORDS))
		return problem_set(pass->problem, "%s is not whole, though "
		    "others follow it", pass->name);
	while (left > 0) {
		size_t n = left < BLOCK ? (size_t)left : BLOCK;
		ssize_t got = io_read(fd, pass->block, n,
		    replay->segment_size + left - n);

		if (got != (ssize_t)n)
			return problem_errno(pass->problem, "%s", pass->name);
		while (n > 0 && pass->block[n - 1] == '\0') {
			n--;
			left--;
		}
		if (n > 0)
			break;
	}
	replay->torn_len = left;
	return 0;
}

/* The complete lines at the start of block[0..len); *used bytes of them.  1
 * where a line with a NUL ends what can be kept. */
static int
take_lines(struct pass *pass, const char *block, size_t len, size_t *used)
{
	size_t at = 0;
	int status = 0;

	while (status == 0 && at < len &&
	    pass->replay->segment_count < SEGMENT_RECORDS) {
		const char *lf = memchr(block + at, '\n', len - at);
		size_t n;

		if (lf == NULL)
			break;
		n = (size_t)(lf - (block + at));
		if (memchr(block + at, '\0', n) != NULL)
			status = 1;
		else
			status = take_line(pass, block + at, n);
		if (status == 0)
			at += n + 1;
	}
	*used = at;
	return status;
}

static int
take_segment(struct pass *pass, int fd)
{
	size_t held = 0, used;
	uint64_t at = 0;

	for (;;) {
		ssize_t n = io_read(fd, pass->block + held, BLOCK - held, at);
		int status;

		if (n < 0)
			return problem_errno(pass->problem, "cannot read %s",
			    pass->name);
		at += (uint64_t)n;
		held += (size_t)n;
		status = take_lines(pass, pass->block, held, &used);
		if (status < 0)
			return -1;
		memmove(pass->block, pass->block + used, held - used);
		held -= used;
		/* At the end, at a torn line, or at one that never ends. */
		if (status > 0 || n == 0 || held == BLOCK)
			return take_end(pass, fd);
	}
}

static void
segment_root(const struct replay *replay, uint8_t out[TREE_HASH_LEN])
{
	struct tree_frontier tree;

	tree_frontier_init(&tree);
	for (uint64_t i = 0; i < replay->segment_count; i++)
		tree_frontier_append(&tree, replay->leaves[i]);
	tree_frontier_root(&tree, out);
}

/* The hashes beside a full segment follow from what was just read. */
static void
mend_hashes(const struct replay *replay, int dirfd)
{
	struct hashes_end end, found;
	struct hashes hashes;
	bool there = hashes_read_end(dirfd, replay->segment_first,
	    &found) == 0;

	if (replay->segment_count < SEGMENT_RECORDS)
		return;
	segment_root(replay, end.root);
	if (there && found.bytes == replay->segment_size &&
	    memcmp(found.root, end.root, sizeof(end.root)) == 0)
		return;
	hashes_start(&hashes, dirfd, replay->segment_first,
	    (const uint8_t (*)[TREE_HASH_LEN])replay->leaves, SEGMENT_RECORDS);
	hashes_finish(&hashes, replay->segment_size);
}

static int
open_segment(struct pass *pass, int dirfd, uint64_t first)
{
	struct replay *replay = pass->replay;
	int fd, status;

	segment_name(pass->name, first);
	fd = io_open(dirfd, pass->name, O_RDONLY, 0);
	if (fd < 0)
		return problem_errno(pass->problem, "cannot open %s",
		    pass->name);
	replay->segment_first = first;
	replay->segment_count = replay->segment_size = replay->torn_len = 0;
	status = take_segment(pass, fd);
	close(fd);
	if (status == 0)
		mend_hashes(replay, dirfd);
	return status;
}

/* One entry of a `heads` record's table. */
static int
load_head(struct pass *pass, json_t *entry)
{
	const char *name = NULL, *last = NULL;
	struct replay_stream *stream;
	json_int_t next = -1;
	int open = 0;
	size_t len;

	if (json_unpack(entry, "{s:s, s:I, s:s, s:b}", "stream", &name,
	    "next_seq", &next, "last", &last, "open", &open) != 0 ||
	    !record_name_valid(name, strlen(name)) || next < 1)
		return -1;
	stream = add_stream(pass, (struct record_slice){ name, strlen(name) });
	if (stream == NULL || sodium_hex2bin(stream->last,
	    sizeof(stream->last), last, strlen(last), NULL, &len, NULL) != 0 ||
	    len != sizeof(stream->last))
		return -1;
	stream->next_seq = (uint64_t)next;
	stream->open = open != 0;
	return 0;
}

static int
load_heads(struct pass *pass, struct record_slice body)
{
	json_t *root = json_loadb(body.ptr, body.len, JSON_REJECT_DUPLICATES,
	    NULL);
	json_t *table = json_object_get(root, "streams"), *entry;
	int status = json_is_array(table) ? 0 : -1;
	size_t i;

	pass->replay->n_streams = 0;
	json_array_foreach(table, i, entry) {
		if (status == 0)
			status = load_head(pass, entry);
	}
	json_decref(root);
	return status;
}

/* Does the segment begin with a `heads` record?  Then where every stream stood
 * before it is known. */
static bool
begins_with_heads(struct pass *pass, int dirfd, uint64_t first)
{
	struct record_line record;
	ssize_t n = -1;
	char *lf;
	int fd;

	segment_name(pass->name, first);
	fd = io_open(dirfd, pass->name, O_RDONLY, 0);
	if (fd >= 0) {
		n = io_read(fd, pass->block, RECORD_LINE_MAX + 1, 0);
		close(fd);
	}
	lf = n > 0 ? memchr(pass->block, '\n', (size_t)n) : NULL;
	return lf != NULL && record_check(pass->scratch, pass->block,
	    (size_t)(lf - pass->block), &record) == NULL &&
	    record_slice_is(record.type, "heads") && load_heads(pass, record.body) == 0;
}

/* The root of a full segment from the file beside it, if that is about a file
 * of records of this size. */
static bool
known_segment(int dirfd, uint64_t first, uint8_t root[TREE_HASH_LEN])
{
	char name[SEGMENT_NAME_MAX];
	struct hashes_end end;
	struct stat st;

	segment_name(name, first);
	if (hashes_read_end(dirfd, first, &end) != 0 ||
	    fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode) || (uint64_t)st.st_size != end.bytes)
		return false;
	memcpy(root, end.root, sizeof(end.root));
	return true;
}

/* Take what need not be read; the first segment that must be.  It holds the
 * last signed record or comes before it, so the signed root is still checked. */
static uint64_t
skip_segments(struct pass *pass, int dirfd, uint64_t segments)
{
	struct tree_frontier *tree = &pass->replay->tree;
	uint8_t root[TREE_HASH_LEN];
	uint64_t start = 0, skipped = 0;

	if (segments > 0 && pass->checkpoint->size > 0)
		start = (pass->checkpoint->size - 1) / SEGMENT_RECORDS;
	if (start >= segments)
		return 0;
	while (start > 0 && !begins_with_heads(pass, dirfd,
	    start * SEGMENT_RECORDS))
		start--;
	if (start == 0)
		pass->replay->n_streams = 0;
	while (skipped < start && known_segment(dirfd,
	    skipped * SEGMENT_RECORDS, root) &&
	    tree_frontier_append_node(tree, HASHES_LEVEL, root) == 0)
		skipped++;
	if (skipped == start)
		return start;
	tree_frontier_init(tree);
	pass->replay->n_streams = 0;
	return 0;
}

static int
run(struct pass *pass, int dirfd, bool all)
{
	const struct checkpoint *checkpoint = pass->checkpoint;
	struct replay *replay = pass->replay;
	uint64_t segments = 0, start = 0;

	tree_frontier_init(&replay->tree);
	replay->n_streams = 0;
	replay->segment_first = replay->segment_count = 0;
	replay->segment_size = replay->torn_len = 0;
	if (segment_count(dirfd, &segments, pass->problem) != 0 ||
	    check_root(pass) != 0)
		return -1;
	if (!all)
		start = skip_segments(pass, dirfd, segments);
	replay->first_read = start * SEGMENT_RECORDS;
	for (uint64_t i = start; i < segments; i++) {
		pass->last = i + 1 == segments;
		if (open_segment(pass, dirfd, i * SEGMENT_RECORDS) != 0)
			return -1;
	}
	if (replay->tree.size < checkpoint->size)
		return problem_set(pass->problem, "the ledger holds %" PRIu64
		    " whole records, but its checkpoint signs %" PRIu64
		    ": records are missing; keep it for countersign-verify "
		    "and start another (countersign ledger restart-origin)",
		    replay->tree.size, checkpoint->size);
	return 0;
}

int
replay_run(struct replay *replay, int dirfd,
    const struct checkpoint *checkpoint, bool all, struct problem *problem)
{
	struct pass pass = { .replay = replay, .checkpoint = checkpoint,
	    .problem = problem };
	int status = -1;

	*replay = (struct replay){ .n_streams = 0 };
	replay->streams = calloc(REPLAY_STREAMS_MAX, sizeof(*replay->streams));
	replay->leaves = malloc(SEGMENT_RECORDS * sizeof(*replay->leaves));
	pass.block = malloc(BLOCK);
	pass.scratch = malloc(sizeof(*pass.scratch));
	if (replay->streams == NULL || replay->leaves == NULL ||
	    pass.block == NULL || pass.scratch == NULL)
		problem_set(problem, "out of memory");
	else
		status = run(&pass, dirfd, all);
	if (status != 0 && replay->first_read > 0)
		status = run(&pass, dirfd, true);
	free(pass.scratch);
	free(pass.block);
	if (status != 0)
		replay_free(replay);
	return status;
}

void
replay_free(struct replay *replay)
{
	free(replay->streams);
	free(replay->leaves);
	free(replay->key_line);
	replay->key_line = NULL;
	replay->streams = NULL;
	replay->leaves = NULL;
	replay->n_streams = 0;
}
