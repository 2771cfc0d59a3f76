#include "policy/plan/builtin.h"

static void
append_all(struct eval *eval, struct value *to, const struct value *from)
{
	uint32_t i;

	arena_step(eval->arena, from->col.n);
	for (i = 0; i < from->col.n; i++)
		value_append(eval->arena, to, from->col.items[i]);
}

static const struct value *
call_concat(struct eval *eval, const struct value *const *args)
{
	struct value *out;

	if (!builtin_want(eval, args, 0, VALUE_ARRAY) ||
	    !builtin_want(eval, args, 1, VALUE_ARRAY))
		return NULL;
	out = value_array(eval->arena, args[0]->col.n + args[1]->col.n);
	append_all(eval, out, args[0]);
	append_all(eval, out, args[1]);
	return out;
}

static const struct value *
call_slice(struct eval *eval, const struct value *const *args)
{
	int64_t start, stop, n;
	struct value *out;

	if (!builtin_want(eval, args, 0, VALUE_ARRAY) ||
	    !builtin_want_int(eval, args, 1, &start) ||
	    !builtin_want_int(eval, args, 2, &stop))
		return NULL;
	n = args[0]->col.n;
	stop = stop < 0 ? 0 : stop > n ? n : stop;
	start = start < 0 ? 0 : start > stop ? stop : start;
	arena_step(eval->arena, (uint64_t)(stop - start));
	out = value_array(eval->arena, (size_t)(stop - start));
	for (; start < stop; start++)
		value_append(eval->arena, out, args[0]->col.items[start]);
	return out;
}

static const struct value *
call_reverse(struct eval *eval, const struct value *const *args)
{
	struct value *out;
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_ARRAY))
		return NULL;
	arena_step(eval->arena, args[0]->col.n);
	out = value_array(eval->arena, args[0]->col.n);
	for (i = args[0]->col.n; i > 0; i--)
		value_append(eval->arena, out, args[0]->col.items[i - 1]);
	return out;
}

/* One level: elements that are arrays give their elements. */
static const struct value *
call_flatten(struct eval *eval, const struct value *const *args)
{
	struct value *out;
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_ARRAY))
		return NULL;
	out = value_array(eval->arena, args[0]->col.n);
	for (i = 0; i < args[0]->col.n; i++) {
		const struct value *v = args[0]->col.items[i];

		arena_step(eval->arena, 1);
		if (v->kind == VALUE_ARRAY)
			append_all(eval, out, v);
		else
			value_append(eval->arena, out, v);
	}
	return out;
}

const struct builtin builtins_array[] = {
	{ "array.concat", 2, 2, call_concat, false },
	{ "array.slice", 3, 3, call_slice, false },
	{ "array.reverse", 1, 1, call_reverse, false },
	{ "array.flatten", 1, 1, call_flatten, false },
	{ NULL, 0, 0, NULL, false }
};
