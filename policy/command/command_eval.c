#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/command/command.h"

struct tracer {
	const struct policy_pack *pack;
	struct arena *arena;
};

/* The source of a row, if the pack has it. */
static void
print_source(const struct policy_pack *pack, const char *file, uint32_t row)
{
	const struct pack_file *f;
	const char *p, *end, *stop;

	while (*file == '/')
		file++;
	if ((f = pack_files_find(&pack->files, file)) == NULL)
		return;
	p = f->bytes;
	end = p + f->len;
	for (; row > 1 && p < end; row--) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p == NULL ? end : p + 1;
	}
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	stop = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
	printf("   %.*s", (int)((stop != NULL ? stop : end) - p), p);
}

/* What decided: statements that did not hold, and what rules gave. */
static void
trace(void *arg, const struct plan_func *func, const struct plan_stmt *stmt,
    const struct value *const *locals, bool held)
{
	const struct tracer *t = arg;
	const struct plan *plan = t->pack->plan;
	const char *file = stmt->file < plan->n_files ?
	    plan->files[stmt->file] : "?";
	struct buf text = { .arena = t->arena };
	const struct value *result;

	if (stmt->kind == PLAN_RETURN_LOCAL) {
		result = locals[stmt->a.local];
		if (result == NULL) {
			printf("%s is undefined\n", func->name);
			return;
		}
		value_to_json(&text, result, VALUE_JSON_REGO);
		printf("%s = %.*s\n", func->name,
		    (int)(text.n < 200 ? text.n : 200), text.p);
		return;
	}
	if (held || stmt->kind == PLAN_BLOCK || stmt->kind == PLAN_SCAN ||
	    stmt->kind == PLAN_IS_DEFINED || stmt->kind == PLAN_IS_UNDEFINED)
		return;
	printf("%s:%u does not hold:", file, stmt->row);
	print_source(t->pack, file, stmt->row);
	putchar('\n');
}

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

static int
evaluate(const struct command_args *args, const struct policy_pack *pack,
    struct arena *arena, const char *text, size_t len)
{
	const struct plan_func *entry = plan_entry(pack->plan, args->entry);
	struct tracer tracer = { pack, arena };
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
	if (args->trace) {
		eval.trace = trace;
		eval.trace_arg = &tracer;
	}
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
	return COMMAND_YES;
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
