#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/evidence.h"
#include "ledger/record_memo.h"
#include "ledger/sha256/sha256.h"
#include "ledger/verify/walk.h"

#define BUFFER (1024 * 1024)		/* bytes of a batch */
#define READ_MORE (16 * 1024)		/* where a guess was too low */
#define LINE_ROOM (RECORD_LINE_MAX + 2)	/* a line that is one byte too long, and LF */

enum state { EMPTY, FILLED, DONE };

/* A batch's hashes, where they can be worked out many at a time. */
struct hashes {
	struct sha256_job job[WALK_LINES];
	uint8_t leaf[WALK_LINES][TREE_HASH_LEN];
	uint8_t node[2][WALK_LINES / 2][TREE_HASH_LEN];	/* of a level, and the next */
};

/* One batch on its way: filled by the reader, worked by a thread, handed over. */
struct slot {
	struct walk_batch batch;
	struct walk_line *lines;
	struct hashes *hashes;
	char *buf;
	size_t have;		/* bytes in buf */
	enum state state;
};

struct reader {
	const struct walk *walk;
	int fd;
	unsigned segment;
	uint64_t at;		/* bytes of the segment read so far */
	uint64_t line, index;	/* of the next line */
	size_t guess;		/* bytes that the next batch is likely to take */
	bool skip;		/* within an overlong line */
	bool end;		/* of the segment */
	const char *rest;	/* bytes read but not used by the batch before */
	size_t rest_len;
	uint64_t bytes;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t filled, done;
	struct slot *slots;
	unsigned slot_count, next;	/* next: slot to be worked on */
	pthread_t thread[WALK_THREADS_MAX];
	unsigned threads;
	bool stop;
};

/* ---- working on a batch ---- */

static void
hash_lines(struct slot *slot)
{
	struct hashes *h = slot->hashes;
	struct walk_line *line;
	unsigned i;

	for (i = 0; i < slot->batch.count; i++) {
		line = &slot->lines[i];
		line->leaf = h->leaf[i];
		h->job[i] = (struct sha256_job){ line->text, line->len, h->leaf[i] };
	}
	sha256_jobs(TREE_LEAF_PREFIX, h->job, slot->batch.count);
}

/* Level by level: a node's message is two hashes that lie side by side. */
static void
fold(struct slot *slot)
{
	struct hashes *h = slot->hashes;
	const uint8_t *below = h->leaf[0];
	unsigned n, i, to = 0;

	for (n = WALK_LINES / 2; n > 0; n /= 2, to = !to) {
		for (i = 0; i < n; i++)
			h->job[i] = (struct sha256_job){ below + 2 * i * TREE_HASH_LEN,
			    2 * TREE_HASH_LEN, h->node[to][i] };
		sha256_jobs(TREE_NODE_PREFIX, h->job, n);
		below = h->node[to][0];
	}
	memcpy(slot->batch.node, below, TREE_HASH_LEN);
}

static void
work(struct slot *slot, struct record_memo *memo)
{
	struct walk_line *line;
	unsigned i;

	hash_lines(slot);
	for (i = 0; i < slot->batch.count; i++) {
		line = &slot->lines[i];
		line->rule = record_memo_check(memo, line->text, line->len,
		    &line->record, line->prev);
	}
	slot->batch.whole = slot->batch.count == WALK_LINES;
	if (slot->batch.whole)
		fold(slot);
}

static void *
worker(void *arg)
{
	struct pool *pool = arg;
	struct record_memo *memo = calloc(1, sizeof(*memo));
	struct slot *slot;

	assert(memo != NULL);
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		slot = &pool->slots[pool->next];
		if (slot->state == FILLED) {
			pool->next = (pool->next + 1) % pool->slot_count;
			pthread_mutex_unlock(&pool->lock);
			work(slot, memo);
			pthread_mutex_lock(&pool->lock);
			slot->state = DONE;
			pthread_cond_signal(&pool->done);
		} else if (pool->stop) {
			break;
		} else {
			pthread_cond_wait(&pool->filled, &pool->lock);
		}
	}
	pthread_mutex_unlock(&pool->lock);
	free(memo);
	return NULL;
}

/* ---- reading ---- */

static int
next_segment(struct reader *r, char *err, size_t err_len)
{
	const char *path = r->walk->segments[r->segment].path;

	r->fd = evidence_open(r->walk->dirfd, path, NULL);
	if (r->fd < 0) {
		snprintf(err, err_len, "%s: %s", path, errno == ELOOP ?
		    "a link, which evidence may not hold" : strerror(errno));
		return -1;
	}
	r->at = 0;
	r->line = 1;
	r->end = r->skip = false;
	return 0;
}

