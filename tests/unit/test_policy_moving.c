/*
 * Answers recalled while numbers of the input stay within a range are those that
 * an evaluation gives, for plans and inputs drawn at random; and the ranges
 * themselves.  (The default pack's limits: test_policy_recall.c.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/pack.h"
#include "random_plan.h"
#include "same_decision.h"

#define PLANS 400
#define INPUTS 60	/* for each */

static struct policy_scratch *
scratch_without_recall(void)
{
	struct policy_scratch *scratch = policy_scratch_new();

	assert_non_null(scratch);
	recall_free(scratch->recall);
	scratch->recall = NULL;
	return scratch;
}

static size_t
used(const struct policy_scratch *scratch)
{
	return DECISION_ARENA_FIRST -
	    (size_t)(scratch->arena.end - scratch->arena.next);
}

static struct policy_pack *
pack_of(const struct random_plan *o)
{
	struct pack_files files = { 0 };
	struct policy_pack *pack;
	char err[512] = "";

	assert_int_equal(pack_files_add(&files, "data.json", strdup("{}"), 2, err,
	    sizeof(err)), 0);
	assert_int_equal(pack_files_add(&files, "plan.json", strdup(o->p), o->n, err,
	    sizeof(err)), 0);
	if ((pack = pack_from_files(&files, err, sizeof(err))) == NULL)
		fail_msg("%s", err);
	return pack;
}

/* Around the numbers that plans compare with, and far from them. */
static int64_t
any_number(void)
{
	static const int64_t far[] = {
		999, 1000, 1001, -2, -100, INT64_MAX, INT64_MIN, INT64_MAX - 1
	};

	return random_one_in(6) ? far[random_draw(8)] : (int64_t)random_draw(12) - 1;
}

static struct policy_input
any_input(void)
{
	return (struct policy_input){
		.now_ns = any_number(), .run.id = { "r", random_one_in(3) },
		.run.opened_ns = -1, .caller = { -1, -1 },
		.target = { .host = { "h", 1 }, .port = -1 },
		.secret.version = -1, .grant.uses_left = any_number(),
		.budget = { any_number(), any_number(), any_number(), any_number() },
		.limits = { random_one_in(4), -1, 3, -1 },
	};
}

/* The next decision of a run: some numbers have moved on. */
static void
move_on(struct policy_input *in)
{
	int64_t *numbers[] = { &in->now_ns, &in->grant.uses_left,
		&in->budget.requests, &in->budget.bytes_out, &in->budget.cost,
		&in->budget.wall_ms };

	if (random_one_in(12))
		*in = any_input();
	for (unsigned i = 0; i < 6; i++) {
		if (random_one_in(6))
			*numbers[i] = random_one_in(3) ? any_number() :
			    (int64_t)((uint64_t)*numbers[i] + random_draw(2) * 2 - 1);
	}
}

struct counts {
	unsigned recalled, different;	/* from the one before */
};

static void
decide_both(const struct policy_pack *pack, struct counts *counts)
{
	struct policy_scratch *old = policy_scratch_new();
	struct policy_scratch *plain = scratch_without_recall();
	struct policy_input in = any_input();
	struct policy_decision a, b, was;

	assert_non_null(old);
	decision_clear(&b);
	for (unsigned i = 0; i < INPUTS; i++) {
		was = b;
		policy_decide(pack, plain, &in, &b);
		policy_decide(pack, old, &in, &a);
		assert_same_decision(&a, &b);
		counts->recalled += used(old) < used(plain);
		counts->different += i > 0 && strcmp(was.reason, b.reason) != 0;
		move_on(&in);
	}
	policy_scratch_free(old);
	policy_scratch_free(plain);
}

static struct counts
decide_all(bool meddles)
{
	static struct random_plan plan;
	struct counts counts = { 0, 0 };

	for (unsigned i = 0; i < PLANS; i++) {
		struct policy_pack *pack;

		random_plan(&plan, meddles);
		pack = pack_of(&plan);
		decide_both(pack, &counts);
		policy_pack_unref(pack);
	}
	return counts;
}

static void
random_plans_decide_the_same(void **state)
{
	const struct counts counts = decide_all(false);
	const unsigned n = PLANS * INPUTS;

	/* It means something only where much is recalled, and much differs. */
	assert_in_range(counts.recalled, n / 4, n - n / 4);
	assert_in_range(counts.different, n / 20, n);
}

/* No compiler writes such plans; a hand may. */
static void
plans_that_meddle_decide_the_same(void **state)
{
	const struct counts counts = decide_all(true);

	assert_in_range(counts.different, PLANS, PLANS * INPUTS);
}

/* --- ranges ------------------------------------------------------------- */

enum { BYTES_OUT, COST, REQUESTS, WALL_MS, USES_LEFT, NOW_NS };

static void
begin(struct moving *moving, struct arena *arena, struct policy_input *in)
{
	char err[200];
	const struct value *document;

	*in = any_input();
	in->now_ns = 1700000000000000000;
	in->budget = (struct policy_budget){ .requests = 10, .bytes_out = 20,
	    .cost = -1, .wall_ms = 40 };
	in->grant.uses_left = 5;
	moving_begin(moving, in);
	document = input_document(arena, in, err, sizeof(err));
	assert_non_null(document);
	moving_document(moving, document);
}

