#include <math.h>
#include <string.h>

#include "policy/plan/builtin.h"

static const struct value *
call_is_number(struct eval *eval, const struct value *const *args)
{
	return value_bool(args[0]->kind == VALUE_NUMBER);
}

static const struct value *
call_is_string(struct eval *eval, const struct value *const *args)
{
	return value_bool(args[0]->kind == VALUE_STRING);
}

static const struct value *
call_is_boolean(struct eval *eval, const struct value *const *args)
{
	return value_bool(args[0]->kind == VALUE_BOOL);
}

static const struct value *
call_is_array(struct eval *eval, const struct value *const *args)
{
	return value_bool(args[0]->kind == VALUE_ARRAY);
}

static const struct value *
call_is_object(struct eval *eval, const struct value *const *args)
{
	return value_bool(args[0]->kind == VALUE_OBJECT);
}

static const struct value *
call_is_set(struct eval *eval, const struct value *const *args)
{
	return value_bool(args[0]->kind == VALUE_SET);
}

static const struct value *
call_is_null(struct eval *eval, const struct value *const *args)
{
	return value_bool(args[0]->kind == VALUE_NULL);
}

static const struct value *
call_type_name(struct eval *eval, const struct value *const *args)
{
	return value_text(eval->arena, value_type_name(args[0]));
}

/* What other parsers take for numbers, we call a wrong type, as OPA does. */
static bool
not_finite(const struct value *v)
{
	static const char *const words[] = { "nan", "inf", "infinity" };
	const char *p = v->str.p;
	size_t n = v->str.n, i;

	if (n > 0 && (*p == '+' || *p == '-')) {
		p++;
		n--;
	}
	for (i = 0; i < 3; i++)
		if (n == strlen(words[i]) && strncasecmp(p, words[i], n) == 0)
			return true;
	return false;
}

static const struct value *
number_from_text(struct eval *eval, const struct value *v)
{
	size_t n = num_scan(v->str.p, v->str.n);

	if (not_finite(v))
		return eval_operand_error(eval, 1, "must be a valid number");
	if (n != v->str.n || n == 0)
		return eval_error(eval, "invalid syntax");
	/* OPA reads it as a float64 to see whether it is one. */
	if (isinf(num_to_double(v = value_number(eval->arena, v->str.p, n))))
		return eval_error(eval, "value out of range");
	return v;
}

static const struct value *
call_to_number(struct eval *eval, const struct value *const *args)
{
	switch ((enum value_kind)args[0]->kind) {
	case VALUE_NULL:
		return value_int(eval->arena, 0);
	case VALUE_BOOL:
		return value_int(eval->arena, args[0]->truth);
	case VALUE_NUMBER:
		return args[0];
	case VALUE_STRING:
		return number_from_text(eval, args[0]);
	default:
		return eval_type_error(eval, 1, "null, boolean, number, string",
		    args[0]);
	}
}

const struct builtin builtins_type[] = {
	{ "is_number", 1, 1, call_is_number, false },
	{ "is_string", 1, 1, call_is_string, false },
	{ "is_boolean", 1, 1, call_is_boolean, false },
	{ "is_array", 1, 1, call_is_array, false },
	{ "is_object", 1, 1, call_is_object, false },
	{ "is_set", 1, 1, call_is_set, false },
	{ "is_null", 1, 1, call_is_null, false },
	{ "type_name", 1, 1, call_type_name, false },
	{ "to_number", 1, 1, call_to_number, false },
	{ NULL, 0, 0, NULL, false }
};