/* More bytes behind those in the buffer; none at the end of the segment. */
static int
more(struct reader *r, struct slot *slot, size_t want, char *err, size_t err_len)
{
	const uint64_t left = r->walk->segments[r->segment].bytes - r->at;
	ptrdiff_t n;

	if (want > BUFFER - slot->have)
		want = BUFFER - slot->have;
	if (want > left)
		want = (size_t)left;
	n = evidence_pread(r->fd, slot->buf + slot->have, want, r->at);
	if (n < 0) {
		snprintf(err, err_len, "%s: %s", r->walk->segments[r->segment].path,
		    strerror(errno));
		return -1;
	}
	r->at += (uint64_t)n;
	r->bytes += (uint64_t)n;
	slot->have += (size_t)n;
	r->end = (size_t)n < want || want == left;
	return 0;
}

static void
add_line(struct slot *slot, const char *text, size_t len)
{
	struct walk_line *line = &slot->lines[slot->batch.count++];

	line->text = text;
	line->len = (uint32_t)len;
}

/* Nothing but NUL from here on: space that a recorder took ahead, or that a
 * crash left.  It stops at the first other byte, so that it costs nothing. */
static bool
only_nul(struct reader *r, const struct slot *slot, size_t at)
{
	char block[4096];
	uint64_t offset = r->at;
	ptrdiff_t n;

	for (; at < slot->have; at++)
		if (slot->buf[at] != '\0')
			return false;
	while ((n = evidence_pread(r->fd, block, sizeof(block), offset)) > 0) {
		if (block[0] != '\0' || memcmp(block, block + 1, (size_t)n - 1) != 0)
			return false;
		offset += (uint64_t)n;
	}
	return n == 0;
}

/* Where the records end in NULs, forget these and see the end here. */
static bool
cut_nul(struct reader *r, struct slot *slot, size_t at, size_t window)
{
	const char *nul = memchr(slot->buf + at, '\0', window);

	if (nul == NULL || !only_nul(r, slot, (size_t)(nul - slot->buf)))
		return false;
	slot->have = (size_t)(nul - slot->buf);
	r->end = true;
	return true;
}

/* Lines of the buffer from *at on; true while the batch can take more. */
static bool
split(struct reader *r, struct slot *slot, size_t *at, unsigned limit)
{
	const char *lf;
	size_t left, window;

	while (slot->batch.count < limit) {
		left = slot->have - *at;
		if (r->skip) {
			lf = memchr(slot->buf + *at, '\n', left);
			*at = lf == NULL ? slot->have : (size_t)(lf - slot->buf) + 1;
			r->skip = lf == NULL;
			if (r->skip)
				return true;
			continue;
		}
		window = left < LINE_ROOM ? left : LINE_ROOM;
		lf = memchr(slot->buf + *at, '\n', window);
		if (lf != NULL) {
			add_line(slot, slot->buf + *at, (size_t)(lf - slot->buf) - *at);
			*at = (size_t)(lf - slot->buf) + 1;
		} else if (cut_nul(r, slot, *at, window)) {
			return true;
		} else if (window == LINE_ROOM) {
			add_line(slot, slot->buf + *at, RECORD_LINE_MAX + 1);
			*at += window;
			r->skip = true;
		} else {
			return true;
		}
	}
	return false;
}

/*
 * Fill a slot with lines of one segment, up to the next multiple of a batch.
 * *torn gets the bytes of an unterminated end.  The buffer's unused end stays
 * where it is until the next slot has copied it.
 */
static int
fill(struct reader *r, struct slot *slot, uint64_t *torn, char *err, size_t err_len)
{
	unsigned limit = WALK_LINES - (unsigned)(r->index % WALK_LINES);
	size_t at = 0;

	memmove(slot->buf, r->rest, r->rest_len);
	slot->have = r->rest_len;
	slot->batch = (struct walk_batch){ .index = r->index, .segment = r->segment,
	    .line = r->line, .lines = slot->lines };
	while (split(r, slot, &at, limit)) {
		if (r->end || (slot->batch.count > 0 && BUFFER - slot->have == 0))
			break;
		if (r->skip)	/* nothing of it is kept, but the lines before are */
			slot->have = at = slot->batch.count > 0 ? at : 0;
		if (BUFFER - slot->have == 0)
			break;
		if (more(r, slot, r->guess > slot->have ? r->guess - slot->have :
		    READ_MORE, err, err_len) != 0)
			return -1;
	}
	r->index += slot->batch.count;
	r->line += slot->batch.count;
	r->rest = slot->buf + at;
	r->rest_len = slot->have - at;
	r->guess = at + at / 64 + READ_MORE;
	*torn = 0;
	if (r->end && (slot->batch.count < limit || r->rest_len == 0)) {
		*torn = r->rest_len + r->skip;
		r->rest_len = 0;
		close(r->fd);
		r->fd = -1;
		r->segment++;
	}
	return 0;
}

/* ---- the whole ---- */

