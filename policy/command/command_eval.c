#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/command/command.h"

static int64_t
now_ns(const struct value *input)
{
	const struct value *v = value_member(input, "now_ns");
	struct timespec ts;

	if (v != NULL && v->kind == VALUE_NUMBER && v->is_int)
		return v->num.i;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool
has_rule(const struct value *result, const char *rule)
{
	const struct value *v = value_member(result, "rule");

	return v != NULL && v->kind == VALUE_STRING && v->str.n == strlen(rule) &&
	    memcmp(v->str.p, rule, v->str.n) == 0;
}

/* What the broker would not take for a decision is said here, too: as printed,
 * it may well read "allow". */
static int
taken_for_a_decision(struct arena *arena, const struct value *result)
{
	struct policy_decision decision;

	decision_from_value(arena, result, &decision);
	if (strncmp(decision.rule, "engine/", 7) != 0 || has_rule(result, decision.rule))
		return COMMAND_YES;
	command_fail("the broker would deny, by %s: %s", decision.rule, decision.reason);
	return COMMAND_NO;
}

static int
evaluate(const struct command_args *args, const struct policy_pack *pack,
    struct arena *arena, const char *text, size_t len)
{
	const struct plan_func *entry = plan_entry(pack->plan, args->entry);
	struct command_tracer tracer = { pack, arena };
	struct eval eval = { .arena = arena, .plan = pack->plan,
	    .data = pack->data, .facts = pack->facts, .facts_of = pack->data,
	    .strict = !args->opa_default };
	struct buf out = { .arena = arena };
	const struct value *result = NULL;
	char err[200];

	if (entry == NULL)
		return command_fail("no entry point %s", args->entry);
	eval.input = value_from_json(arena, text, len, &value_json_strict, err,
	    sizeof(err));
	if (eval.input == NULL)
		return command_fail("input: %s", err);
	eval.now_ns = now_ns(eval.input);
	if (args->trace)
		command_trace(&tracer, &eval);
	if (eval_run(&eval, entry) != EVAL_OK) {
		command_fail("the policy failed (a decision would be a "
		    "denial): %s", arena->message);
		return COMMAND_NO;
	}
	if (eval.results->col.n == 1)
		result = value_member(eval.results->col.items[0], "result");
	if (result == NULL) {
		puts("undefined");
		return COMMAND_NO;
	}
	value_to_json(&out, result, 0);
	printf("%.*s\n", (int)out.n, out.p);
	return strcmp(args->entry, PACK_ENTRY) == 0 ?
	    taken_for_a_decision(arena, result) : COMMAND_YES;
}

static int
guarded(const struct command_args *args, const struct policy_pack *pack,
    const char *text, size_t len)
{
	struct arena arena;
	volatile int result = COMMAND_FAILED;
	jmp_buf here;

	if (arena_init(&arena, DECISION_ARENA_FIRST, DECISION_ARENA_MAX,
	    args->trace ? UINT64_MAX / 2 : DECISION_STEPS_MAX) != 0)
		return command_fail("out of memory");
	if (setjmp(here) == 0) {
		arena.armed = &here;
		result = evaluate(args, pack, &arena, text, len);
	} else {
		command_fail("%s", arena.message);
	}
	arena_release(&arena);
	return result;
}

int
command_eval(const struct command_args *args)
{
	struct policy_pack *pack = command_pack(args, args->operand[0]);
	int result = COMMAND_FAILED;
	char *text = NULL;
	size_t len = 0;

	if (pack != NULL &&
	    (text = command_read(args->operand[1], &len)) != NULL)
		result = guarded(args, pack, text, len);
	policy_pack_unref(pack);
	free(text);
	return result;
}
