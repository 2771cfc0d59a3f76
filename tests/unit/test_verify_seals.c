/*
 * The log of all checkpoints: verified on any number of threads it gives the
 * same findings in the same order, more of it than is taken at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/verify/load.h"
#include "ledger/verify/verify.h"
#include "ledger_maker.h"

#define CHECKPOINTS 1300

static struct verify_result result;
static char base[64], dir[96];

/* The n-th note of the log, from 0. */
static char *
note(struct maker *m, unsigned n)
{
	char *at = m->checkpoints, *end = at + m->checkpoints_len;

	for (; n > 0; n--) {
		at = memmem(at, (size_t)(end - at), "\n\n", 2);
		assert_non_null(at);
		at = memchr(at + 2, '\n', (size_t)(end - at - 2));
		assert_non_null(at);
		at++;
	}
	return at;
}

/* Another digit within its signature. */
static void
forge(struct maker *m, unsigned n)
{
	char *end = note(m, n + 1), *digit = end - 30;

	*digit = *digit == 'A' ? 'B' : 'A';
}

static void
verify(const struct maker *m, unsigned threads)
{
	struct verify_options options = { .path = dir, .key = &m->key, .threads = threads };
	char err[256] = "";

	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
}

/* The findings about the log, which must be these notes and no others. */
static void
expect(struct maker *m, const unsigned *forged, unsigned count)
{
	unsigned i, found = 0;
	char where[64];

	for (i = 0; i < result.findings; i++) {
		if (strcmp(result.finding[i].code, "checkpoint") != 0)
			continue;
		assert_true(found < count);
		snprintf(where, sizeof(where), "ends at byte %td ",
		    note(m, forged[found] + 1) - m->checkpoints);
		assert_non_null(strstr(result.finding[i].what, where));
		found++;
	}
	assert_int_equal(found, count);
}

static void
fill(struct maker *m)
{
	unsigned i;

	maker_init(m);
	maker_add(m, "broker", "open", NULL, "{}");
	for (i = 1; i < CHECKPOINTS; i++) {
		maker_seal(m);
		maker_add(m, "broker", i + 1 < CHECKPOINTS ? "secret" : "close", NULL, "{}");
	}
	maker_seal(m);
}

static void
test_threads(void **state)
{
	static const unsigned forged[] = { 0, 3, 511, 512, 513, 900, CHECKPOINTS - 2 };
	struct maker m;
	unsigned threads, n, i;

	fill(&m);
	for (n = 0; n <= 7; n += 7) {
		for (i = 0; i < n; i++)
			forge(&m, forged[i]);
		make_temp_dir(base);
		snprintf(dir, sizeof(dir), "%s/l", base);
		maker_save(&m, dir, 0);
		for (threads = 1; threads <= 3; threads++) {
			verify(&m, threads);
			assert_int_equal(result.verdict, n == 0 ? VERIFY_COMPLETE : VERIFY_GAP);
			assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
			expect(&m, forged, n);
			verify_free(&result);
		}
		remove_tree(base);
	}
	maker_free(&m);
}

/* Of a log that was cut, or emptied: it has the latest one, or some are gone. */
static void
test_latest_is_gone(void **state)
{
	struct maker m;

	(void)state;
	fill(&m);
	for (unsigned keep = 0; keep <= CHECKPOINTS; keep += CHECKPOINTS / 2) {
		make_temp_dir(base);
		snprintf(dir, sizeof(dir), "%s/l", base);
		maker_save(&m, dir, 0);
		write_file(dir, "checkpoints", m.checkpoints, keep == CHECKPOINTS ?
		    m.checkpoints_len : (size_t)(note(&m, keep) - m.checkpoints));
		verify(&m, 1);
		assert_int_equal(result.verdict, keep == CHECKPOINTS ? VERIFY_COMPLETE :
		    VERIFY_NOT_ESTABLISHED);
		if (keep < CHECKPOINTS)
			assert_non_null(strstr(result.finding[0].what, "are gone"));
		verify_free(&result);
		remove_tree(base);
	}
	maker_free(&m);
}

/* Sizes only grow in it: a writer that went back has signed another history. */
static void
test_order(void **state)
{
	struct maker m;
	size_t first, second;
	char *copy;

	fill(&m);
	make_temp_dir(base);
	snprintf(dir, sizeof(dir), "%s/l", base);
	maker_save(&m, dir, 0);
	first = (size_t)(note(&m, 1) - m.checkpoints);
	second = (size_t)(note(&m, 2) - m.checkpoints) - first;
	copy = malloc(m.checkpoints_len);
	assert_non_null(copy);
	memcpy(copy, m.checkpoints, m.checkpoints_len);
	memcpy(copy, m.checkpoints + first, second);
	memcpy(copy + second, m.checkpoints, first);
	write_file(dir, "checkpoints", copy, m.checkpoints_len);
	verify(&m, 1);
	assert_int_equal(result.verdict, VERIFY_GAP);
	assert_int_equal(result.findings, 1);
	assert_string_equal(result.finding[0].code, "rollback");
	verify_free(&result);
	free(copy);
	remove_tree(base);
	maker_free(&m);
}

/* The ledger's own key under a text of another ledger. */
static void
test_other_origin(void **state)
{
	static const char *const origins[] = { MAKER_ORIGIN, MAKER_ORIGIN "2" };
	char text[256], signed_note[CHECKPOINT_NOTE_MAX + 1];
	struct epochs epochs = { .count = 0 };
	struct seal seal;
	struct maker m;

	maker_init(&m);
	assert_int_equal(epochs_pin(&epochs, &m.key), 0);
	for (int i = 0; i < 2; i++) {
		int n = snprintf(text, sizeof(text), "%s\n7\n"
		    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", origins[i]);

		n = note_sign(text, (size_t)n, &m.key, m.sk, signed_note, sizeof(signed_note));
		assert_true(n > 0);
		seal_read(&seal, signed_note, (size_t)n, &epochs, NULL);
		assert_int_equal(seal.state, i == 0 ? SEAL_GOOD : SEAL_UNPINNED);
	}
	epochs_free(&epochs);
	maker_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_latest_is_gone), cmocka_unit_test(test_order),
	    cmocka_unit_test(test_other_origin) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
