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

static void
evaluate(const struct policy_pack *pack, struct policy_scratch *scratch,
    const struct policy_input *input, struct policy_decision *out)
{
	struct arena *arena = &scratch->arena;
	struct eval eval = { .arena = arena, .plan = pack->plan,
	    .data = pack->data, .facts = pack->facts,
	    .facts_of = pack->data, .now_ns = input->now_ns, .strict = true };
	char err[200], why[POLICY_TEXT_MAX];

	eval.input = input_document(arena, input, err, sizeof(err));
	if (eval.input == NULL) {
		snprintf(why, sizeof(why), "the request cannot be judged: %s",
		    err);
		decision_deny(out, "engine/input", why);
		return;
	}
	if (scratch->recall != NULL)
		recall_begin(scratch->recall, pack->plan, pack->number, input);
	patterns_begin(scratch->patterns);
	eval.recall = scratch->recall;
	eval.patterns = scratch->patterns;
	decision_run(&eval, pack->entry, out);
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
		evaluate(pack, scratch, input, out);
	} else {
		decision_deny(out, "engine/limit", arena->message);
	}
	arena->armed = NULL;
}
