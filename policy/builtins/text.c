/* Case, and numbers as text. */
#include "policy/builtins/format.h"
#include "policy/plan/builtin.h"
#include "policy/value/unicode_case.h"
#include "policy/value/utf8.h"

static const struct value *
map_case(struct eval *eval, const struct value *const *args,
    uint32_t (*map)(uint32_t))
{
	struct buf out = { .arena = eval->arena };
	size_t i, used;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	arena_step(eval->arena, args[0]->str.n / 16);
	for (i = 0; i < args[0]->str.n; i += used)
		buf_rune(&out, map(utf8_decode(args[0]->str.p + i,
		    args[0]->str.n - i, &used)));
	return buf_value(&out);
}

static const struct value *
call_upper(struct eval *eval, const struct value *const *args)
{
	return map_case(eval, args, unicode_upper);
}

static const struct value *
call_lower(struct eval *eval, const struct value *const *args)
{
	return map_case(eval, args, unicode_lower);
}

/* The base must be spelled as an integer; what is formatted is truncated. */
static const struct value *
call_format_int(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	const struct value *whole;
	struct flt f;
	int64_t base;
	char text[24];
	const char *p;
	size_t n;

	if (!builtin_want(eval, args, 0, VALUE_NUMBER) ||
	    !builtin_want(eval, args, 1, VALUE_NUMBER))
		return NULL;
	base = args[1]->is_int ? args[1]->num.i : 0;
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return eval_operand_error(eval, 2,
		    "must be one of {2, 8, 10, 16}");
	if (!num_to_flt(eval->arena, args[0], &f) || (whole =
	    num_from_integer(eval->arena, flt_truncate(f))) == NULL)
		return eval_error(eval, "number out of range");
	p = num_text(whole, text, &n);
	if (*p == '-') {
		buf_putc(&out, '-');
		p++;
		n--;
	}
	num_text_base(&out, p, n, (unsigned)base, false);
	return buf_value(&out);
}

const struct builtin builtins_text[] = {
	{ "upper", 1, 1, call_upper, false },
	{ "lower", 1, 1, call_lower, false },
	{ "sprintf", 2, 2, text_sprintf, false },
	{ "format_int", 2, 2, call_format_int, false },
	{ NULL, 0, 0, NULL, false }
};