static int
slots_make(struct pool *pool, unsigned count)
{
	unsigned i;

	pool->slots = calloc(count, sizeof(*pool->slots));
	if (pool->slots == NULL)
		return -1;
	pool->slot_count = count;
	for (i = 0; i < count; i++) {
		pool->slots[i].buf = malloc(BUFFER);
		pool->slots[i].lines = malloc(WALK_LINES * sizeof(struct walk_line));
		pool->slots[i].hashes = malloc(sizeof(struct hashes));
		if (pool->slots[i].buf == NULL || pool->slots[i].lines == NULL ||
		    pool->slots[i].hashes == NULL)
			return -1;
	}
	return 0;
}

static void
pool_free(struct pool *pool)
{
	unsigned i;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->filled);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->threads; i++)
		pthread_join(pool->thread[i], NULL);
	for (i = 0; pool->slots != NULL && i < pool->slot_count; i++) {
		free(pool->slots[i].buf);
		free(pool->slots[i].lines);
		free(pool->slots[i].hashes);
	}
	free(pool->slots);
	pthread_cond_destroy(&pool->filled);
	pthread_cond_destroy(&pool->done);
	pthread_mutex_destroy(&pool->lock);
}

static int
pool_make(struct pool *pool, unsigned threads)
{
	memset(pool, 0, sizeof(*pool));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->filled, NULL);
	pthread_cond_init(&pool->done, NULL);
	if (threads > WALK_THREADS_MAX)
		threads = WALK_THREADS_MAX;
	if (slots_make(pool, threads > 1 ? threads + 2 : 2) != 0)
		return -1;
	while (threads > 1 && pool->threads < threads) {
		/* with fewer threads than asked for it is only slower */
		if (pthread_create(&pool->thread[pool->threads], NULL, worker, pool) != 0)
			break;
		pool->threads++;
	}
	return 0;
}

static void
await(struct pool *pool, struct slot *slot)
{
	pthread_mutex_lock(&pool->lock);
	while (slot->state != DONE)
		pthread_cond_wait(&pool->done, &pool->lock);
	slot->state = EMPTY;
	pthread_mutex_unlock(&pool->lock);
}

static void
submit(struct pool *pool, struct slot *slot, struct record_memo *memo)
{
	if (pool->threads == 0) {
		work(slot, memo);
		slot->state = DONE;
		return;
	}
	pthread_mutex_lock(&pool->lock);
	slot->state = FILLED;
	pthread_cond_signal(&pool->filled);
	pthread_mutex_unlock(&pool->lock);
}

/* Hand the oldest batch over, if it has lines. */
static int
deliver(struct pool *pool, struct slot *slot, struct walk *walk)
{
	await(pool, slot);
	return slot->batch.count > 0 ? walk->batch(walk->context, &slot->batch) : 0;
}

static int
run(struct pool *pool, struct reader *r, struct walk *walk,
    struct record_memo *memo, char *err, size_t err_len)
{
	uint64_t filled = 0, delivered = 0, torn = 0, torn_line;
	const unsigned ahead = pool->threads == 0 ? 1 : pool->slot_count - 1;
	unsigned torn_in;
	int result = 0;

	while (result == 0 && r->segment < walk->segment_count) {
		if (filled - delivered == ahead)
			result = deliver(pool, &pool->slots[delivered++ % pool->slot_count], walk);
		if (result != 0 || (r->fd < 0 && next_segment(r, err, err_len) != 0))
			return result != 0 ? result : -1;
		torn_in = r->segment;
		if (fill(r, &pool->slots[filled % pool->slot_count], &torn, err, err_len) != 0)
			return -1;
		torn_line = r->line;
		submit(pool, &pool->slots[filled++ % pool->slot_count], memo);
		while (torn != 0 && result == 0 && delivered < filled)
			result = deliver(pool, &pool->slots[delivered++ % pool->slot_count], walk);
		if (torn != 0 && result == 0)
			result = walk->torn(walk->context, torn_in, torn_line, torn);
	}
	while (result == 0 && delivered < filled)
		result = deliver(pool, &pool->slots[delivered++ % pool->slot_count], walk);
	return result;
}

int
walk_run(struct walk *walk, char *err, size_t err_len)
{
	struct reader r = { .walk = walk, .fd = -1, .index = walk->first,
	    .rest = "", .guess = BUFFER / 2 };
	struct record_memo *memo = calloc(1, sizeof(*memo));
	struct pool pool;
	int result = -1;

	if (pool_make(&pool, walk->threads) != 0 || memo == NULL)
		snprintf(err, err_len, "out of memory");
	else
		result = run(&pool, &r, walk, memo, err, err_len);
	pool_free(&pool);
	free(memo);
	if (r.fd >= 0)
		close(r.fd);
	walk->bytes = r.bytes;
	return result;
}
