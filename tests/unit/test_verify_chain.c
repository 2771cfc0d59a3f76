/*
 * What chain_look tells of a batch by itself gives the same chain as taking
 * its records one by one: streams and events, over ledgers with and without
 * flaws, most of whose batches are plain.  And the walk gives the same on any
 * number of threads, with lines of any length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ledger/verify/chain.h"
#include "ledger_maker.h"

#define RECORDS 9000	/* several batches */

/* A walk over a ledger's one file, and what is made of it. */
struct trial {
	struct chain *chain;
	bool parts;
	unsigned plain, batches;
	uint64_t next;
	struct tree_frontier tree;
	char base[64], dir[96];
};

static void
look(void *context, const struct walk_batch *batch, void *facts)
{
	(void)context;
	chain_look(batch, facts);
}

static int
on_batch(void *context, const struct walk_batch *batch)
{
	struct trial *t = context;
	const struct chain_part *part = batch->facts;

	assert_int_equal(batch->index, t->next);
	t->next += batch->count;
	t->batches++;
	t->plain += part->plain;
	assert_int_equal(walk_append(batch, 0, batch->count, &t->tree), 0);
	return chain_batch(t->chain, batch, t->parts ? part : NULL);
}

static int
on_torn(void *context, unsigned segment, uint64_t line, uint64_t bytes)
{
	(void)context;
	(void)segment;
	(void)line;
	(void)bytes;
	return 0;
}

static void
take(struct trial *t, bool parts, unsigned threads)
{
	struct walk_segment segment = { .path = "records-00000000000000000000.jsonl",
	    .bytes = UINT64_MAX };
	struct walk walk = { .dirfd = open(t->dir, O_RDONLY | O_DIRECTORY),
	    .segments = &segment, .segment_count = 1, .threads = threads, .look = look,
	    .facts_size = sizeof(struct chain_part), .batch = on_batch, .torn = on_torn,
	    .context = t };
	char err[256] = "";

	assert_true(walk.dirfd >= 0);
	t->chain = calloc(1, sizeof(*t->chain));
	assert_non_null(t->chain);
	assert_int_equal(chain_init(t->chain, false), 0);
	t->parts = parts;
	t->plain = t->batches = 0;
	t->next = 0;
	tree_frontier_init(&t->tree);
	assert_int_equal(walk_run(&walk, err, sizeof(err)), 0);
	close(walk.dirfd);
}

static void
same_stream(const struct chain_stream *a, const struct chain_stream *b)
{
	assert_string_equal(a->name, b->name);
	assert_memory_equal(a->last, b->last, TREE_HASH_LEN);
	assert_int_equal(a->first_seq, b->first_seq);
	assert_int_equal(a->next_seq, b->next_seq);
	assert_int_equal(a->first_index, b->first_index);
	assert_int_equal(a->last_index, b->last_index);
	assert_int_equal(a->records, b->records);
	assert_int_equal(a->dropped, b->dropped);
	assert_int_equal(a->open, b->open);
	assert_int_equal(a->faults, b->faults);
	assert_int_equal(a->cuts, b->cuts);
}

static void
same_event(const struct chain_event *a, const struct chain_event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->before, b->before);
	assert_int_equal(a->stream, b->stream);
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->expected, b->expected);
	assert_int_equal(a->line, b->line);
	assert_string_equal(a->type, b->type);
}

static void
same_chain(const struct chain *a, const struct chain *b)
{
	unsigned i;

	assert_int_equal(a->count, b->count);
	for (i = 0; i < a->count; i++)
		same_stream(&a->stream[i], &b->stream[i]);
	assert_int_equal(a->event_count, b->event_count);
	for (i = 0; i < a->events; i++)
		same_event(&a->event[i], &b->event[i]);
	assert_int_equal(a->keys, b->keys);
}

static void
forget(struct trial *t)
{
	chain_free(t->chain);
	free(t->chain);
	t->chain = NULL;
}

/* One by one, and by parts on several threads; events there were, and batches
 * that were plain. */
static void
compare(struct maker *m, uint64_t *events, unsigned *plain)
{
	struct trial one = { .chain = NULL }, by = one;
	unsigned threads;

	make_temp_dir(one.base);
	snprintf(one.dir, sizeof(one.dir), "%s/l", one.base);
	maker_seal(m);
	maker_save(m, one.dir, 0);
	take(&one, false, 1);
	*events = one.chain->event_count;
	for (threads = 1; threads <= 4; threads++) {
		memcpy(by.dir, one.dir, sizeof(by.dir));
		take(&by, true, threads);
		same_chain(one.chain, by.chain);
		assert_int_equal(one.next, by.next);
		assert_true(tree_frontier_equal(&one.tree, &by.tree));
		*plain = by.plain;
		forget(&by);
	}
	forget(&one);
	remove_tree(one.base);
}

