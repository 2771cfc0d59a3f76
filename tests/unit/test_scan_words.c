/* What scan records speak for: all of their own run, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ledger/scan/tags/tags.h"
#include "ledger_maker.h"

static char base[64];

static int
setup(void **state)
{
	make_temp_dir(base);
	return 0;
}

static int
teardown(void **state)
{
	remove_tree(base);
	return 0;
}

static uint64_t
opened(struct maker *m, const char *run)
{
	return maker_add(m, "broker", "run", run, "{\"state\":\"open\"}");
}

static uint64_t
closed(struct maker *m, const char *run)
{
	maker_add(m, "broker", "use", run, "{}");
	return maker_add(m, "broker", "run", run, "{\"state\":\"closed\"}");
}

static void
scanned(struct maker *m, const char *run, const char *verdict, uint64_t from, uint64_t to)
{
	char body[160];

	snprintf(body, sizeof(body), "{\"verdict\":\"%s\",\"first_index\":%llu,"
	    "\"last_index\":%llu}", verdict, (unsigned long long)from,
	    (unsigned long long)to);
	maker_add(m, "broker", "scan", run, body);
}

/* Saves and frees it. */
static struct scan_words
said(struct maker *m, const char *run)
{
	char dir[128];

	maker_seal(m);
	snprintf(dir, sizeof(dir), "%s/ledger", base);
	remove_tree(dir);
	maker_save(m, dir, 0);
	maker_free(m);
	return scan_words_of(dir, run);
}

static void
says(struct maker *m, const char *run, unsigned clean, unsigned other, unsigned without)
{
	const struct scan_words words = said(m, run);

	assert_int_equal(words.clean, clean);
	assert_int_equal(words.other, other);
	assert_int_equal(words.without, without);
}

/* A ledger with run_a, whose scan says it looked at so many records more at
 * its beginning, and at its end. */
static void
one(struct maker *m, int64_t more_before, int64_t more_behind)
{
	uint64_t first, last;

	maker_init(m);
	maker_add(m, "broker", "open", NULL, "{}");
	first = opened(m, "run_a");
	last = closed(m, "run_a");
	scanned(m, "run_a", "clean", first - (uint64_t)more_before,
	    last + (uint64_t)more_behind);
}

static void
whole(void **state)
{
	struct maker m;

	one(&m, 0, 0);
	says(&m, NULL, 1, 0, 0);
	one(&m, 0, 0);
	says(&m, "run_a", 1, 0, 0);
}

static void
a_part_of_it(void **state)
{
	struct maker m;

	one(&m, -1, 0);
	says(&m, "run_a", 0, 0, 1);
	one(&m, 0, -1);
	says(&m, "run_a", 0, 0, 1);
	one(&m, 0, 1);		/* what was not there yet */
	says(&m, "run_a", 0, 0, 1);
}

static void
before_the_close(void **state)
{
	struct maker m;
	uint64_t first;

	maker_init(&m);
	first = opened(&m, "run_a");
	scanned(&m, "run_a", "clean", first, first);
	closed(&m, "run_a");
	says(&m, "run_a", 0, 0, 1);
}

static void
of_another_run(void **state)
{
	struct maker m;
	uint64_t a, b, last;

	maker_init(&m);
	a = opened(&m, "run_a");
	b = opened(&m, "run_b");
	last = closed(&m, "run_b");
	scanned(&m, "run_b", "clean", b, last);
	closed(&m, "run_a");
	says(&m, "run_a", 0, 0, 1);

	maker_init(&m);		/* what it found lies among this one's records */
	a = opened(&m, "run_a");
	b = opened(&m, "run_b");
	last = closed(&m, "run_b");
	scanned(&m, "run_b", "found", b, last);
	last = closed(&m, "run_a");
	scanned(&m, "run_a", "clean", a, last);
	says(&m, "run_a", 1, 1, 0);
}

static void
every_run_of_a_ledger(void **state)
{
	struct maker m;
	uint64_t a, last;

	maker_init(&m);
	a = opened(&m, "run_a");
	last = closed(&m, "run_a");
	scanned(&m, "run_a", "clean", a, last);
	opened(&m, "run_b");
	closed(&m, "run_b");
	says(&m, NULL, 1, 0, 1);
}

