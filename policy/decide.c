#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/pack.h"

struct policy_scratch *
policy_scratch_new(void)
{
	struct policy_scratch *scratch = calloc(1, sizeof(*scratch));

	if (scratch != NULL && arena_init(&scratch->arena,
	    DECISION_ARENA_FIRST, DECISION_ARENA_MAX,
	    DECISION_STEPS_MAX) != 0) {
		free(scratch);
		return NULL;
	}
	if (scratch != NULL) {	/* without these, it is but slower */
		scratch->recall = recall_new();
		scratch->patterns = patterns_new();
	}
	return scratch;
}

void
policy_scratch_free(struct policy_scratch *scratch)
{
	if (scratch == NULL)
		return;
	arena_release(&scratch->arena);
	recall_free(scratch->recall);
	patterns_free(scratch->patterns);
	free(scratch);
}

/* With what the input says written out; in strict mode, as always here. */
static enum eval_status
evaluate(const struct policy_pack *pack, struct policy_scratch *scratch,
    const struct policy_input *input, struct policy_decision *out)
{
	struct eval eval = { .arena = &scratch->arena, .plan = pack->plan,
	    .data = pack->data, .facts = pack->facts,
	    .facts_of = pack->data, .now_ns = input->now_ns, .strict = true,
	    .recall = scratch->recall, .patterns = scratch->patterns };
	char err[200], why[POLICY_TEXT_MAX];

	eval.input = input_document(eval.arena, input, err, sizeof(err));
	if (eval.input == NULL) {
		snprintf(why, sizeof(why), "the request cannot be judged: %s",
		    err);
		decision_deny(out, "engine/input", why);
		return EVAL_TYPE_ERROR;
	}
	if (eval.recall != NULL)
		moving_document(recall_moving(eval.recall), eval.input);
	patterns_begin(scratch->patterns);
	return decision_run(&eval, pack->entry, out);
}

/* The whole answer may be known, if only the budget moved on: then there is
 * no need even of a document.  What it depends on was in order then; the rest
 * has to be looked at. */
static void
recall_or_evaluate(const struct policy_pack *pack,
    struct policy_scratch *scratch, const struct policy_input *input,
    struct policy_decision *out)
{
	const struct plan_func *entry = pack->entry;
	struct arena *arena = &scratch->arena;
	const struct value *known;
	struct recall_call call;
	uint64_t fields = input_present(input), steps;

	recall_begin(scratch->recall, pack->plan, pack->number, input, fields);
	if (!input_in_order(input, fields & ~entry->reads.fields)) {
		evaluate(pack, scratch, input, out);
		return;
	}
	if (recall_find(scratch->recall, arena, entry, NULL, &call, &known,
	    &steps)) {
		arena_step(arena, steps);
		decision_from_short(known, out);
		return;
	}
	if (evaluate(pack, scratch, input, out) == EVAL_OK)
		recall_keep(scratch->recall, entry, &call,
		    decision_in_short(arena, out), arena->steps);
}

void
policy_decide(const struct policy_pack *pack, struct policy_scratch *scratch,
    const struct policy_input *input, struct policy_decision *out)
{
	struct arena *arena = &scratch->arena;
	jmp_buf here;

	decision_clear(out);
	if (pack->entry == NULL) {
		decision_deny(out, "engine/entry", "the pack has no entry "
		    "point " PACK_ENTRY);
		return;
	}
	arena_reset(arena);
	if (setjmp(here) == 0) {
		arena->armed = &here;
		if (scratch->recall != NULL)
			recall_or_evaluate(pack, scratch, input, out);
		else
			evaluate(pack, scratch, input, out);
	} else {
		decision_deny(out, "engine/limit", arena->message);
	}
	arena->armed = NULL;
}
