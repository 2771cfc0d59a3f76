/* What is said of each stream by itself, beside others that are as they should be:
 * the first of these that applies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "verify_made.h"

#define DROP "{\"from\":2,\"to\":5,\"count\":4,\"reason\":\"full\",\"interval_ms\":1}"

/* Stream s is the broker's here; t is one beside it. */
static void
begin(void)
{
	restart();
	maker_add(&m, "t", "open", NULL, "{}");
	maker_add(&m, "t", "secret", NULL, "{}");
	maker_add(&m, "s", "secret", NULL, "{}");
}

static const struct verify_stream *
stream(const char *name)
{
	for (unsigned i = 0; i < c.result.streams; i++)
		if (strcmp(c.result.stream[i].name, name) == 0)
			return &c.result.stream[i];
	fail_msg("no stream %s", name);
	return NULL;
}

static void
is(const char *name, enum verify_verdict verdict, const char *why)
{
	const struct verify_stream *s = stream(name);

	if (s->verdict != verdict || strcmp(s->why, why) != 0)
		fail_msg("%s: %d, \"%s\"", name, (int)s->verdict, s->why);
}

static void
both_closed(void **state)
{
	begin();
	maker_add(&m, "t", "close", NULL, "{}");
	assert_int_equal(close_and_verify(), VERIFY_COMPLETE);
	is("s", VERIFY_COMPLETE, "");
	is("t", VERIFY_COMPLETE, "");
	assert_int_equal(stream("t")->records, 3);
	assert_int_equal(stream("t")->first_index, 1);
	assert_int_equal(stream("t")->last_index, 4);
	assert_int_equal(stream("t")->last_seq - stream("t")->first_seq, 2);
}

static void
not_closed(void **state)
{
	begin();
	assert_int_equal(close_and_verify(), VERIFY_NOT_ESTABLISHED);
	is("s", VERIFY_COMPLETE, "");
	is("t", VERIFY_NOT_ESTABLISHED, "no close: still open, or its end is lost");
}

static void
opened_again(void **state)
{
	begin();
	maker_add(&m, "t", "open", NULL, "{}");
	maker_add(&m, "t", "close", NULL, "{}");
	assert_int_equal(close_and_verify(), VERIFY_NOT_ESTABLISHED);
	is("s", VERIFY_COMPLETE, "");
	is("t", VERIFY_NOT_ESTABLISHED, "opened again without a close");
}

/* Its close stands behind the last checkpoint. */
static void
not_sealed(void **state)
{
	begin();
	maker_add(&m, "s", "close", NULL, "{}");
	maker_seal(&m);
	maker_add(&m, "t", "close", NULL, "{}");
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_NOT_ESTABLISHED);
	is("s", VERIFY_COMPLETE, "");
	is("t", VERIFY_NOT_ESTABLISHED, "not sealed");
}

static void
a_hole(void **state)
{
	begin();
	maker_skip(&m, "t", 9);
	maker_add(&m, "t", "close", NULL, "{}");
	assert_int_equal(close_and_verify(), VERIFY_GAP);
	is("s", VERIFY_COMPLETE, "");
	is("t", VERIFY_GAP, "does not hold together");
}

/* A hole that is declared is a gap all the same, and no fault. */
static void
declared(void **state)
{
	begin();
	maker_skip(&m, "t", 6);
	maker_add(&m, "t", "drop", NULL, DROP);
	maker_add(&m, "t", "close", NULL, "{}");
	assert_int_equal(close_and_verify(), VERIFY_GAP);
	is("s", VERIFY_COMPLETE, "");
	is("t", VERIFY_GAP, "declared drops");
	assert_int_equal(stream("t")->dropped, 4);
	assert_int_equal(stream("s")->dropped, 0);
}

/* A checkpoint that the records do not give seals none of them. */
static void
another_root(void **state)
{
	begin();
	maker_add(&m, "t", "close", NULL, "{}");
	maker_add(&m, "s", "close", NULL, "{}");
	maker_seal(&m);
	m.line[2].text[m.line[2].len - 2] ^= 1;
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_GAP);
	assert_int_not_equal(stream("s")->verdict, VERIFY_COMPLETE);
	assert_int_not_equal(stream("t")->verdict, VERIFY_COMPLETE);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(both_closed), T(not_closed), T(opened_again), T(not_sealed),
		T(a_hole), T(declared), T(another_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
