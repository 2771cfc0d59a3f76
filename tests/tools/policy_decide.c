/*
 * policy_decide PACK: input documents on standard input, one a line; for each
 * a line with [decision], [] where it is undefined, or {"error": "..."} where
 * a strict evaluation fails.  For tests beside OPA.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/pack.h"

static void
answer(const struct policy_pack *pack, struct arena *arena, const char *line,
    size_t len)
{
	struct eval eval = { .arena = arena, .plan = pack->plan,
	    .data = pack->data, .facts = pack->facts, .facts_of = pack->data,
	    .now_ns = 1700000000000000000, .strict = true };
	struct buf out = { .arena = arena };
	const struct value *v = NULL;
	char err[200] = "";

	eval.input = value_from_json(arena, line, len, &value_json_strict, err,
	    sizeof(err));
	if (eval.input == NULL || eval_run(&eval, pack->entry) != EVAL_OK) {
		buf_puts(&out, "{\"error\":");
		value_json_string(&out, eval.input == NULL ? err :
		    arena->message, strlen(eval.input == NULL ? err :
		    arena->message), 0);
		buf_puts(&out, "}");
	} else {
		if (eval.results->col.n == 1)
			v = value_member(eval.results->col.items[0],
			    "result");
		buf_putc(&out, '[');
		if (v != NULL)
			value_to_json(&out, v, 0);
		buf_putc(&out, ']');
	}
	printf("%.*s\n", (int)out.n, out.p);
}

int
main(int argc, char **argv)
{
	char err[512] = "", *line = NULL;
	struct policy_pack *pack;
	struct arena arena;
	size_t cap = 0;
	ssize_t n;
	jmp_buf here;

	if (argc != 2 || (pack = policy_pack_load(argv[1], err,
	    sizeof(err))) == NULL || pack->entry == NULL) {
		fprintf(stderr, "policy_decide: %s\n", err);
		return 2;
	}
	if (arena_init(&arena, DECISION_ARENA_FIRST, DECISION_ARENA_MAX,
	    DECISION_STEPS_MAX) != 0 || setjmp(here) != 0)
		return 2;
	arena.armed = &here;
	while ((n = getline(&line, &cap, stdin)) > 0) {
		arena_reset(&arena);
		answer(pack, &arena, line, (size_t)n);
	}
	free(line);
	arena_release(&arena);
	policy_pack_unref(pack);
	return 0;
}
