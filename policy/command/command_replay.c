/*
 * Recorded decisions, decided again: lines of a ledger or bundle whose body
 * has an input (see the broker's RECORDS.md).  What the gate refused by a rule
 * of its own is not the policy's to repeat.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/command/command.h"
#include "policy/number.h"

struct replay {
	const struct policy_pack *pack, *other;	/* other: diff */
	struct arena arena;
	unsigned long seen, same, differ, gate;
};

static bool
text_is(const struct value *v, const char *text)
{
	return v != NULL && v->kind == VALUE_STRING &&
	    v->str.n == strlen(text) && memcmp(v->str.p, text, v->str.n) == 0;
}

/* Times stand as strings in the ledger; the policy wants its numbers. */
static void
restore_number(struct arena *arena, const struct value *object,
    const char *name)
{
	const struct value *v = value_member(object, name);
	int64_t i;

	if (v != NULL && v->kind == VALUE_STRING &&
	    num_text_int64(v->str.p, v->str.n, &i))
		value_put(arena, (struct value *)(uintptr_t)object,
		    value_text(arena, name), value_int(arena, i));
}

static const struct value *
input_of(struct arena *arena, const struct value *body)
{
	const struct value *input = value_member(body, "input"), *run;

	if (input == NULL || input->kind != VALUE_OBJECT)
		return NULL;
	restore_number(arena, input, "now_ns");
	run = value_member(input, "run");
	if (run != NULL && run->kind == VALUE_OBJECT)
		restore_number(arena, run, "opened_ns");
	return input;
}

static void
decide(struct replay *r, const struct policy_pack *pack,
    const struct value *input, struct policy_decision *out)
{
	struct eval eval = { .arena = &r->arena, .plan = pack->plan,
	    .input = input, .data = pack->data, .facts = pack->facts,
	    .facts_of = pack->data, .strict = true };
	const struct value *now = value_member(input, "now_ns"), *v = NULL;

	if (now != NULL && now->kind == VALUE_NUMBER && now->is_int)
		eval.now_ns = now->num.i;
	r->arena.steps = 0;
	if (pack->entry != NULL && eval_run(&eval, pack->entry) == EVAL_OK &&
	    eval.results->col.n == 1)
		v = value_member(eval.results->col.items[0], "result");
	decision_from_value(&r->arena, v, out);
}

static const char *
word(enum policy_verdict verdict)
{
	return verdict == POLICY_ALLOW ? "allow" :
	    verdict == POLICY_ASK ? "ask" : "deny";
}

/* Did the policy name this rule, or the gate? */
static bool
of_policy(const struct policy_pack *pack, const struct value *rule)
{
	const char *slash;
	uint32_t i;

	if (rule == NULL || rule->kind != VALUE_STRING)
		return false;
	slash = rule->str.n > 0 ? memchr(rule->str.p, '/', rule->str.n) : NULL;
	for (i = 0; i < pack->plan->n_strings; i++) {
		const struct value *s = pack->plan->strings[i];

		if (s->str.n == rule->str.n &&
		    memcmp(s->str.p, rule->str.p, s->str.n) == 0)
			return true;
		/* "budget/%s" */
		if (slash != NULL && s->str.n == (size_t)(slash -
		    rule->str.p) + 3 && memcmp(s->str.p, rule->str.p,
		    (size_t)(slash - rule->str.p) + 1) == 0 &&
		    memcmp(s->str.p + s->str.n - 2, "%s", 2) == 0)
			return true;
	}
	return false;
}

static void
compare_recorded(struct replay *r, const struct value *body,
    const struct policy_decision *now, unsigned long line)
{
	const struct value *was = value_member(body, "decision");
	const struct value *rule = value_member(body, "rule");

	if (text_is(was, word(now->verdict))) {
		r->same++;
	} else if (!text_is(was, "allow") && !of_policy(r->pack, rule)) {
		r->gate++;
	} else {
		r->differ++;
		printf("line %lu: was %.*s, is %s by %s: %s\n", line,
		    was != NULL ? (int)was->str.n : 0,
		    was != NULL ? was->str.p : "", word(now->verdict),
		    now->rule, now->reason);
	}
}

static void
one_record(struct replay *r, const char *p, size_t n, unsigned long line)
{
	const struct value *root, *body, *input;
	struct policy_decision a, b;
	char why[120];

	root = value_from_json(&r->arena, p, n, &value_json_strict, why,
	    sizeof(why));
	body = value_member(root, "body");
	if (body == NULL || value_member(body, "decision") == NULL ||
	    (input = input_of(&r->arena, body)) == NULL)
		return;
	r->seen++;
	decide(r, r->pack, input, &a);
	if (r->other == NULL) {
		compare_recorded(r, body, &a, line);
		return;
	}
	decide(r, r->other, input, &b);
	if (a.verdict == b.verdict) {
		r->same++;
		return;
	}
	r->differ++;
	printf("line %lu: %s by %s becomes %s by %s: %s\n", line,
	    word(a.verdict), a.rule, word(b.verdict), b.rule, b.reason);
}

static int
one_file(struct replay *r, const char *path)
{
	size_t len = 0;
	char *text = command_read(path, &len);
	const char *volatile p = text;
	const char *end = text + len, *stop;
	volatile unsigned long line = 0;
	jmp_buf here;

	if (text == NULL)
		return COMMAND_FAILED;
	if (setjmp(here) != 0)
		command_fail("%s: line %lu: %s", path, line,
		    r->arena.message);
	r->arena.armed = &here;
	while (p < end) {
		const char *start = p;

		stop = memchr(start, '\n', (size_t)(end - start));
		if (stop == NULL)
			stop = end;
		p = stop + 1;
		line++;
		arena_reset(&r->arena);
		one_record(r, start, (size_t)(stop - start), line);
	}
	r->arena.armed = NULL;
	free(text);
	return COMMAND_YES;
}

static int
run(struct replay *r, const struct command_args *args, int from)
{
	int i, result = COMMAND_YES;

	if (arena_init(&r->arena, DECISION_ARENA_FIRST, DECISION_ARENA_MAX,
	    DECISION_STEPS_MAX) != 0)
		return command_fail("out of memory");
	for (i = from; i < args->n && result == COMMAND_YES; i++)
		result = one_file(r, args->operand[i]);
	arena_release(&r->arena);
	if (result != COMMAND_YES)
		return result;
	printf("%lu decisions: %lu the same, %lu differ, %lu by the gate's "
	    "own rules\n", r->seen, r->same, r->differ, r->gate);
	return r->differ == 0 ? COMMAND_YES : COMMAND_NO;
}

int
command_replay(const struct command_args *args)
{
	struct replay r = { 0 };
	struct policy_pack *pack;
	int result;

	if (args->pack == NULL)
		return command_fail("replay needs --pack PACK");
	if ((pack = command_pack(args, args->pack)) == NULL)
		return COMMAND_FAILED;
	r.pack = pack;
	result = run(&r, args, 0);
	policy_pack_unref(pack);
	return result;
}

int
command_diff(const struct command_args *args)
{
	struct replay r = { 0 };
	struct policy_pack *a = command_pack(args, args->operand[0]);
	struct policy_pack *b = a == NULL ? NULL :
	    command_pack(args, args->operand[1]);
	int result = COMMAND_FAILED;

	if (b != NULL) {
		r.pack = a;
		r.other = b;
		result = run(&r, args, 2);
	}
	policy_pack_unref(a);
	policy_pack_unref(b);
	return result;
}
