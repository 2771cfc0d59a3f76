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
#include <unistd.h>

#include <cmocka.h>

#include "policy/pack.h"
#include "same_decision.h"

#define PLANS 400
#define INPUTS 60	/* for each */
#define FUNCS 5

#define S(text) { text, sizeof(text) - 1 }

/* The same numbers every time. */
static uint32_t
draw(uint32_t n)
{
	static uint64_t x = 7;

	x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(x >> 33) % n;
}

static bool
one_in(uint32_t n)
{
	return draw(n) == 0;
}

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

/* --- plans at random ---------------------------------------------------- */

/* Locals: input, data, the result, a list that is built, what an argument or
 * a scan put there, and free ones. */
enum { IN, DATA, RESULT, LIST, ARG, FREE, LOCALS = FREE + 24 };

static const char *const texts[] = {
	"decision", "allow", "reason", "result", "%v",
	"budget", "grant", "limits", "target", "run",		/* from SECTIONS */
	"bytes_out", "cost", "requests", "wall_ms", "uses_left", "now_ns",	/* from MEMBERS */
	"host", "id", "0", "1e3", "-0", "2.5", "10.0", "99999999999999999999", "-1e400", "7"	/* from NUMBERS */
};
enum { DECISION, ALLOW, REASON, RESULT_TEXT, FORMAT, SECTIONS, MEMBERS = SECTIONS + 5,
	NOW = MEMBERS + 5, HOST, ID, NUMBERS, TEXTS = NUMBERS + 8 };

/* Of which plans have few or many: what makes numbers matter themselves, and
 * the input as a whole. */
static bool exact, wild;
/* Whether it puts things into what others hold: the input, what was handed to it, or
 * given back. */
static bool meddles;

static const char *const comparisons[] = {
	"lt", "lte", "gt", "gte", "equal", "neq"
};

struct out {
	char p[96 * 1024];
	size_t n;
};

static void __attribute__((format(printf, 2, 3)))
put(struct out *o, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	o->n += (size_t)vsnprintf(o->p + o->n, sizeof(o->p) - o->n, format, ap);
	va_end(ap);
	assert_true(o->n < sizeof(o->p));
}

static void
stmt(struct out *o, const char *type)
{
	put(o, "%s{\"type\":\"%sStmt\",\"stmt\":{", o->p[o->n - 1] == '[' ? "" : ",",
	    type);
}

static void
local(struct out *o, const char *name, unsigned n)
{
	put(o, "\"%s\":{\"type\":\"local\",\"value\":%u},", name, n);
}

static void
text(struct out *o, const char *name, unsigned n)
{
	put(o, "\"%s\":{\"type\":\"string_index\",\"value\":%u},", name, n);
}

static void
last(struct out *o, const char *name, unsigned n)
{
	put(o, "\"%s\":%u}}", name, n);
}

/* What was set last is used most. */
static unsigned recent[4] = { FREE, FREE, FREE, FREE };

static unsigned
any_local(void)
{
	if (wild && one_in(24))
		return IN;
	return one_in(4) ? ARG + draw(LOCALS - ARG) : recent[draw(4)];
}

static unsigned
free_local(void)
{
	return recent[draw(4)] = FREE + draw(LOCALS - FREE);
}

static void
dot(struct out *o, unsigned from, unsigned key, unsigned to)
{
	stmt(o, "Dot");
	local(o, "source", from);
	text(o, "key", key);
	last(o, "target", to);
}

/* A number of the input that moves, or one of the limits. */
static unsigned
take_number(struct out *o)
{
	unsigned to = free_local(), at = free_local();

	if (one_in(6)) {
		dot(o, IN, NOW, to);
		return to;
	}
	dot(o, IN, SECTIONS + draw(3), at);
	dot(o, at, MEMBERS + draw(5), to);
	return to;
}

static void
call(struct out *o, const char *func, unsigned to, unsigned n,
    const unsigned *args)
{
	stmt(o, "Call");
	put(o, "\"func\":\"%s\",\"args\":[", func);
	for (unsigned i = 0; i < n; i++)
		put(o, "%s{\"type\":\"local\",\"value\":%u}", i > 0 ? "," : "", args[i]);
	put(o, "],");
	last(o, "result", to);
}

