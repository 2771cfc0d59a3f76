#include "policy/plan/builtin.h"

static int
order(struct eval *eval, const struct value *const *args)
{
	return value_compare(eval->arena, args[0], args[1]);
}

static const struct value *
call_equal(struct eval *eval, const struct value *const *args)
{
	return value_bool(order(eval, args) == 0);
}

static const struct value *
call_neq(struct eval *eval, const struct value *const *args)
{
	return value_bool(order(eval, args) != 0);
}

static const struct value *
call_lt(struct eval *eval, const struct value *const *args)
{
	return value_bool(order(eval, args) < 0);
}

static const struct value *
call_lte(struct eval *eval, const struct value *const *args)
{
	return value_bool(order(eval, args) <= 0);
}

static const struct value *
call_gt(struct eval *eval, const struct value *const *args)
{
	return value_bool(order(eval, args) > 0);
}

static const struct value *
call_gte(struct eval *eval, const struct value *const *args)
{
	return value_bool(order(eval, args) >= 0);
}

const struct builtin builtins_compare[] = {
	{ "equal", 2, 2, call_equal, false },
	{ "neq", 2, 2, call_neq, false },
	{ "lt", 2, 2, call_lt, false },
	{ "lte", 2, 2, call_lte, false },
	{ "gt", 2, 2, call_gt, false },
	{ "gte", 2, 2, call_gte, false },
	{ NULL, 0, 0, NULL, false }
};