static void
assert_range(const struct moving *moving, unsigned i, int64_t lo, int64_t hi)
{
	assert_int_equal(moving->range[i].lo, lo);
	assert_int_equal(moving->range[i].hi, hi);
}

/* requests is 10; what it is compared with, and where its range then ends. */
static void
comparisons_narrow(void **state)
{
	static const struct {
		const char *text;
		int64_t lo, hi;
	} cases[] = {
		{ "11", INT64_MIN, 10 }, { "12", INT64_MIN, 11 },
		{ "9", 10, INT64_MAX }, { "-3", -2, INT64_MAX },
		{ "10", 10, 10 }, { "10.0", 10, 10 }, { "1e1", 10, 10 },
		{ "2e1", INT64_MIN, 19 }, { "12.50e1", INT64_MIN, 124 },
		{ "-0.0", 1, INT64_MAX }, { "10.5", 10, 10 },
		{ "9223372036854775807", INT64_MIN, INT64_MAX - 1 },
		{ "-9223372036854775808", INT64_MIN + 1, INT64_MAX },
		{ "9223372036854775808", 10, 10 }, { "1e400", 10, 10 },
	};
	struct arena arena;
	struct policy_input in;
	struct moving moving;
	jmp_buf here;

	(void)state;
	assert_int_equal(arena_init(&arena, 65536, 1 << 20, 1000000), 0);
	arena.armed = &here;
	assert_int_equal(setjmp(here), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct value *other = value_number(&arena, cases[i].text,
		    strlen(cases[i].text));

		begin(&moving, &arena, &in);
		moving_compared(&moving, moving.leaf[REQUESTS], other);
		assert_range(&moving, REQUESTS, cases[i].lo, cases[i].hi);
		begin(&moving, &arena, &in);
		moving_compared(&moving, other, moving.leaf[REQUESTS]);
		assert_range(&moving, REQUESTS, cases[i].lo, cases[i].hi);
		assert_range(&moving, BYTES_OUT, INT64_MIN, INT64_MAX);
	}
	arena_release(&arena);
}

static void
ranges_add_up(void **state)
{
	struct moving_range kept[2];
	struct arena arena;
	struct policy_input in;
	struct moving moving;
	jmp_buf here;
	const uint8_t mask = 1u << REQUESTS | 1u << COST;

	(void)state;
	assert_int_equal(arena_init(&arena, 65536, 1 << 20, 1000000), 0);
	arena.armed = &here;
	assert_int_equal(setjmp(here), 0);
	begin(&moving, &arena, &in);
	/* Other types stand where they stand. */
	moving_compared(&moving, moving.leaf[REQUESTS], &value_empty_string);
	moving_compared(&moving, &value_null, moving.leaf[REQUESTS]);
	assert_range(&moving, REQUESTS, INT64_MIN, INT64_MAX);
	moving_compared(&moving, moving.leaf[REQUESTS], value_int(&arena, 50));
	moving_compared(&moving, value_int(&arena, 3), moving.leaf[REQUESTS]);
	moving_compared(&moving, moving.leaf[REQUESTS], value_int(&arena, 60));
	assert_range(&moving, REQUESTS, 4, 49);
	moving_ranges(&moving, mask, kept);
	assert_true(moving_within(&moving, mask, kept));
	/* Two that move are compared: both matter. */
	moving_compared(&moving, moving.leaf[WALL_MS], moving.leaf[BYTES_OUT]);
	assert_range(&moving, WALL_MS, 40, 40);
	assert_range(&moving, BYTES_OUT, 20, 20);
	moving_looked_at(&moving, 1u << USES_LEFT | 1u << COST);
	assert_range(&moving, USES_LEFT, 5, 5);
	assert_range(&moving, COST, -1, -1);
	assert_range(&moving, NOW_NS, INT64_MIN, INT64_MAX);
	/* Another decision: from 4 to 49 the same holds. */
	for (in.budget.requests = 0; in.budget.requests < 60;
	    in.budget.requests++) {
		moving_begin(&moving, &in);
		assert_int_equal(moving_within(&moving, mask, kept),
		    in.budget.requests >= 4 && in.budget.requests <= 49);
	}
	moving_begin(&moving, &in);
	moving_narrow(&moving, mask, kept);
	assert_range(&moving, REQUESTS, 4, 49);
	arena_release(&arena);
}

static void
the_moving_ones_are_named(void **state)
{
	static const char *const names[INPUT_MOVING] = {
		"bytes_out", "cost", "requests", "wall_ms", "uses_left", "now_ns"
	};
	static const enum input_section sections[INPUT_MOVING] = {
		INPUT_BUDGET, INPUT_BUDGET, INPUT_BUDGET, INPUT_BUDGET,
		INPUT_GRANT, INPUT_NOW
	};

	(void)state;
	for (unsigned i = 0; i < INPUT_MOVING; i++) {
		const struct input_field *field = &input_fields[input_moving[i]];

		assert_string_equal(field->name.str.p, names[i]);
		assert_int_equal(field->section, sections[i]);
		assert_int_equal(field->type, INPUT_INTEGER);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_plans_decide_the_same),
		cmocka_unit_test(plans_that_meddle_decide_the_same),
		cmocka_unit_test(comparisons_narrow),
		cmocka_unit_test(ranges_add_up),
		cmocka_unit_test(the_moving_ones_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
