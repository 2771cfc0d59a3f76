#include <string.h>

#include "policy/plan/builtin.h"
#include "policy/regex/glob.h"
#include "policy/regex/glob_simple.h"
#include "policy/value/utf8.h"

#define DELIMITERS_MAX 32

/* null: none; []: the dot; else one-character strings. */
static bool
delimiters(struct eval *eval, const struct value *v, uint32_t *out,
    uint32_t *n)
{
	size_t used;
	uint32_t i;

	*n = 0;
	if (v->kind == VALUE_NULL)
		return true;
	if (v->kind != VALUE_ARRAY) {
		eval_type_error(eval, 2, "array, null", v);
		return false;
	}
	if (v->col.n == 0)
		out[(*n)++] = '.';
	for (i = 0; i < v->col.n; i++) {
		const struct value *d = v->col.items[i];

		if (d->kind != VALUE_STRING || d->str.n == 0 ||
		    i == DELIMITERS_MAX) {
			eval_operand_error(eval, 2,
			    "must be array of single characters");
			return false;
		}
		out[(*n)++] = utf8_decode(d->str.p, d->str.n, &used);
		if (used != d->str.n) {
			eval_operand_error(eval, 2,
			    "must be array of single characters");
			return false;
		}
	}
	return true;
}

static const struct value *
call_match(struct eval *eval, const struct value *const *args)
{
	struct prog prog = { .arena = eval->arena };
	uint32_t delims[DELIMITERS_MAX + 1], n;
	const char *why = NULL;
	int simple;

	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !delimiters(eval, args[1], delims, &n) ||
	    !builtin_want(eval, args, 2, VALUE_STRING))
		return NULL;
	arena_step(eval->arena, args[2]->str.n / 8);
	simple = glob_simple(args[0]->str.p, args[0]->str.n, delims, n,
	    args[2]->str.p, args[2]->str.n);
	if (simple >= 0)
		return value_bool(simple > 0);
	if (!glob_compile(&prog, args[0]->str.p, args[0]->str.n, delims, n,
	    &why))
		return eval_error(eval, "%s", why);
	return value_bool(prog_run(eval->arena, &prog, args[2]->str.p,
	    args[2]->str.n, 0, true, NULL));
}

static const struct value *
call_quote_meta(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	size_t i;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	for (i = 0; i < args[0]->str.n; i++) {
		if (args[0]->str.p[i] != '\0' &&
		    strchr("*?\\[]{}", args[0]->str.p[i]) != NULL)
			buf_putc(&out, '\\');
		buf_putc(&out, args[0]->str.p[i]);
	}
	return buf_value(&out);
}

const struct builtin builtins_glob[] = {
	{ "glob.match", 3, 3, call_match, false },
	{ "glob.quote_meta", 1, 1, call_quote_meta, false },
	{ NULL, 0, 0, NULL, false }
};
