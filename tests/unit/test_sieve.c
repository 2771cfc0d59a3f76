/* The sieve against plain search: each needle at each place, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gate/sieve.h"

#include <sodium.h>
#include <stdlib.h>

#define NEEDLES 6

struct seen {
	unsigned n[NEEDLES];
};

static void
count(void *arg, size_t needle)
{
	((struct seen *)arg)->n[needle]++;
}

/* The text in a block of its own size: a byte beyond it is the sanitizer's. */
static struct seen
scan(const struct sieve *sieve, const char *text, size_t n)
{
	char *exact = malloc(n + 1);
	struct seen seen = { { 0 } };

	assert_non_null(exact);
	memcpy(exact + 1, text, n);
	sieve_scan(sieve, (struct slice){ exact + 1, n }, count, &seen);
	free(exact);
	return seen;
}

static void
test_every_place(void **state)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	char text[80];

	for (size_t len = SIEVE_MIN; len < sizeof(digits); len++) {
		struct slice needle = { digits, len };
		struct sieve *sieve = sieve_new(&needle, 1);

		assert_non_null(sieve);
		for (size_t before = 0; before < 9; before++)
			for (size_t after = 0; after < 9; after++) {
				memset(text, '-', sizeof(text));
				memcpy(text + before, digits, len);
				assert_int_equal(scan(sieve, text,
				    before + len + after).n[0], 1);
				text[before + len / 2] ^= 1;
				assert_int_equal(scan(sieve, text,
				    before + len + after).n[0], 0);
			}
		sieve_free(sieve);
	}
}

static void
test_cut_short(void **state)
{
	static const char text[] = "..abcdefghijklm";
	struct slice needle = { text + 2, sizeof(text) - 3 };
	struct sieve *sieve = sieve_new(&needle, 1);

	assert_non_null(sieve);
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		assert_int_equal(scan(sieve, text, n).n[0], 0);
	assert_int_equal(scan(sieve, text, sizeof(text) - 1).n[0], 1);
	assert_int_equal(scan(sieve, text + 3, sizeof(text) - 4).n[0], 0);
	sieve_free(sieve);
}

static unsigned
occurrences(struct slice needle, const char *text, size_t n)
{
	unsigned seen = 0;

	for (size_t i = 0; i + needle.n <= n; i++)
		seen += memcmp(text + i, needle.p, needle.n) == 0;
	return seen;
}

/* Of two letters, so that windows and needles overlap and repeat. */
static void
test_against_plain_search(void **state)
{
	static const struct slice needles[NEEDLES] = {
		{ "aaaaaaaa", 8 }, { "abababababab", 12 }, { "aabaabaab", 9 },
		{ "short", 5 }, { "bbbbbbbbbb", 10 }, { "abababab", 8 },
	};
	struct sieve *sieve = sieve_new(needles, NEEDLES);
	char text[200];
	unsigned total = 0;

	assert_non_null(sieve);
	srandom(5);
	for (unsigned round = 0; round < 4000; round++) {
		size_t n = (size_t)random() % sizeof(text);
		unsigned bias = 1 + (unsigned)random() % 8;
		struct seen seen;

		for (size_t i = 0; i < n; i++)
			text[i] = (unsigned)random() % bias == 0 ? 'b' :
			    i > 1 && random() % 2 != 0 ? text[i - 2] : 'a';
		seen = scan(sieve, text, n);
		for (size_t k = 0; k < NEEDLES; k++) {
			unsigned want = needles[k].n < SIEVE_MIN ? 0 :
			    occurrences(needles[k], text, n);

			assert_int_equal(seen.n[k], want);
			total += want;
		}
	}
	assert_true(total > 10000);
	sieve_free(sieve);
}

static void
test_nothing(void **state)
{
	struct sieve *sieve = sieve_new(NULL, 0);

	assert_non_null(sieve);
	assert_false(sieve_finds(sieve, SLICE("anything at all")));
	assert_false(sieve_finds(NULL, SLICE("anything at all")));
	sieve_free(sieve);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_place),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_against_plain_search),
		cmocka_unit_test(test_nothing),
	};

	if (sodium_init() < 0)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