static const char *
name_of(unsigned i)
{
	static char name[24];

	snprintf(name, sizeof(name), "stream%u", i);
	return name;
}

/* Streams in turns of no order, all opened at the beginning. */
static void
fill(struct maker *m, unsigned streams, unsigned n)
{
	static const char *const types[] = { "use", "outcome", "grant", "refusal", "clock" };
	unsigned i;

	maker_init(m);
	for (i = 0; i < streams; i++)
		maker_add(m, name_of(i), "open", NULL, "{}");
	for (i = 0; i < n; i++)
		maker_add(m, name_of((unsigned)rand() % streams), types[rand() % 5], NULL, "{}");
}

static void
test_plain(void **state)
{
	static const unsigned streams[] = { 1, 2, 16, 17, 24 };
	unsigned i, plain;
	struct maker m;
	uint64_t events;

	for (i = 0; i < 5; i++) {
		fill(&m, streams[i], RECORDS);
		compare(&m, &events, &plain);
		assert_int_equal(events, 0);
		/* the first one has the openings */
		assert_int_equal(plain, streams[i] > CHAIN_PART_STREAMS ? 0 : RECORDS / WALK_LINES);
		maker_free(&m);
	}
}

/* Change a byte of the line, or its place with another's, or repeat it. */
static void
spoil(struct maker *m)
{
	const size_t at = (size_t)rand() % m->count, other = (size_t)rand() % m->count;
	const struct maker_line line = m->line[at];

	switch (rand() % 4) {
	case 0:
		m->line[at].text[(size_t)rand() % line.len] ^= 1;
		maker_rehash(m, at);
		break;
	case 1:
		m->line[at] = m->line[other];
		m->line[other] = line;
		break;
	case 2:
		maker_skip(m, name_of(0), 1000000);
		maker_add(m, name_of(0), "use", NULL, "{}");
		break;
	default:
		maker_raw(m, "no record", 9);
		break;
	}
}

static void
test_flaws(void **state)
{
	static const char *const packs[] = { NULL,
	    "sha256:0000000000000000000000000000000000000000000000000000000000000000",
	    "sha256:1111111111111111111111111111111111111111111111111111111111111111" };
	unsigned round, i, plain, some_plain = 0;
	uint64_t events, all = 0;
	struct maker m;

	for (round = 0; round < 40; round++) {
		fill(&m, 1 + round % 5, RECORDS / 2);
		if (round % 3 == 0)
			maker_add(&m, name_of(0), "close", NULL, "{}");
		if (round % 4 == 0)
			maker_add(&m, name_of(0), (const char *const[]){ "key", "heads", "drop" }[round / 4 % 3], NULL, "{}");
		for (i = 0; i < 1000; i++) {
			if (round % 5 == 0 && i % 100 == 0)
				m.policy = packs[rand() % 3];
			maker_add(&m, name_of(0), "use", NULL, "{}");
		}
		m.policy = NULL;
		for (i = 0; i < round % 4; i++)
			spoil(&m);
		compare(&m, &events, &plain);
		all += events;
		some_plain += plain;
		maker_free(&m);
	}
	assert_true(all > 40 && some_plain > 40);
}

/* Lines of which few make a batch, and one that is too long. */
static void
test_long_lines(void **state)
{
	static char body[70000];
	unsigned i, n, plain;
	struct maker m;
	uint64_t events;

	maker_init(&m);
	maker_add(&m, "broker", "open", NULL, "{}");
	for (i = 0; i < 700; i++) {
		n = (unsigned)rand() % (i % 7 == 0 ? 60000 : 900);
		snprintf(body, sizeof(body), "{\"a\":\"%*s\"}", (int)n, "");
		maker_add(&m, "broker", "use", NULL, body);
	}
	memset(body, 'x', sizeof(body));
	maker_raw(&m, body, sizeof(body));
	for (i = 0; i < 700; i++)
		maker_add(&m, "broker", "use", NULL, "{}");
	compare(&m, &events, &plain);
	assert_int_equal(events, 1);
	assert_true(plain > 2);
	maker_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_flaws),
		cmocka_unit_test(test_long_lines)
	};

	srand(5);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
