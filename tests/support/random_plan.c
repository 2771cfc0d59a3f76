#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "random_plan.h"

#define FUNCS 5

uint32_t
random_draw(uint32_t n)
{
	static uint64_t x = 7;

	x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(x >> 33) % n;
}

bool
random_one_in(uint32_t n)
{
	return random_draw(n) == 0;
}

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
static bool meddles;	/* random_plan() */

static const char *const comparisons[] = {
	"lt", "lte", "gt", "gte", "equal", "neq"
};

static void __attribute__((format(printf, 2, 3)))
put(struct random_plan *o, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	o->n += (size_t)vsnprintf(o->p + o->n, sizeof(o->p) - o->n, format, ap);
	va_end(ap);
	assert(o->n < sizeof(o->p));
}

static void
stmt(struct random_plan *o, const char *type)
{
	put(o, "%s{\"type\":\"%sStmt\",\"stmt\":{", o->p[o->n - 1] == '[' ? "" : ",",
	    type);
}

static void
local(struct random_plan *o, const char *name, unsigned n)
{
	put(o, "\"%s\":{\"type\":\"local\",\"value\":%u},", name, n);
}

static void
text(struct random_plan *o, const char *name, unsigned n)
{
	put(o, "\"%s\":{\"type\":\"string_index\",\"value\":%u},", name, n);
}

static void
last(struct random_plan *o, const char *name, unsigned n)
{
	put(o, "\"%s\":%u}}", name, n);
}

/* What was set last is used most. */
static unsigned recent[4] = { FREE, FREE, FREE, FREE };

static unsigned
any_local(void)
{
	if (wild && random_one_in(24))
		return IN;
	return random_one_in(4) ? ARG + random_draw(LOCALS - ARG) : recent[random_draw(4)];
}

static unsigned
free_local(void)
{
	return recent[random_draw(4)] = FREE + random_draw(LOCALS - FREE);
}

static void
dot(struct random_plan *o, unsigned from, unsigned key, unsigned to)
{
	stmt(o, "Dot");
	local(o, "source", from);
	text(o, "key", key);
	last(o, "target", to);
}

/* A number of the input that moves, or one of the limits. */
static unsigned
take_number(struct random_plan *o)
{
	unsigned to = free_local(), at = free_local();

	if (random_one_in(6)) {
		dot(o, IN, NOW, to);
		return to;
	}
	dot(o, IN, SECTIONS + random_draw(3), at);
	dot(o, at, MEMBERS + random_draw(5), to);
	return to;
}

