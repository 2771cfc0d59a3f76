/* Signed records that contradict the ledger that they stand in: sessions that name
 * another ledger, losses that nothing was lost in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "verify_case.h"

static struct maker m;
static struct verify_case c;

static int
setup(void **state)
{
	maker_init(&m);
	case_init(&c, &m.key);
	return 0;
}

static int
teardown(void **state)
{
	maker_free(&m);
	case_free(&c);
	return 0;
}

static void
restart(void)
{
	maker_free(&m);
	maker_init(&m);
}

static uint64_t
add(const char *type, const char *body)
{
	return maker_add(&m, "s", type, NULL, body);
}

static enum verify_verdict
verify(void)
{
	maker_seal(&m);
	return case_verify_maker(&c, &m, NULL);
}

/* One finding, of that code and record; none where the code is NULL. */
static void
finds(const char *code, uint64_t at)
{
	const enum verify_verdict verdict = verify();

	if (verdict != (code != NULL ? VERIFY_GAP : VERIFY_COMPLETE))
		case_say(&c);
	assert_int_equal(verdict, code != NULL ? VERIFY_GAP : VERIFY_COMPLETE);
	assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
	assert_int_equal(c.result.finding_count, code != NULL);
	if (code == NULL)
		return;
	assert_non_null(case_find(&c, code));
	assert_int_equal(case_find(&c, code)->index, at);
	assert_int_equal(case_find(&c, code)->verdict, VERIFY_GAP);
}

#define ORIGIN "{\"origin\":\"" MAKER_ORIGIN "\","

/* A ledger's first session, and one that goes on with it. */
static void
openings(void **state)
{
	static const struct { const char *first, *second; bool good; } cases[] = {
		{ ORIGIN "\"size\":0}", ORIGIN "\"size\":2,\"last_seq\":1}", true },
		{ "{}", "{}", true },
		{ ORIGIN "\"size\":1}", NULL, false },
		{ ORIGIN "\"size\":\"0\"}", NULL, false },
		{ "{\"origin\":\"ledger.example/other\",\"size\":0}", NULL, false },
		{ "{\"origin\":\"ledger.example/test2\",\"size\":0}", NULL, false },
		{ "{\"origin\":null}", NULL, false },
		{ ORIGIN "\"size\":0,\"last_seq\":0}", NULL, false },
		{ "{}", ORIGIN "\"size\":3}", false },
		{ "{}", ORIGIN "\"size\":0}", false },
		{ "{}", "{\"origin\":\"a\"}", false },
		{ "{}", "{\"last_seq\":2}", false },
		{ "{}", "{\"last_seq\":0}", false },
	};
	uint64_t at;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		restart();
		at = add("open", cases[i].first);
		add("close", "{}");
		if (cases[i].second != NULL) {
			at = add("open", cases[i].second);
			add("close", "{}");
		}
		finds(cases[i].good ? NULL : "chain", at);
	}
}

/* Records of another stream stand between, and after a crash there is no close. */
static void
after_crash(void **state)
{
	restart();
	add("open", "{\"size\":0}");
	maker_add(&m, "t", "open", NULL, "{\"size\":1}");
	maker_add(&m, "t", "close", NULL, "{}");
	add("open", ORIGIN "\"size\":3,\"last_seq\":0}");
	add("close", "{}");
	assert_int_equal(verify(), VERIFY_NOT_ESTABLISHED);
	assert_non_null(case_find(&c, "no_close"));
	assert_int_equal(c.result.finding_count, 1);
	assert_int_equal(c.result.unclosed, 1);
}

/* Sessions that did not tell what they had only counted: cut, or not over yet. */
static void
unclosed(void **state)
{
	restart();
	add("open", "{}");
	add("close", "{}");
	assert_int_equal(verify(), VERIFY_COMPLETE);
	assert_int_equal(c.result.unclosed, 0);
	restart();
	add("open", "{}");
	add("open", "{}");
	add("open", "{}");
	assert_int_equal(verify(), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(c.result.unclosed, 3);
	add("close", "{}");
	assert_int_equal(verify(), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(c.result.unclosed, 2);
}

/* Losses that are none, in a batch like all others too. */
static void
drops(void **state)
{
	static const char *const bodies[] = { "{}", "{\"from\":1,\"to\":0,\"count\":0}",
	    "{\"from\":1,\"to\":1,\"count\":1}", "{\"from\":0,\"to\":0,\"count\":1}",
	    "{\"from\":40,\"to\":50,\"count\":11}" };
	uint64_t at;
	size_t i, before;

	for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		restart();
		add("open", "{}");
		for (before = 0; before < 1500 * (i % 2); before++)
			add("clock", "{}");
		at = add("drop", bodies[i]);
		for (before = 0; before < 1500 * (i % 2); before++)
			add("clock", "{}");
		add("close", "{}");
		finds("chain", at);
	}
}

/* With a hole before it, and another one than it says. */
static void
other_holes(void **state)
{
	static const char *const bodies[] = { "{\"from\":1,\"to\":4,\"count\":3}",
	    "{\"from\":1,\"to\":3,\"count\":3}", "{\"from\":2,\"to\":4,\"count\":3}",
	    "{\"from\":1,\"to\":4,\"count\":0}" };
	size_t i;

	for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		restart();
		add("open", "{}");
		maker_skip(&m, "s", 5);
		add("drop", bodies[i]);
		add("close", "{}");
		assert_int_equal(verify(), VERIFY_GAP);
		assert_non_null(case_find(&c, "missing"));
		assert_null(case_find(&c, "dropped"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openings),
		cmocka_unit_test(after_crash),
		cmocka_unit_test(unclosed),
		cmocka_unit_test(drops),
		cmocka_unit_test(other_holes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
