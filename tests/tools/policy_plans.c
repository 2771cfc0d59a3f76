/*
 * policy_plans PLAN [DATA [INPUT]]: runs every entry point of a plan in both
 * modes, for tests beside OPA.  A line for each:
 *
 *	{"plan": "a/b", "default": ANSWER, "strict": ANSWER}
 *
 * where an ANSWER is [] (undefined), [value] or {"error": code, "message": ""}.
 * DATA and INPUT are files of JSON, {} where there is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/plan/eval.h"
#include "policy/plan/plan_load.h"
#include "policy/value/value.h"

#define ARENA_MAX ((size_t)256 * 1024 * 1024)
#define STEPS_MAX 20000000

static const struct value_json_limits lenient = {
	.depth = 1000, .last_wins = true, .lone_surrogates = true
};

static const char *const codes[] = { "", "eval_builtin_error",
	"eval_type_error", "eval_conflict_error", "limit" };

static char *
slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	long n = -1;

	if (f != NULL && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 &&
	    fseek(f, 0, SEEK_SET) == 0)
		text = malloc((size_t)n + 1);
	if (text == NULL || fread(text, 1, (size_t)n, f) != (size_t)n) {
		fprintf(stderr, "policy_plans: %s cannot be read\n", path);
		exit(2);
	}
	fclose(f);
	*len = (size_t)n;
	return text;
}

static const struct value *
document(struct arena *arena, const char *path)
{
	const struct value *v;
	char err[200] = "", *text, *kept;
	size_t len;

	if (path == NULL)
		return value_object(arena, 0);
	text = slurp(path, &len);
	kept = arena_copy(arena, text, len);	/* strings stay where they are */
	free(text);
	v = value_from_json(arena, kept, len, &lenient, err, sizeof(err));
	if (v == NULL) {
		fprintf(stderr, "policy_plans: %s: %s\n", path, err);
		exit(2);
	}
	return v;
}

static void
put_answer(struct buf *out, const struct eval *eval, enum eval_status status)
{
	const struct value *v = NULL;

	if (status != EVAL_OK) {
		buf_puts(out, "{\"error\":\"");
		buf_puts(out, codes[status]);
		buf_puts(out, "\",\"message\":");
		value_json_string(out, eval->arena->message,
		    strlen(eval->arena->message), 0);
		buf_putc(out, '}');
		return;
	}
	if (eval->results->col.n == 1)
		v = value_member(eval->results->col.items[0], "result");
	buf_putc(out, '[');
	if (v != NULL)
		value_to_json(out, v, 0);
	buf_putc(out, ']');
}

/* Whatever an answer needs is in scratch, which starts anew with each. */
static void
print_answer(struct arena *scratch, const struct eval *as, const char *mode,
    const struct plan_func *entry)
{
	struct eval eval = *as;
	struct buf out = { .arena = scratch };

	arena_reset(scratch);
	eval.arena = scratch;
	eval.strict = strcmp(mode, "strict") == 0;
	put_answer(&out, &eval, eval_run(&eval, entry));
	printf(",\"%s\":%.*s", mode, (int)out.n, out.p);
}

static int
run_plans(struct arena *arena, struct arena *scratch, char **args, int n)
{
	struct eval eval = { .now_ns = 1700000000000000000 };
	char err[300] = "", *text;
	size_t len;
	uint32_t i;

	text = slurp(args[0], &len);
	eval.plan = plan_load(arena, text, len, err, sizeof(err));
	if (eval.plan == NULL) {
		fprintf(stderr, "policy_plans: %s\n", err);
		free(text);
		return 2;
	}
	eval.data = document(arena, n > 1 ? args[1] : NULL);
	eval.input = document(arena, n > 2 ? args[2] : NULL);
	for (i = 0; i < eval.plan->n_plans; i++) {
		const struct plan_func *entry = &eval.plan->plans[i];

		printf("{\"plan\":\"%s\"", entry->name);
		print_answer(scratch, &eval, "default", entry);
		print_answer(scratch, &eval, "strict", entry);
		printf("}\n");
	}
	free(text);
	return 0;
}

int
main(int argc, char **argv)
{
	struct arena arena, scratch;
	jmp_buf here;
	int status;

	if (argc < 2 || argc > 4 || arena_init(&arena, 1 << 20, ARENA_MAX,
	    UINT64_MAX / 2) != 0)
		return 2;
	if (arena_init(&scratch, 1 << 20, ARENA_MAX, STEPS_MAX) != 0)
		return 2;
	if (setjmp(here) != 0) {
		fprintf(stderr, "policy_plans: %s\n", arena.message);
		return 2;
	}
	arena.armed = &here;
	scratch.armed = &here;
	status = run_plans(&arena, &scratch, argv + 1, argc - 1);
	arena_release(&scratch);
	arena_release(&arena);
	return status;
}
