/*
 * The splitter and the hashes.  A file of arbitrary bytes, walked over in
 * several numbers of threads and with every engine of SHA-256, gives the lines,
 * rules and leaves that a simple reading gives, and the same subtrees.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/sha256/sha256.h"
#include "ledger/verify/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct expected {
	const char *at, *end;
	uint64_t index;
	struct tree_frontier tree, whole;
	struct json_scan scratch;
};

static void
require(int condition)
{
	if (!condition)
		abort();
}

static int
on_batch(void *context, const struct walk_batch *batch)
{
	struct expected *x = context;
	uint8_t leaf[TREE_HASH_LEN];
	struct record_line record;
	const char *lf, *rule;
	size_t n, kept;
	unsigned i, cut;

	require(batch->index == x->index && batch->line == x->index + 1);
	for (i = 0; i < batch->count; i++) {
		lf = memchr(x->at, '\n', (size_t)(x->end - x->at));
		n = lf != NULL ? (size_t)(lf - x->at) : (size_t)(x->end - x->at);
		kept = n < RECORD_LINE_MAX + 1 ? n : RECORD_LINE_MAX + 1;
		require(batch->lines[i].len == kept);
		require(memcmp(batch->lines[i].text, x->at, kept) == 0);
		tree_leaf(x->at, kept, leaf);
		require(memcmp(batch->lines[i].leaf, leaf, sizeof(leaf)) == 0);
		rule = record_check(&x->scratch, x->at, kept, &record);
		require((rule == NULL) == (batch->lines[i].rule == NULL));
		require(tree_frontier_append(&x->tree, leaf) == 0);
		x->at += lf != NULL ? n + 1 : n;
		x->index++;
	}
	/* in two stretches, which end anywhere */
	cut = batch->count > 0 ? (unsigned)(batch->index * 7 + batch->count / 3) % batch->count : 0;
	require(walk_append(batch, 0, cut, &x->whole) == 0);
	require(walk_append(batch, cut, batch->count, &x->whole) == 0);
	return 0;
}

static int
on_torn(void *context, unsigned segment, uint64_t line, uint64_t bytes)
{
	const struct expected *x = context;

	require(segment == 0 && line == x->index + 1 && bytes > 0);
	return 0;
}

static void
walk(int dirfd, const struct walk_segment *segment, const char *text, size_t len,
    unsigned threads)
{
	struct expected *x = calloc(1, sizeof(*x));
	struct walk w = { .dirfd = dirfd, .segments = segment, .segment_count = 1,
	    .threads = threads, .batch = on_batch, .torn = on_torn, .context = x };
	char err[256];

	require(x != NULL);
	x->at = text;
	x->end = text + len;
	require(walk_run(&w, err, sizeof(err)) == 0);
	require(tree_frontier_equal(&x->whole, &x->tree));
	/* what was not given as lines holds no LF that ends one before NULs */
	require(x->at == x->end || memchr(x->at, '\n', (size_t)(x->end - x->at)) == NULL);
	free(x);
}

static char path[64];

static void
leave(void)
{
	rmdir(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const engines[] = { "avx512", "sha-ni", "openssl" };
	struct walk_segment segment = { .path = "records", .bytes = len };
	int dirfd, fd;
	unsigned i;

	if (path[0] == '\0') {
		snprintf(path, sizeof(path), "%s/cs-fuzz-walk-XXXXXX",
		    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		require(mkdtemp(path) != NULL && atexit(leave) == 0);
	}
	dirfd = open(path, O_RDONLY | O_DIRECTORY);
	fd = openat(dirfd, "records", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	require(dirfd >= 0 && fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
	for (i = 0; i < 3; i++)
		if (sha256_use(engines[i]))
			walk(dirfd, &segment, (const char *)data, len, i == 1 ? 3 : 1);
	require(sha256_use(NULL));
	unlinkat(dirfd, "records", 0);
	close(dirfd);
	return 0;
}
