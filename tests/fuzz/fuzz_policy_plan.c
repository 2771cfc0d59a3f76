/* A plan.json from anywhere: refused with a place, or run to an end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/plan/eval.h"
#include "policy/plan/plan.h"

#define FUZZ_STEPS 200000
#include "fuzz_arena.h"
#include "fuzz_json.h"

static void
run(struct arena *arena, const char *text, size_t len)
{
	struct eval eval = { .arena = arena };
	char err[200] = "";
	uint32_t i;

	eval.plan = plan_load(arena, text, len, err, sizeof(err));
	if (eval.plan == NULL) {
		if (err[0] == '\0')
			abort();	/* refused without a word */
		return;
	}
	eval.input = value_from_json(arena, "{\"a\":[1,{\"b\":null}]}", 20,
	    &value_json_strict, err, sizeof(err));
	eval.data = value_from_json(arena, "{\"x\":{\"y\":[true]}}", 18,
	    &value_json_strict, err, sizeof(err));
	value_freeze(arena, eval.data);
	for (i = 0; i < eval.plan->n_plans && i < 4; i++) {
		eval.strict = i % 2 == 0;
		eval_run(&eval, &eval.plan->plans[i]);
	}
}