static unsigned
number(struct out *o)
{
	unsigned to = free_local();

	if (one_in(3)) {
		stmt(o, "MakeNumberRef");
		put(o, "\"Index\":%u,", NUMBERS + draw(TEXTS - NUMBERS));
		last(o, "target", to);
	} else {
		stmt(o, "MakeNumberInt");
		put(o, "\"value\":%d,", (int)draw(12) - 1);
		last(o, "target", to);
	}
	return to;
}

static void
compare(struct out *o)
{
	unsigned a = one_in(2) ? take_number(o) : any_local();
	unsigned b = one_in(2) ? number(o) : one_in(2) ? take_number(o) :
	    any_local(), to = free_local();

	if (one_in(5)) {	/* by way of another local */
		stmt(o, "AssignVar");
		local(o, "source", a);
		last(o, "target", to);
		a = to;
	}
	if (one_in(4)) {
		stmt(o, one_in(2) ? "Equal" : "NotEqual");
		local(o, "a", one_in(2) ? a : b);
		put(o, "\"b\":{\"type\":\"local\",\"value\":%u}}}", one_in(2) ? a : b);
		return;
	}
	call(o, comparisons[draw(6)], to, 2, one_in(2) ?
	    (unsigned[]){ a, b } : (unsigned[]){ b, a });
	if (one_in(2)) {
		stmt(o, "NotEqual");
		local(o, "a", to);
		put(o, "\"b\":{\"type\":\"bool\",\"value\":%s}}}", one_in(4) ? "true" : "false");
	}
}

static void stmts(struct out *o, unsigned func, unsigned n, unsigned depth);

static void
inner(struct out *o, unsigned func, unsigned depth)
{
	unsigned from;

	switch (draw(wild ? 4 : 2)) {
	case 0:
		stmt(o, "Not");
		put(o, "\"block\":{\"stmts\":[");
		break;
	case 2:
		from = free_local();
		dot(o, IN, SECTIONS + draw(5), from);
		stmt(o, "Scan");
		put(o, "\"source\":%u,\"key\":%u,\"value\":%u,\"block\":{\"stmts\":[",
		    from, free_local(), free_local());
		break;
	case 3:
		from = one_in(2) ? take_number(o) : any_local();
		stmt(o, "With");
		put(o, "\"local\":0,\"path\":[%u,%u],", SECTIONS + draw(3), MEMBERS + draw(5));
		local(o, "value", from);
		put(o, "\"block\":{\"stmts\":[");
		break;
	default:
		stmt(o, "Block");
		put(o, "\"blocks\":[{\"stmts\":[");
		stmts(o, func, 1 + draw(3), depth + 1);
		put(o, "]},{\"stmts\":[");
		stmts(o, func, 1 + draw(3), depth + 1);
		put(o, "]}]}}");
		return;
	}
	stmts(o, func, 1 + draw(3), depth + 1);
	put(o, "]}}}");
}

static void
call_another(struct out *o, unsigned func)
{
	char name[40];
	unsigned to = free_local(), which = func + 1 + draw(FUNCS - func);

	if (which >= FUNCS)
		return;
	snprintf(name, sizeof(name), "g0.data.t.f%u", which);
	if (which % 2 == 0) {
		call(o, name, to, 2, (unsigned[]){ IN, DATA });
		return;
	}
	if (one_in(2))
		dot(o, IN, SECTIONS + draw(5), to);
	if (one_in(2))
		dot(o, to, one_in(2) ? ID : HOST, to);
	call(o, name, to, 3, (unsigned[]){ wild && one_in(12) ? to : IN, DATA, to });
}

static void
meddle(struct out *o, unsigned func)
{
	bool list = one_in(3);
	unsigned to;

	if (one_in(3))
		call_another(o, func);
	to = one_in(4) ? (unsigned)ARG : any_local();
	if (one_in(2))
		dot(o, IN, SECTIONS + draw(5), to = free_local());
	stmt(o, list ? "IsArray" : "IsObject");
	put(o, "\"source\":{\"type\":\"local\",\"value\":%u}}}", to);
	stmt(o, list ? "ArrayAppend" : "ObjectInsert");
	if (!list)
		text(o, "key", MEMBERS + draw(ID + 1 - MEMBERS));
	local(o, "value", any_local());
	last(o, list ? "array" : "object", to);
}

