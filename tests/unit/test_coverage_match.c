/* Coverage: the pairing alone, against all that are possible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/coverage/match.h"

struct pairing {
	bool may[8][8], last[8];
	unsigned records, seen;		/* taken */
	int pairs, lasts;
};

static void
on_pair(void *context, size_t record, size_t seen)
{
	struct pairing *p = context;

	assert_true(p->may[record][seen]);
	assert_false((p->records & 1u << record) || (p->seen & 1u << seen));
	p->records |= 1u << record;
	p->seen |= 1u << seen;
	p->pairs++;
	p->lasts += p->last[record];
}

/* The best there can be, by trying all: pairs first, then few with a last record. */
static int
best_of(const struct pairing *p, size_t seen, unsigned used)
{
	int best, with;

	if (seen == 8)
		return 0;
	best = best_of(p, seen + 1, used);
	for (unsigned i = 0; i < 8; i++) {
		if (!p->may[i][seen] || (used & 1u << i))
			continue;
		with = 100 - p->last[i] + best_of(p, seen + 1, used | 1u << i);
		best = with > best ? with : best;
	}
	return best;
}

static void
make_pairing(struct match_slot record[8], struct match_slot seen[8], struct pairing *p,
    unsigned round, unsigned *seed)
{
	const int statuses = (int)(round / 4 % 3);	/* none, of some, of most */

	for (size_t i = 0; i < 8; i++) {
		const int64_t from = rand_r(seed) % 20, at = rand_r(seed) % 25;
		const bool last = round % 2 && rand_r(seed) % 3 == 0;
		const int one = rand_r(seed) % 2 ? 200 : 404, other = rand_r(seed) % 2 ? 200 : 404;

		record[i] = (struct match_slot){ rand_r(seed) % 3 ? "a" : "b", from,
		    from + rand_r(seed) % 8, i, last || statuses == 0 ? 0 : one, last };
		seen[i] = (struct match_slot){ rand_r(seed) % 3 ? "a" : "b", at,
		    at + round % 3, i, rand_r(seed) % 3 < statuses ? other : 0, false };
		p->last[i] = last;
	}
	for (size_t i = 0; i < 8; i++)
		for (size_t k = 0; k < 8; k++)
			p->may[i][k] = strcmp(record[i].key, seen[k].key) == 0 &&
			    record[i].from_us <= seen[k].to_us && record[i].to_us >= seen[k].from_us &&
			    (record[i].status == seen[k].status || record[i].status == 0 ||
			    seen[k].status == 0);
}

static void
pairing_is_largest(void **state)
{
	unsigned seed = 1;

	for (unsigned round = 0; round < 3000; round++) {
		struct match_slot record[8], seen[8];
		struct pairing p = { .pairs = 0 };

		make_pairing(record, seen, &p, round, &seed);
		assert_int_equal(match_run(record, 8, seen, 8, on_pair, &p), 0);
		assert_int_equal(100 * p.pairs - p.lasts, best_of(&p, 0, 0));
	}
}

static void
count(void *context, size_t record, size_t seen)
{
	assert_int_equal(record, 899 - seen);
	++*(unsigned *)context;
}

/* More than are taken in order, each once on either side. */
static void
every_status(void **state)
{
	struct match_slot record[900], seen[900];
	unsigned pairs = 0;

	for (size_t i = 0; i < 900; i++) {
		record[i] = (struct match_slot){ "a", 0, 9, i, 100 + (int)i, false };
		seen[i] = (struct match_slot){ "a", 5, 5, i, 999 - (int)i, false };
	}
	assert_int_equal(match_run(record, 900, seen, 900, count, &pairs), 0);
	assert_int_equal(pairs, 900);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairing_is_largest),
		cmocka_unit_test(every_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
