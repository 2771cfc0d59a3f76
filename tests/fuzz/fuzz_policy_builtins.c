/* ["name", argument, ...] as a Rego term: the builtin is called. */
#include <stdlib.h>
#include <string.h>

#include "policy/plan/builtin.h"

#define FUZZ_STEPS 500000
#include "fuzz_arena.h"
#include "rego_term.h"

static void
run(struct arena *arena, const char *text, size_t len)
{
	struct eval eval = { .arena = arena, .strict = true,
	    .now_ns = 1700000000000000000 };
	const struct builtin *builtin;
	const struct value *call, *name, *result;
	struct buf out = { .arena = arena };
	char err[200] = "", text_name[64];
	const char *why;

	call = rego_term_parse(arena, text, len, err, sizeof(err));
	if (call == NULL || call->kind != VALUE_ARRAY || call->col.n == 0)
		return;
	name = call->col.items[0];
	if (name->kind != VALUE_STRING || name->str.n >= sizeof(text_name))
		return;
	memcpy(text_name, name->str.p, name->str.n);
	text_name[name->str.n] = '\0';
	builtin = builtin_find(text_name, &why);
	if (builtin == NULL || call->col.n - 1 < builtin->min_args ||
	    call->col.n - 1 > builtin->max_args)
		return;
	result = builtin->call(&eval, call->col.items + 1);
	if (result != NULL) {
		value_to_json(&out, result, 0);
		value_hash(arena, result);
	}
}
