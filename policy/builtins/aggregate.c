#include "policy/plan/builtin.h"
#include "policy/value/utf8.h"

static const struct value *
call_count(struct eval *eval, const struct value *const *args)
{
	const struct value *v = args[0];

	if (v->kind == VALUE_STRING) {
		arena_step(eval->arena, v->str.n / 64);
		return value_int(eval->arena,
		    (int64_t)utf8_count(v->str.p, v->str.n));
	}
	if (value_is_collection(v))
		return value_int(eval->arena, v->col.n);
	return eval_type_error(eval, 1, "array, object, set, string", v);
}

/* An array or a set, in order. */
static bool
want_list(struct eval *eval, const struct value *v)
{
	if (v->kind != VALUE_ARRAY && v->kind != VALUE_SET) {
		eval_type_error(eval, 1, "array, set", v);
		return false;
	}
	value_sort(eval->arena, v);
	arena_step(eval->arena, v->col.n);
	return true;
}

static const struct value *
fold(struct eval *eval, const struct value *list, char op, int64_t start)
{
	const struct value *total = value_int(eval->arena, start);
	const char *error = NULL;
	uint32_t i;

	if (!want_list(eval, list))
		return NULL;
	for (i = 0; i < list->col.n; i++) {
		const struct value *v = list->col.items[i];

		if (v->kind != VALUE_NUMBER) {
			eval_error(eval, "operand 1 must be %s of numbers but "
			    "got %s containing %s", value_type_name(list),
			    value_type_name(list), value_type_name(v));
			eval->status = EVAL_TYPE_ERROR;
			return NULL;
		}
		total = num_arith(eval->arena, op, total, v, &error);
		if (total == NULL)
			return eval_error(eval, "%s", error);
	}
	return total;
}

static const struct value *
call_sum(struct eval *eval, const struct value *const *args)
{
	return fold(eval, args[0], '+', 0);
}

static const struct value *
call_product(struct eval *eval, const struct value *const *args)
{
	return fold(eval, args[0], 'x', 1);
}

static const struct value *
extreme(struct eval *eval, const struct value *list, int sign)
{
	const struct value *best;
	uint32_t i;

	if (!want_list(eval, list) || list->col.n == 0)
		return NULL;
	best = list->col.items[0];
	/* For OPA null is nothing yet when it looks for the least of a set. */
	if (sign < 0 && list->kind == VALUE_SET && list->col.n > 1 &&
	    best->kind == VALUE_NULL)
		return list->col.items[1];
	for (i = 1; i < list->col.n; i++)
		if (value_compare(eval->arena, list->col.items[i], best) *
		    sign > 0)
			best = list->col.items[i];
	return best;
}

static const struct value *
call_max(struct eval *eval, const struct value *const *args)
{
	return extreme(eval, args[0], 1);
}

static const struct value *
call_min(struct eval *eval, const struct value *const *args)
{
	return extreme(eval, args[0], -1);
}

static const struct value *
call_sort(struct eval *eval, const struct value *const *args)
{
	const struct value *list = args[0];
	struct value *out;
	uint32_t i;

	if (!want_list(eval, list))
		return NULL;
	out = value_array(eval->arena, list->col.n);
	for (i = 0; i < list->col.n; i++)
		value_append(eval->arena, out, list->col.items[i]);
	out->unsorted = out->col.n > 1;
	value_sort(eval->arena, out);
	return out;
}

static const struct value *
quantify(struct eval *eval, const struct value *list, bool all)
{
	bool held = all;
	uint32_t i;

	if (!want_list(eval, list))
		return NULL;
	for (i = 0; i < list->col.n && held == all; i++)
		held = list->col.items[i]->kind == VALUE_BOOL &&
		    list->col.items[i]->truth;
	return value_bool(held);
}

static const struct value *
call_all(struct eval *eval, const struct value *const *args)
{
	return quantify(eval, args[0], true);
}

static const struct value *
call_any(struct eval *eval, const struct value *const *args)
{
	return quantify(eval, args[0], false);
}

/* x in collection */
static const struct value *
call_member_2(struct eval *eval, const struct value *const *args)
{
	const struct value *in = args[1];
	uint32_t i;

	if (!value_is_collection(in))
		return &value_false;
	if (in->kind == VALUE_SET)
		return value_bool(value_has(eval->arena, in, args[0]));
	arena_step(eval->arena, in->col.n);
	for (i = 0; i < in->col.n; i++)
		if (value_compare(eval->arena, value_at(in, i), args[0]) == 0)
			return &value_true;
	return &value_false;
}

/* key, x in collection */
static const struct value *
call_member_3(struct eval *eval, const struct value *const *args)
{
	const struct value *at = NULL;

	if (value_is_collection(args[2]))
		at = value_get(eval->arena, args[2], args[0]);
	return value_bool(at != NULL &&
	    value_compare(eval->arena, at, args[1]) == 0);
}

const struct builtin builtins_aggregate[] = {
	{ "count", 1, 1, call_count, false },
	{ "sum", 1, 1, call_sum, false },
	{ "product", 1, 1, call_product, false },
	{ "max", 1, 1, call_max, false },
	{ "min", 1, 1, call_min, false },
	{ "sort", 1, 1, call_sort, false },
	{ "all", 1, 1, call_all, false },
	{ "any", 1, 1, call_any, false },
	{ "internal.member_2", 2, 2, call_member_2, false },
	{ "internal.member_3", 3, 3, call_member_3, false },
	{ NULL, 0, 0, NULL, false }
};
