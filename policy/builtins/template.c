/* String interpolation. */
#include "policy/plan/builtin.h"

/* A string as it is; anything else as OPA prints it. */
static void
put_term(struct buf *out, const struct value *v)
{
	if (v->kind == VALUE_STRING)
		buf_put(out, v->str.p, v->str.n);
	else
		value_to_json(out, v, VALUE_JSON_REGO);
}

/* The parts of $"...": strings are literal; an expression comes as the set of
 * its values: none is "<undefined>", more than one an error. */
static const struct value *
call_template_string(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	const struct value *part;
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_ARRAY))
		return NULL;
	for (i = 0; i < args[0]->col.n; i++) {
		arena_step(eval->arena, 1);
		part = args[0]->col.items[i];
		if (part->kind != VALUE_SET) {
			put_term(&out, part);
			continue;
		}
		if (part->col.n > 1) {
			eval_error(eval, "template-strings must not produce "
			    "multiple outputs");
			eval->status = EVAL_CONFLICT;
			return NULL;
		}
		if (part->col.n == 0)
			buf_puts(&out, "<undefined>");
		else
			put_term(&out, part->col.items[0]);
	}
	return buf_value(&out);
}

const struct builtin builtins_template[] = {
	{ "internal.template_string", 1, 1, call_template_string, false },
	{ NULL, 0, 0, NULL, false }
};
