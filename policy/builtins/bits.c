#include "policy/builtin.h"

/* OPA has integers of any size here; we have 64 bits and say so. */

static bool
operands(struct eval *eval, const struct value *const *args, int64_t *a,
    int64_t *b)
{
	return builtin_want_int(eval, args, 0, a) &&
	    builtin_want_int(eval, args, 1, b);
}

static const struct value *
call_and(struct eval *eval, const struct value *const *args)
{
	int64_t a, b;

	return operands(eval, args, &a, &b) ? value_int(eval->arena, a & b) :
	    NULL;
}

static const struct value *
call_or(struct eval *eval, const struct value *const *args)
{
	int64_t a, b;

	return operands(eval, args, &a, &b) ? value_int(eval->arena, a | b) :
	    NULL;
}

static const struct value *
call_xor(struct eval *eval, const struct value *const *args)
{
	int64_t a, b;

	return operands(eval, args, &a, &b) ? value_int(eval->arena, a ^ b) :
	    NULL;
}

static const struct value *
call_negate(struct eval *eval, const struct value *const *args)
{
	int64_t a;

	return builtin_want_int(eval, args, 0, &a) ?
	    value_int(eval->arena, ~a) : NULL;
}

static bool
shift(struct eval *eval, const struct value *const *args, int64_t *a,
    int64_t *b)
{
	if (!operands(eval, args, a, b))
		return false;
	if (*b >= 0)
		return true;
	eval_error(eval, "operand 2 must be an unsigned integer number but "
	    "got a negative integer");
	eval->status = EVAL_TYPE_ERROR;
	return false;
}

/* By doubling as the numbers do it: exact below 2^63, a float above. */
static const struct value *
call_lsh(struct eval *eval, const struct value *const *args)
{
	const struct value *v;
	struct flt f;
	int64_t a, b;

	if (!shift(eval, args, &a, &b))
		return NULL;
	f = flt_from_int(a);
	if (f.mant == 0)
		return args[0];
	if (b > 3 * NUM_EXPONENT_MAX)
		return eval_error(eval, "number out of range");
	f.exp += (int32_t)b;
	v = num_from_flt(eval->arena, f);
	return v != NULL ? v : eval_error(eval, "number out of range");
}

static const struct value *
call_rsh(struct eval *eval, const struct value *const *args)
{
	int64_t a, b;

	if (!shift(eval, args, &a, &b))
		return NULL;
	return value_int(eval->arena, b > 62 ? (a < 0 ? -1 : 0) : a >> b);
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