static void
call(struct random_plan *o, const char *func, unsigned to, unsigned n,
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
number(struct random_plan *o)
{
	unsigned to = free_local();

	if (random_one_in(3)) {
		stmt(o, "MakeNumberRef");
		put(o, "\"Index\":%u,", NUMBERS + random_draw(TEXTS - NUMBERS));
		last(o, "target", to);
	} else {
		stmt(o, "MakeNumberInt");
		put(o, "\"value\":%d,", (int)random_draw(12) - 1);
		last(o, "target", to);
	}
	return to;
}

static void
compare(struct random_plan *o)
{
	unsigned a = random_one_in(2) ? take_number(o) : any_local();
	unsigned b = random_one_in(2) ? number(o) : random_one_in(2) ? take_number(o) :
	    any_local(), to = free_local();

	if (random_one_in(5)) {	/* by way of another local */
		stmt(o, "AssignVar");
		local(o, "source", a);
		last(o, "target", to);
		a = to;
	}
	if (random_one_in(4)) {
		stmt(o, random_one_in(2) ? "Equal" : "NotEqual");
		local(o, "a", random_one_in(2) ? a : b);
		put(o, "\"b\":{\"type\":\"local\",\"value\":%u}}}", random_one_in(2) ? a : b);
		return;
	}
	call(o, comparisons[random_draw(6)], to, 2, random_one_in(2) ?
	    (unsigned[]){ a, b } : (unsigned[]){ b, a });
	if (random_one_in(2)) {
		stmt(o, "NotEqual");
		local(o, "a", to);
		put(o, "\"b\":{\"type\":\"bool\",\"value\":%s}}}", random_one_in(4) ? "true" : "false");
	}
}

static void stmts(struct random_plan *o, unsigned func, unsigned n, unsigned depth);

static void
inner(struct random_plan *o, unsigned func, unsigned depth)
{
	unsigned from;

	switch (random_draw(wild ? 4 : 2)) {
	case 0:
		stmt(o, "Not");
		put(o, "\"block\":{\"stmts\":[");
		break;
	case 2:
		from = free_local();
		dot(o, IN, SECTIONS + random_draw(5), from);
		stmt(o, "Scan");
		put(o, "\"source\":%u,\"key\":%u,\"value\":%u,\"block\":{\"stmts\":[",
		    from, free_local(), free_local());
		break;
	case 3:
		from = random_one_in(2) ? take_number(o) : any_local();
		stmt(o, "With");
		put(o, "\"local\":0,\"path\":[%u,%u],", SECTIONS + random_draw(3), MEMBERS + random_draw(5));
		local(o, "value", from);
		put(o, "\"block\":{\"stmts\":[");
		break;
	default:
		stmt(o, "Block");
		put(o, "\"blocks\":[{\"stmts\":[");
		stmts(o, func, 1 + random_draw(3), depth + 1);
		put(o, "]},{\"stmts\":[");
		stmts(o, func, 1 + random_draw(3), depth + 1);
		put(o, "]}]}}");
		return;
	}
	stmts(o, func, 1 + random_draw(3), depth + 1);
	put(o, "]}}}");
}

static void
call_another(struct random_plan *o, unsigned func)
{
	char name[40];
	unsigned to = free_local(), which = func + 1 + random_draw(FUNCS - func);

	if (which >= FUNCS)
		return;
	snprintf(name, sizeof(name), "g0.data.t.f%u", which);
	if (which % 2 == 0) {
		call(o, name, to, 2, (unsigned[]){ IN, DATA });
		return;
	}
	if (random_one_in(2))
		dot(o, IN, SECTIONS + random_draw(5), to);
	if (random_one_in(2))
		dot(o, to, random_one_in(2) ? ID : HOST, to);
	call(o, name, to, 3, (unsigned[]){ wild && random_one_in(12) ? to : IN, DATA, to });
}

static void
meddle(struct random_plan *o, unsigned func)
{
	bool list = random_one_in(3);
	unsigned to;

	if (random_one_in(3))
		call_another(o, func);
	to = random_one_in(4) ? (unsigned)ARG : any_local();
	if (random_one_in(2))
		dot(o, IN, SECTIONS + random_draw(5), to = free_local());
	stmt(o, list ? "IsArray" : "IsObject");
	put(o, "\"source\":{\"type\":\"local\",\"value\":%u}}}", to);
	stmt(o, list ? "ArrayAppend" : "ObjectInsert");
	if (!list)
		text(o, "key", MEMBERS + random_draw(ID + 1 - MEMBERS));
	local(o, "value", any_local());
	last(o, list ? "array" : "object", to);
}

static void
keep_in_list(struct random_plan *o)
{
	unsigned from = exact ? any_local() : number(o);

	if (exact && random_one_in(8)) {
		from = free_local();
		dot(o, IN, SECTIONS + random_draw(5), from);
	}
	stmt(o, "ArrayAppend");
	local(o, "value", from);
	last(o, "array", LIST);
}

static void
one_stmt(struct random_plan *o, unsigned func, unsigned depth)
{
	static const char *const looks[] = {
		"IsDefined", "IsUndefined", "IsArray", "IsObject", "IsSet"
	};
	unsigned kind = random_draw(16), i;

	if (meddles && random_one_in(6)) {
		meddle(o, func);
	} else if (kind < 6) {
		compare(o);
	} else if (kind < 8) {
		call_another(o, func);
	} else if (kind == 8 && depth < 3) {
		inner(o, func, depth);
	} else if (kind == 9 && exact) {
		call(o, random_one_in(2) ? "plus" : "minus", free_local(), 2,
		    (unsigned[]){ take_number(o), number(o) });
	} else if (kind == 10) {
		i = random_draw(5);
		stmt(o, looks[i]);
		if (i < 2)
			last(o, "source", any_local());
		else
			put(o, "\"source\":{\"type\":\"local\",\"value\":%u}}}", any_local());
	} else if (kind == 11) {
		stmt(o, exact && random_one_in(4) ? "AssignVarOnce" : "AssignVar");
		local(o, "source", any_local());
		last(o, "target", wild && random_one_in(8) ? IN : random_one_in(3) ? recent[0] :
		    free_local());
	} else if (kind == 12 && exact) {
		stmt(o, "Len");
		local(o, "source", any_local());
		last(o, "target", free_local());
	} else if (kind == 13) {
		stmt(o, "ResetLocal");
		last(o, "target", free_local());
	} else if (kind == 14) {
		dot(o, any_local(), SECTIONS + random_draw(NUMBERS - SECTIONS), free_local());
	} else {
		keep_in_list(o);
	}
}

static void
stmts(struct random_plan *o, unsigned func, unsigned n, unsigned depth)
{
	while (n-- > 0)
		one_stmt(o, func, depth);
}

/* Long enough to be worth recalling. */
static void
function(struct random_plan *o, unsigned func)
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
		put(o, "\"value\":%u,", random_draw(12));
		last(o, "target", i);
	}
	put(o, "]}");
	for (unsigned i = 1 + random_draw(6); i > 0; i--) {
		put(o, ",{\"stmts\":[");
		stmts(o, func, 1 + random_draw(4), 0);
		keep_in_list(o);
		put(o, "]}");
	}
	put(o, ",{\"stmts\":[");
	stmt(o, "ReturnLocal");
	last(o, "source", random_one_in(6) ? free_local() : LIST);
	put(o, "]}]}");
}

/* {"result": {"decision": "allow", "reason": what LIST is as text}} */
static void
give_list(struct random_plan *o)
{
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
}

/* All functions of two parameters in a list, as text. */
static void
entry(struct random_plan *o)
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
	give_list(o);
	put(o, "]}]}]}");
}

void
random_plan(struct random_plan *o, bool may_meddle)
{
	static const char *const builtins[] = { "plus", "minus", "sprintf" };

	o->n = 0;
	meddles = may_meddle;
	exact = random_one_in(2);
	wild = exact && random_one_in(2);
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
