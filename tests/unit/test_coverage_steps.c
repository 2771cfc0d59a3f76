/* Coverage: a pairing that takes too long gives up, and says so.  The source is
 * included, with less patience. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/coverage/match.h"
#undef MATCH_STEPS_MAX
#define MATCH_STEPS_MAX 1000
#include "ledger/coverage/match.c"

#define MANY 40

static unsigned pairs;

static void
on_pair(void *context, size_t record, size_t seen)
{
	pairs++;
}

/* Of one key and time: half of the records are of a status that nobody saw, so that
 * those whom the first half leaves over look at all. */
static int
match(size_t n)
{
	struct match_slot record[MANY], seen[MANY];

	for (size_t i = 0; i < n; i++) {
		record[i] = (struct match_slot){ "a", 0, 10, i, i % 2 ? 200 : 404, false };
		seen[i] = (struct match_slot){ "a", 0, 10, i, i == 0 ? 500 : 200, false };
	}
	pairs = 0;
	return match_run(record, n, seen, n, on_pair, NULL);
}

static void
within(void **state)
{
	assert_int_equal(match(10), 0);
	assert_int_equal(pairs, 5);
}

static void
too_many(void **state)
{
	assert_int_equal(match(MANY), 1);
	assert_int_equal(pairs, MANY / 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