static void
keep_in_list(struct out *o)
{
	unsigned from = exact ? any_local() : number(o);

	if (exact && one_in(8)) {
		from = free_local();
		dot(o, IN, SECTIONS + draw(5), from);
	}
	stmt(o, "ArrayAppend");
	local(o, "value", from);
	last(o, "array", LIST);
}

static void
one_stmt(struct out *o, unsigned func, unsigned depth)
{
	static const char *const looks[] = {
		"IsDefined", "IsUndefined", "IsArray", "IsObject", "IsSet"
	};
	unsigned kind = draw(16), i;

	if (meddles && one_in(6)) {
		meddle(o, func);
	} else if (kind < 6) {
		compare(o);
	} else if (kind < 8) {
		call_another(o, func);
	} else if (kind == 8 && depth < 3) {
		inner(o, func, depth);
	} else if (kind == 9 && exact) {
		call(o, one_in(2) ? "plus" : "minus", free_local(), 2,
		    (unsigned[]){ take_number(o), number(o) });
	} else if (kind == 10) {
		i = draw(5);
		stmt(o, looks[i]);
		if (i < 2)
			last(o, "source", any_local());
		else
			put(o, "\"source\":{\"type\":\"local\",\"value\":%u}}}", any_local());
	} else if (kind == 11) {
		stmt(o, exact && one_in(4) ? "AssignVarOnce" : "AssignVar");
		local(o, "source", any_local());
		last(o, "target", wild && one_in(8) ? IN : one_in(3) ? recent[0] :
		    free_local());
	} else if (kind == 12 && exact) {
		stmt(o, "Len");
		local(o, "source", any_local());
		last(o, "target", free_local());
	} else if (kind == 13) {
		stmt(o, "ResetLocal");
		last(o, "target", free_local());
	} else if (kind == 14) {
		dot(o, any_local(), SECTIONS + draw(NUMBERS - SECTIONS), free_local());
	} else {
		keep_in_list(o);
	}
}

static void
stmts(struct out *o, unsigned func, unsigned n, unsigned depth)
{
	while (n-- > 0)
		one_stmt(o, func, depth);
}

/* Long enough to be worth recalling. */
static void
function(struct out *o, unsigned func)
{
	put(o, "%s{\"name\":\"g0.data.t.f%u\",\"params\":[0,1%s],\"return\":2,"
	    "\"path\":[\"g0\",\"t\",\"f%u\"],\"blocks\":[{\"stmts\":[", func > 0 ? "," : "",
	    func, func % 2 == 1 ? ",4" : "", func);
	stmt(o, "MakeArray");
	put(o, "\"capacity\":0,");
	last(o, "target", LIST);
	for (unsigned i = 0; i < 50; i++) {
		stmt(o, "Nop");
		put(o, "}}");
	}
	for (unsigned i = FREE; i < LOCALS; i++) {
		stmt(o, "MakeNumberInt");
		put(o, "\"value\":%u,", draw(12));
		last(o, "target", i);
	}
	put(o, "]}");
	for (unsigned i = 1 + draw(6); i > 0; i--) {
		put(o, ",{\"stmts\":[");
		stmts(o, func, 1 + draw(4), 0);
		keep_in_list(o);
		put(o, "]}");
	}
	put(o, ",{\"stmts\":[");
	stmt(o, "ReturnLocal");
	last(o, "source", one_in(6) ? free_local() : LIST);
	put(o, "]}]}");
}

