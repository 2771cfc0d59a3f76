#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "ledger/record/record_memo.h"
#include "ledger/verify/walk_slot.h"

/*
 * The threads and what they share.  A thread takes the next batch of lines,
 * works on it alone, and then hands over what is ready, or takes another one.
 * Slots are used in turns, so the order of batches is that of the numbers.
 */
struct pool {
	pthread_mutex_t lock;		/* for all below but what is marked */
	pthread_cond_t changed;
	unsigned waiting;
	struct walk *walk;
	struct walk_reader reader;	/* the thread's that set `reading` */
	bool reading, delivering;
	bool end;			/* nothing more to be read */
	uint64_t filled, delivered;	/* batches so far */
	struct walk_slot *slots;	/* each is its thread's between two states */
	unsigned slot_count;
	int result;
	char *err;			/* the reader's */
	size_t err_len;
};

/* One of the threads. */
struct part {
	struct pool *pool;
	struct record_memo *memo;
	pthread_t thread;
	bool started;
};

/* Something was done that another thread may wait for. */
static void
tell(struct pool *pool)
{
	if (pool->waiting > 0)
		pthread_cond_broadcast(&pool->changed);
}

static void
check_lines(struct walk_slot *slot, struct record_memo *memo)
{
	struct walk_line *line;
	unsigned i;

	for (i = 0; i < slot->batch.count; i++) {
		line = &slot->lines[i];
		line->rule = record_memo_check(memo, line->text, line->len,
		    &line->record, line->prev);
	}
}

static bool
can_take(const struct pool *pool)
{
	return pool->result == 0 && !pool->end && !pool->reading &&
	    pool->filled - pool->delivered < pool->slot_count;
}

/* The next batch: read while no other thread reads, then worked on. */
static void
take(struct pool *pool, struct record_memo *memo)
{
	struct walk_slot *slot = &pool->slots[pool->filled++ % pool->slot_count];

	pool->reading = true;
	slot->state = WALK_READ;
	pthread_mutex_unlock(&pool->lock);
	slot->failed = walk_reader_fill(&pool->reader, slot, pool->err, pool->err_len) != 0;
	pthread_mutex_lock(&pool->lock);
	pool->reading = false;
	pool->end = slot->failed || walk_reader_done(&pool->reader);
	tell(pool);
	pthread_mutex_unlock(&pool->lock);
	if (!slot->failed) {
		walk_slot_hash(slot);
		check_lines(slot, memo);
		if (pool->walk->look != NULL)
			pool->walk->look(pool->walk->context, &slot->batch, slot->facts);
	}
	pthread_mutex_lock(&pool->lock);
	slot->state = WALK_DONE;
	tell(pool);
}

static bool
can_deliver(const struct pool *pool)
{
	return pool->result == 0 && !pool->delivering && pool->delivered < pool->filled &&
	    pool->slots[pool->delivered % pool->slot_count].state == WALK_DONE;
}

/* The oldest batch, and the torn end behind it. */
static int
hand_over(const struct walk *walk, const struct walk_slot *slot)
{
	int result = 0;

	if (slot->failed)
		return -1;
	if (slot->batch.count > 0)
		result = walk->batch(walk->context, &slot->batch);
	if (result == 0 && slot->torn != 0 && walk->torn != NULL)
		result = walk->torn(walk->context, slot->batch.segment, slot->torn_line,
		    slot->torn);
	return result;
}

static void
deliver(struct pool *pool)
{
	struct walk_slot *slot = &pool->slots[pool->delivered % pool->slot_count];
	int result;

	pool->delivering = true;
	pthread_mutex_unlock(&pool->lock);
	result = hand_over(pool->walk, slot);
	pthread_mutex_lock(&pool->lock);
	pool->delivering = false;
	pool->delivered++;
	pool->result = result;
	slot->state = WALK_EMPTY;
	tell(pool);
}

static bool
is_over(const struct pool *pool)
{
	return pool->result != 0 || (pool->end && pool->delivered == pool->filled);
}

/* What one thread does until all is done. */
static void *
do_part(void *arg)
{
	struct part *part = arg;
	struct pool *pool = part->pool;

	pthread_mutex_lock(&pool->lock);
	while (!is_over(pool)) {
		if (can_deliver(pool)) {
			deliver(pool);
		} else if (can_take(pool)) {
			take(pool, part->memo);
		} else {
			pool->waiting++;
			pthread_cond_wait(&pool->changed, &pool->lock);
			pool->waiting--;
		}
	}
	tell(pool);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* ---- the whole ---- */

static int
pool_make(struct pool *pool, struct walk *walk, unsigned threads)
{
	unsigned i;

	*pool = (struct pool){ .walk = walk };
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	walk_reader_begin(&pool->reader, walk);
	pool->end = walk_reader_done(&pool->reader);
	/* so that a thread that is ahead need not wait for the others */
	pool->slot_count = threads > 1 ? threads + 2 : 1;
	pool->slots = calloc(pool->slot_count, sizeof(*pool->slots));
	for (i = 0; pool->slots != NULL && i < pool->slot_count; i++)
		if (walk_slot_make(&pool->slots[i], walk->facts_size) != 0)
			return -1;
	return pool->slots != NULL ? 0 : -1;
}

static void
pool_free(struct pool *pool)
{
	unsigned i;

	for (i = 0; pool->slots != NULL && i < pool->slot_count; i++)
		walk_slot_free(&pool->slots[i]);
	free(pool->slots);
	walk_reader_end(&pool->reader);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
}

static int
parts_make(struct part *parts, unsigned count, struct pool *pool)
{
	unsigned i;

	for (i = 0; i < count; i++) {
		parts[i].pool = pool;
		if ((parts[i].memo = calloc(1, sizeof(*parts[i].memo))) == NULL)
			return -1;
	}
	return 0;
}

/* The first part is the caller's; with fewer threads than asked for it is only
 * slower. */
static void
parts_run(struct part *parts, unsigned count)
{
	unsigned i;

	for (i = 1; i < count; i++)
		parts[i].started = pthread_create(&parts[i].thread, NULL, do_part,
		    &parts[i]) == 0;
	do_part(&parts[0]);
	for (i = 1; i < count; i++)
		if (parts[i].started)
			pthread_join(parts[i].thread, NULL);
}

int
walk_run(struct walk *walk, char *err, size_t err_len)
{
	const unsigned threads = walk->threads < 1 ? 1 :
	    walk->threads > WALK_THREADS_MAX ? WALK_THREADS_MAX : walk->threads;
	struct part parts[WALK_THREADS_MAX] = { { .pool = NULL } };
	struct pool pool;
	unsigned i;
	int result = -1;

	if (pool_make(&pool, walk, threads) != 0 || parts_make(parts, threads, &pool) != 0) {
		snprintf(err, err_len, "out of memory");
	} else {
		pool.err = err;
		pool.err_len = err_len;
		parts_run(parts, threads);
		result = pool.result;
	}
	for (i = 0; i < threads; i++)
		free(parts[i].memo);
	walk->bytes = pool.reader.bytes;
	pool_free(&pool);
	return result;
}