static void
opened_twice(void **state)
{
	struct maker m;
	uint64_t a, last;

	maker_init(&m);
	a = opened(&m, "run_a");
	opened(&m, "run_a");
	last = closed(&m, "run_a");
	scanned(&m, "run_a", "clean", a, last);
	says(&m, "run_a", 1, 0, 1);
}

/* A run that used a secret, with a scan record that says this of it, or none. */
static void
needs(const char *scan, unsigned clean, unsigned needed)
{
	struct scan_words words;
	struct maker m;
	char dir[128];

	maker_init(&m);
	opened(&m, "run_a");
	maker_add(&m, "broker", "use", "run_a", "{\"input\":{\"secret\":{\"name\":\"s\"}}}");
	maker_add(&m, "broker", "run", "run_a", "{\"state\":\"closed\"}");
	if (scan != NULL)
		maker_add(&m, "broker", "scan", "run_a", scan);
	maker_seal(&m);
	snprintf(dir, sizeof(dir), "%s/ledger", base);
	remove_tree(dir);
	maker_save(&m, dir, 0);
	maker_free(&m);
	words = scan_words_of(dir, "run_a");
	assert_int_equal(words.clean, clean);
	assert_int_equal(words.needed, needed);
	assert_int_equal(words.clean + words.without, 1);
}

static void
of_a_used_secret(void **state)
{
	(void)state;
	needs(NULL, 0, 1);
	needs("{\"verdict\":\"clean\",\"first_index\":0,\"last_index\":2,\"secrets\":1}", 1, 0);
	needs("{\"verdict\":\"clean\",\"first_index\":0,\"last_index\":2,\"secrets\":0}", 0, 1);
	needs("{\"verdict\":\"clean\",\"first_index\":0,\"last_index\":1,\"secrets\":1}", 0, 1);
}

static void
used_behind_its_scan(void **state)
{
	struct maker m;
	uint64_t last;

	(void)state;
	maker_init(&m);
	opened(&m, "run_a");
	last = closed(&m, "run_a");
	scanned(&m, "run_a", "clean", 0, last);
	maker_add(&m, "broker", "use", "run_a", "{\"input\":{\"secret\":{\"name\":\"s\"}}}");
	says(&m, "run_a", 1, 0, 1);
}

/* Where the first of those stands; another run's counts as well where it looked at
 * nothing else, and what is incomplete is no finding. */
static void
found(void **state)
{
	struct scan_words words;
	struct maker m;
	uint64_t a, b, last;

	maker_init(&m);
	a = opened(&m, "run_a");
	b = opened(&m, "run_b");
	last = closed(&m, "run_b");
	scanned(&m, "run_b", "found", b, last);
	last = closed(&m, "run_a");
	scanned(&m, "run_a", "found", a, last);
	words = said(&m, "run_a");
	assert_int_equal(words.other, 2);
	assert_int_equal(words.found, 2);
	assert_int_equal(words.line, last - 1);	/* run_b's, two records before that close */
	assert_string_equal(words.file, "records-00000000000000000000.jsonl");

	maker_init(&m);
	a = opened(&m, "run_a");
	last = closed(&m, "run_a");
	scanned(&m, "run_a", "incomplete", a, last);
	maker_add(&m, "broker", "scan", "run_b", "{\"verdict\":\"found\"}");
	words = said(&m, "run_a");
	assert_int_equal(words.other, 2);
	assert_int_equal(words.found, 0);
}

static void
nothing_there(void **state)
{
	struct scan_words words = scan_words_of("/nonexistent", NULL);

	assert_int_equal(words.clean + words.other + words.without, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(a_part_of_it),
		cmocka_unit_test(before_the_close),
		cmocka_unit_test(of_another_run),
		cmocka_unit_test(every_run_of_a_ledger),
		cmocka_unit_test(opened_twice),
		cmocka_unit_test(of_a_used_secret),
		cmocka_unit_test(used_behind_its_scan),
		cmocka_unit_test(found),
		cmocka_unit_test(nothing_there),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
