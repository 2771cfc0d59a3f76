#include "policy/plan/builtin.h"

static bool
operand(struct eval *eval, const struct value *const *args, unsigned i,
    struct flt *out)
{
	if (args[i]->kind != VALUE_NUMBER) {
		eval_type_error(eval, i + 1, "integer", args[i]);
		return false;
	}
	if (num_to_integer(eval->arena, args[i], out))
		return true;
	eval_operand_error(eval, i + 1,
	    "must be integer number but got floating-point number");
	return false;
}

static const struct value *
give(struct eval *eval, const struct value *v)
{
	return v != NULL ? v : eval_error(eval, "number out of range");
}

static const struct value *
binary(struct eval *eval, char op, const struct value *const *args)
{
	struct flt a, b;

	if (!operand(eval, args, 0, &a) || !operand(eval, args, 1, &b))
		return NULL;
	return give(eval, num_bits(eval->arena, op, a, b));
}

static const struct value *
call_and(struct eval *eval, const struct value *const *args)
{
	return binary(eval, '&', args);
}

static const struct value *
call_or(struct eval *eval, const struct value *const *args)
{
	return binary(eval, '|', args);
}

static const struct value *
call_xor(struct eval *eval, const struct value *const *args)
{
	return binary(eval, '^', args);
}

static const struct value *
call_negate(struct eval *eval, const struct value *const *args)
{
	struct flt a;

	if (!operand(eval, args, 0, &a))
		return NULL;
	return give(eval, num_bits(eval->arena, '^', a, flt_from_int(-1)));
}

/* *by is at most 2^30: more leaves nothing, or is out of range. */
static bool
shift(struct eval *eval, const struct value *const *args, struct flt *a,
    int32_t *by)
{
	const struct flt most = flt_from_int((int64_t)1 << 30);
	struct flt b;

	if (!operand(eval, args, 0, a) || !operand(eval, args, 1, &b))
		return false;
	if (b.negative && b.mant != 0) {
		eval_operand_error(eval, 2, "must be an unsigned integer "
		    "number but got a negative integer");
		return false;
	}
	if (flt_compare(b, most) > 0)
		b = most;
	*by = b.mant == 0 ? 0 : (int32_t)(b.mant >> -b.exp);
	return true;
}

static const struct value *
call_lsh(struct eval *eval, const struct value *const *args)
{
	struct flt a;
	int32_t by;

	if (!shift(eval, args, &a, &by))
		return NULL;
	if (a.mant != 0)
		a.exp += by;
	return give(eval, num_from_integer(eval->arena, a));
}

/* Towards minus infinity. */
static const struct value *
call_rsh(struct eval *eval, const struct value *const *args)
{
	struct flt a, whole;
	int32_t by;

	if (!shift(eval, args, &a, &by))
		return NULL;
	if (a.mant != 0)
		a.exp -= by;
	whole = flt_truncate(a);
	if (a.negative && flt_compare(whole, a) != 0)
		whole = flt_add(whole, flt_from_int(-1));
	return give(eval, num_from_integer(eval->arena, whole));
}

const struct builtin builtins_bits[] = {
	{ "bits.and", 2, 2, call_and, false },
	{ "bits.or", 2, 2, call_or, false },
	{ "bits.xor", 2, 2, call_xor, false },
	{ "bits.negate", 1, 1, call_negate, false },
	{ "bits.lsh", 2, 2, call_lsh, false },
	{ "bits.rsh", 2, 2, call_rsh, false },
	{ NULL, 0, 0, NULL, false }
};
