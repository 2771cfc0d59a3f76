#include "policy/plan/builtin.h"

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

/* A whole number with all its digits. */
static const struct value *
give_whole(struct eval *eval, struct flt f)
{
	const struct value *v = num_from_integer(eval->arena, f);

	return v != NULL ? v : eval_error(eval, "number out of range");
}

/* Halves go away from zero. */
static const struct value *
call_round(struct eval *eval, const struct value *const *args)
{
	struct flt f;

	if (!operand(eval, args, &f))
		return NULL;
	return give_whole(eval, flt_truncate(flt_add(f, half(f.negative))));
}

/*
 * OPA decides by the sign of what truncation leaves, which of -0.5 is none: so
 * its ceil(-0.5) is 1 and its floor(-0.5) is 0, and so are ours.
 */
static const struct value *
towards(struct eval *eval, const struct value *const *args, bool down)
{
	struct flt f, whole;
	bool negative;

	if (!operand(eval, args, &f))
		return NULL;
	whole = flt_truncate(f);
	negative = whole.negative && whole.mant != 0;
	if (negative == down && flt_compare(whole, f) != 0)
		whole = flt_add(whole, flt_from_int(down ? -1 : 1));
	return give_whole(eval, whole);
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

__extension__ typedef __int128 wide;

/* Integers whose magnitude is below 2^64, whatever their spelling; a step
 * beyond goes beyond every range. */
static bool
want_whole(struct eval *eval, const struct value *const *args, unsigned i,
    bool step, wide *out)
{
	struct flt f;

	if (args[i]->kind != VALUE_NUMBER) {
		eval_type_error(eval, i + 1, "integer", args[i]);
		return false;
	}
	if (!num_to_integer(eval->arena, args[i], &f)) {
		eval_operand_error(eval, i + 1, "must be integer number but "
		    "got floating-point number");
		return false;
	}
	if (f.exp > 0 && step) {
		*out = f.negative ? -1 : (wide)1 << 65;
		return true;
	}
	if (f.exp > 0) {
		eval_error(eval, "number out of range");
		return false;
	}
	*out = f.mant == 0 ? 0 : (wide)(f.mant >> -f.exp);
	if (f.negative)
		*out = -*out;
	return true;
}

static const struct value *
whole_value(struct arena *arena, wide i)
{
	if (i >= INT64_MIN && i <= INT64_MAX)
		return value_int(arena, (int64_t)i);
	return num_from_integer(arena, flt_round(i < 0, 0,
	    (uint64_t)(i < 0 ? -i : i), 0, false));
}

/* From a to b inclusive; the sign of the step is that of b - a. */
static const struct value *
range(struct eval *eval, wide a, wide b, wide step)
{
	struct value *out = value_array(eval->arena, 0);
	wide i;

	for (i = a; a <= b ? i <= b : i >= b; i += a <= b ? step : -step) {
		arena_step(eval->arena, 1);
		value_append(eval->arena, out, whole_value(eval->arena, i));
	}
	return out;
}

static const struct value *
call_range(struct eval *eval, const struct value *const *args)
{
	wide a, b;

	if (!want_whole(eval, args, 0, false, &a) ||
	    !want_whole(eval, args, 1, false, &b))
		return NULL;
	return range(eval, a, b, 1);
}

static const struct value *
call_range_step(struct eval *eval, const struct value *const *args)
{
	wide a, b, step;

	if (!want_whole(eval, args, 0, false, &a) ||
	    !want_whole(eval, args, 1, false, &b) ||
	    !want_whole(eval, args, 2, true, &step))
		return NULL;
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