/* All functions of two parameters in a list, as text. */
static void
entry(struct out *o)
{
	put(o, "\"plans\":{\"plans\":[{\"name\":\"countersign/decision\",\"blocks\":[{\"stmts\":[");
	stmt(o, "MakeArray");
	put(o, "\"capacity\":0,");
	last(o, "target", LIST);
	stmt(o, "Block");
	put(o, "\"blocks\":[");
	for (unsigned func = 0; func < FUNCS; func += 2) {
		char name[40];

		snprintf(name, sizeof(name), "g0.data.t.f%u", func);
		put(o, "%s{\"stmts\":[", func > 0 ? "," : "");
		call(o, name, FREE, 2, (unsigned[]){ IN, DATA });
		stmt(o, "ArrayAppend");
		local(o, "value", FREE);
		last(o, "array", LIST);
		put(o, "]}");
	}
	put(o, "]}}");
	stmt(o, "MakeArray");
	put(o, "\"capacity\":0,");
	last(o, "target", FREE);
	stmt(o, "ArrayAppend");
	local(o, "value", LIST);
	last(o, "array", FREE);
	stmt(o, "AssignVar");
	text(o, "source", FORMAT);
	last(o, "target", FREE + 1);
	call(o, "sprintf", FREE + 2, 2, (unsigned[]){ FREE + 1, FREE });
	stmt(o, "MakeObject");
	last(o, "target", FREE + 3);
	stmt(o, "ObjectInsert");
	text(o, "key", DECISION);
	text(o, "value", ALLOW);
	last(o, "object", FREE + 3);
	stmt(o, "ObjectInsert");
	text(o, "key", REASON);
	local(o, "value", FREE + 2);
	last(o, "object", FREE + 3);
	stmt(o, "MakeObject");
	last(o, "target", FREE + 4);
	stmt(o, "ObjectInsert");
	text(o, "key", RESULT_TEXT);
	local(o, "value", FREE + 3);
	last(o, "object", FREE + 4);
	stmt(o, "ResultSetAdd");
	last(o, "value", FREE + 4);
	put(o, "]}]}]}");
}

static void
plan(struct out *o)
{
	static const char *const builtins[] = { "plus", "minus", "sprintf" };

	o->n = 0;
	exact = one_in(2);
	wild = exact && one_in(2);
	put(o, "{\"static\":{\"strings\":[");
	for (unsigned i = 0; i < TEXTS; i++)
		put(o, "%s{\"value\":\"%s\"}", i > 0 ? "," : "", texts[i]);
	put(o, "],\"builtin_funcs\":[");
	for (unsigned i = 0; i < 6; i++)
		put(o, "{\"name\":\"%s\"},", comparisons[i]);
	for (unsigned i = 0; i < 3; i++)
		put(o, "%s{\"name\":\"%s\"}", i > 0 ? "," : "", builtins[i]);
	put(o, "],\"files\":[]},");
	entry(o);
	put(o, ",\"funcs\":{\"funcs\":[");
	for (unsigned i = 0; i < FUNCS; i++)
		function(o, i);
	put(o, "]}}");
}

static struct policy_pack *
pack_of(const struct out *o)
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

	return one_in(6) ? far[draw(8)] : (int64_t)draw(12) - 1;
}

static struct policy_input
any_input(void)
{
	return (struct policy_input){
		.now_ns = any_number(), .run.id = { "r", one_in(3) },
		.run.opened_ns = -1, .caller = { -1, -1 },
		.target = { .host = { "h", 1 }, .port = -1 },
		.secret.version = -1, .grant.uses_left = any_number(),
		.budget = { any_number(), any_number(), any_number(), any_number() },
		.limits = { one_in(4), -1, 3, -1 },
	};
}

/* The next decision of a run: some numbers have moved on. */
static void
move_on(struct policy_input *in)
{
	int64_t *numbers[] = { &in->now_ns, &in->grant.uses_left,
		&in->budget.requests, &in->budget.bytes_out, &in->budget.cost,
		&in->budget.wall_ms };

	if (one_in(12))
		*in = any_input();
	for (unsigned i = 0; i < 6; i++) {
		if (one_in(6))
			*numbers[i] = one_in(3) ? any_number() :
			    (int64_t)((uint64_t)*numbers[i] + draw(2) * 2 - 1);
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

static void
random_plans_decide_the_same(void **state)
{
	static struct out o;
	struct counts counts = { 0, 0 };
	unsigned n = PLANS * INPUTS;

	(void)state;
	for (unsigned i = 0; i < PLANS; i++) {
		struct policy_pack *pack;

		plan(&o);
		pack = pack_of(&o);
		decide_both(pack, &counts);
		policy_pack_unref(pack);
	}
	/* It means something only where much is recalled, and much differs. */
	assert_in_range(counts.recalled, n / 4, n - n / 4);
	assert_in_range(counts.different, n / 20, n);
}

/* No compiler writes such plans; a hand may. */
static void
plans_that_meddle_decide_the_same(void **state)
{
	static struct out o;
	struct counts counts = { 0, 0 };

	(void)state;
	meddles = true;
	for (unsigned i = 0; i < PLANS; i++) {
		struct policy_pack *pack;

		plan(&o);
		pack = pack_of(&o);
		decide_both(pack, &counts);
		policy_pack_unref(pack);
	}
	meddles = false;
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
