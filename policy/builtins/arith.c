#include "policy/builtin.h"

static const struct value *
arith(struct eval *eval, char op, const struct value *const *args)
{
	const struct value *result;
	const char *error = NULL;

	if (!builtin_want(eval, args, 0, VALUE_NUMBER) ||
	    !builtin_want(eval, args, 1, VALUE_NUMBER))
		return NULL;
	result = num_arith(eval->arena, op, args[0], args[1], &error);
	return result != NULL ? result : eval_error(eval, "%s", error);
}

static const struct value *
call_plus(struct eval *eval, const struct value *const *args)
{
	return arith(eval, '+', args);
}

static const struct value *
difference(struct eval *eval, const struct value *a, const struct value *b)
{
	struct value *out = value_set(eval->arena, 0);
	uint32_t i;

	value_sort(eval->arena, a);
	arena_step(eval->arena, a->col.n);
	for (i = 0; i < a->col.n; i++)
		if (!value_has(eval->arena, b, value_at(a, i)))
			value_add(eval->arena, out, value_at(a, i));
	return out;
}

static const struct value *
call_minus(struct eval *eval, const struct value *const *args)
{
	if (args[0]->kind == VALUE_SET && args[1]->kind == VALUE_SET)
		return difference(eval, args[0], args[1]);
	if (args[0]->kind != VALUE_NUMBER && args[0]->kind != VALUE_SET)
		return eval_type_error(eval, 1, "number, set", args[0]);
	if (args[1]->kind != args[0]->kind)
		return eval_type_error(eval, 2, args[1]->kind == VALUE_NUMBER
		    || args[0]->kind == VALUE_SET ? "set" : "number", args[1]);
	return arith(eval, '-', args);
}

static const struct value *
call_mul(struct eval *eval, const struct value *const *args)
{
	return arith(eval, '*', args);
}

static const struct value *
call_div(struct eval *eval, const struct value *const *args)
{
	return arith(eval, '/', args);
}

static const struct value *
call_rem(struct eval *eval, const struct value *const *args)
{
	const struct value *result;
	const char *error = NULL;

	if (!builtin_want(eval, args, 0, VALUE_NUMBER) ||
	    !builtin_want(eval, args, 1, VALUE_NUMBER))
		return NULL;
	result = num_rem(eval->arena, args[0], args[1], &error);
	return result != NULL ? result : eval_error(eval, "%s", error);
}

/* One argument as a flt, for the functions that round. */
static bool
operand(struct eval *eval, const struct value *const *args, struct flt *out)
{
	if (!builtin_want(eval, args, 0, VALUE_NUMBER))
		return false;
	if (num_to_flt(eval->arena, args[0], out))
		return true;
	eval_error(eval, "number out of range");
	return false;
}

static const struct value *
give(struct eval *eval, struct flt f)
{
	const struct value *v = num_from_flt(eval->arena, f);

	return v != NULL ? v : eval_error(eval, "number out of range");
}

static const struct value *
call_abs(struct eval *eval, const struct value *const *args)
{
	struct flt f;

	if (!operand(eval, args, &f))
		return NULL;
	f.negative = false;
	return give(eval, f);
}

static struct flt
half(bool negative)
{
	return (struct flt){ negative, (uint64_t)1 << 63, -64 };
}

/* Halves go away from zero. */
static const struct value *
call_round(struct eval *eval, const struct value *const *args)
{
	struct flt f;

	if (!operand(eval, args, &f))
		return NULL;
	f = flt_truncate(flt_add(f, half(f.negative)));
	if (f.mant == 0)
		f.negative = false;
	return give(eval, f);
}

static const struct value *
towards(struct eval *eval, const struct value *const *args, bool down)
{
	struct flt f, whole;

	if (!operand(eval, args, &f))
		return NULL;
	whole = flt_truncate(f);
	if (whole.mant == 0)
		whole.negative = false;
	if (f.mant != 0 && f.negative == down && flt_compare(whole, f) != 0)
		whole = flt_add(whole, flt_from_int(down ? -1 : 1));
	return give(eval, whole);
}

static const struct value *
call_ceil(struct eval *eval, const struct value *const *args)
{
	return towards(eval, args, false);
}

static const struct value *
call_floor(struct eval *eval, const struct value *const *args)
{
	return towards(eval, args, true);
}

/* From a to b inclusive; the sign of the step is that of b - a. */
static const struct value *
range(struct eval *eval, int64_t a, int64_t b, int64_t step)
{
	struct value *out = value_array(eval->arena, 0);
	int64_t i = a;

	for (;;) {
		arena_step(eval->arena, 1);
		if (a <= b ? i > b : i < b)
			return out;
		value_append(eval->arena, out, value_int(eval->arena, i));
		if (a <= b ? __builtin_add_overflow(i, step, &i) :
		    __builtin_sub_overflow(i, step, &i))
			return out;
	}
}

static const struct value *
call_range(struct eval *eval, const struct value *const *args)
{
	int64_t a, b;

	if (!builtin_want_int(eval, args, 0, &a) ||
	    !builtin_want_int(eval, args, 1, &b))
		return NULL;
	return range(eval, a, b, 1);
}

static const struct value *
call_range_step(struct eval *eval, const struct value *const *args)
{
	int64_t a, b, step;

	if (!builtin_want_int(eval, args, 0, &a) ||
	    !builtin_want_int(eval, args, 1, &b) ||
	    !builtin_want(eval, args, 2, VALUE_NUMBER))
		return NULL;
	/* A step beyond 64 bits goes beyond every range. */
	if (!num_integral(args[2]))
		return eval_operand_error(eval, 3, "must be integer number "
		    "but got floating-point number");
	if (!num_to_int64(args[2], &step))
		step = num_compare(args[2], value_int(eval->arena, 0)) > 0 ?
		    INT64_MAX : -1;
	if (step <= 0)
		return eval_error(eval, "step must be a positive integer");
	return range(eval, a, b, step);
}

const struct builtin builtins_arith[] = {
	{ "plus", 2, 2, call_plus, false },
	{ "minus", 2, 2, call_minus, false },
	{ "mul", 2, 2, call_mul, false },
	{ "div", 2, 2, call_div, false },
	{ "rem", 2, 2, call_rem, false },
	{ "abs", 1, 1, call_abs, false },
	{ "round", 1, 1, call_round, false },
	{ "ceil", 1, 1, call_ceil, false },
	{ "floor", 1, 1, call_floor, false },
	{ "numbers.range", 2, 2, call_range, false },
	{ "numbers.range_step", 3, 3, call_range_step, false },
	{ NULL, 0, 0, NULL, false }
};
