#include "policy/plan/builtin.h"

static void
add_all(struct eval *eval, struct value *to, const struct value *from)
{
	uint32_t i;

	value_sort(eval->arena, from);
	arena_step(eval->arena, from->col.n);
	for (i = 0; i < from->col.n; i++)
		value_add(eval->arena, to, value_at(from, i));
}

static const struct value *
common(struct eval *eval, const struct value *a, const struct value *b)
{
	struct value *out = value_set(eval->arena, 0);
	uint32_t i;

	value_sort(eval->arena, a);
	arena_step(eval->arena, a->col.n);
	for (i = 0; i < a->col.n; i++)
		if (value_has(eval->arena, b, value_at(a, i)))
			value_add(eval->arena, out, value_at(a, i));
	return out;
}

static bool
want_sets(struct eval *eval, const struct value *const *args)
{
	return builtin_want(eval, args, 0, VALUE_SET) &&
	    builtin_want(eval, args, 1, VALUE_SET);
}

static const struct value *
call_and(struct eval *eval, const struct value *const *args)
{
	return want_sets(eval, args) ? common(eval, args[0], args[1]) : NULL;
}

static const struct value *
call_or(struct eval *eval, const struct value *const *args)
{
	struct value *out;

	if (!want_sets(eval, args))
		return NULL;
	out = value_set(eval->arena, 0);
	add_all(eval, out, args[0]);
	add_all(eval, out, args[1]);
	return out;
}

/* A set of sets, in order. */
static bool
want_set_of_sets(struct eval *eval, const struct value *const *args)
{
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_SET))
		return false;
	value_sort(eval->arena, args[0]);
	for (i = 0; i < args[0]->col.n; i++) {
		if (value_at(args[0], i)->kind == VALUE_SET)
			continue;
		eval_error(eval, "operand 1 must be set of sets but got set "
		    "containing %s", value_type_name(value_at(args[0], i)));
		eval->status = EVAL_TYPE_ERROR;
		return false;
	}
	return true;
}

static const struct value *
call_intersection(struct eval *eval, const struct value *const *args)
{
	const struct value *out;
	uint32_t i;

	if (!want_set_of_sets(eval, args))
		return NULL;
	if (args[0]->col.n == 0)
		return value_set(eval->arena, 0);
	out = value_at(args[0], 0);
	for (i = 1; i < args[0]->col.n; i++)
		out = common(eval, out, value_at(args[0], i));
	return out;
}

static const struct value *
call_union(struct eval *eval, const struct value *const *args)
{
	struct value *out;
	uint32_t i;

	if (!want_set_of_sets(eval, args))
		return NULL;
	out = value_set(eval->arena, 0);
	for (i = 0; i < args[0]->col.n; i++)
		add_all(eval, out, value_at(args[0], i));
	return out;
}

const struct builtin builtins_set[] = {
	{ "and", 2, 2, call_and, false },
	{ "or", 2, 2, call_or, false },
	{ "intersection", 1, 1, call_intersection, false },
	{ "union", 1, 1, call_union, false },
	{ NULL, 0, 0, NULL, false }
};
