#include "policy/plan/builtin.h"

static const struct value *
call_get(struct eval *eval, const struct value *const *args)
{
	const struct value *v = args[0];
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_OBJECT))
		return NULL;
	if (args[1]->kind != VALUE_ARRAY) {
		v = value_get(eval->arena, v, args[1]);
		return v != NULL ? v : args[2];
	}
	arena_step(eval->arena, args[1]->col.n);
	for (i = 0; i < args[1]->col.n && v != NULL; i++)
		v = value_is_collection(v) ?
		    value_get(eval->arena, v, args[1]->col.items[i]) : NULL;
	return v != NULL ? v : args[2];
}

static const struct value *
call_keys(struct eval *eval, const struct value *const *args)
{
	struct value *out;
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_OBJECT))
		return NULL;
	value_sort(eval->arena, args[0]);
	arena_step(eval->arena, args[0]->col.n);
	out = value_set(eval->arena, args[0]->col.n);
	for (i = 0; i < args[0]->col.n; i++)
		value_add(eval->arena, out, value_key_at(args[0], i));
	return out;
}

/* The keys that an array, set or object names; NULL after a type error. */
static const struct value *
keys_of(struct eval *eval, const struct value *v)
{
	struct value *out;
	uint32_t i;

	if (!value_is_collection(v))
		return eval_type_error(eval, 2, "object, set, array", v);
	if (v->kind == VALUE_SET)
		return v;
	value_sort(eval->arena, v);
	arena_step(eval->arena, v->col.n);
	out = value_set(eval->arena, v->col.n);
	for (i = 0; i < v->col.n; i++)
		value_add(eval->arena, out, value_key_at(v, i));
	return out;
}

static const struct value *
select_keys(struct eval *eval, const struct value *const *args, bool listed)
{
	const struct value *keys;
	struct value *out;
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_OBJECT) ||
	    (keys = keys_of(eval, args[1])) == NULL)
		return NULL;
	value_sort(eval->arena, args[0]);
	arena_step(eval->arena, args[0]->col.n);
	out = value_object(eval->arena, 0);
	for (i = 0; i < args[0]->col.n; i++)
		if (value_has(eval->arena, keys, value_key_at(args[0], i)) ==
		    listed)
			value_put(eval->arena, out, value_key_at(args[0], i),
			    value_at(args[0], i));
	return out;
}

static const struct value *
call_remove(struct eval *eval, const struct value *const *args)
{
	return select_keys(eval, args, false);
}

static const struct value *
call_filter(struct eval *eval, const struct value *const *args)
{
	return select_keys(eval, args, true);
}

/* b over a, objects within objects merged. */
static const struct value *
merge(struct eval *eval, const struct value *a, const struct value *b,
    unsigned depth)
{
	struct value *out;
	const struct value *key, *old;
	uint32_t i;

	if (a->kind != VALUE_OBJECT || b->kind != VALUE_OBJECT)
		return b;
	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(eval->arena, "value nested too deeply");
	value_sort(eval->arena, a);
	value_sort(eval->arena, b);
	arena_step(eval->arena, a->col.n + b->col.n);
	out = value_object(eval->arena, a->col.n + b->col.n);
	for (i = 0; i < a->col.n; i++)
		value_put(eval->arena, out, value_key_at(a, i),
		    value_at(a, i));
	for (i = 0; i < b->col.n; i++) {
		key = value_key_at(b, i);
		old = value_get(eval->arena, a, key);
		value_put(eval->arena, out, key, old == NULL ? value_at(b, i) :
		    merge(eval, old, value_at(b, i), depth + 1));
	}
	return out;
}

static const struct value *
call_union(struct eval *eval, const struct value *const *args)
{
	if (!builtin_want(eval, args, 0, VALUE_OBJECT) ||
	    !builtin_want(eval, args, 1, VALUE_OBJECT))
		return NULL;
	return merge(eval, args[0], args[1], 0);
}

static const struct value *
call_union_n(struct eval *eval, const struct value *const *args)
{
	const struct value *out = value_object(eval->arena, 0);
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_ARRAY))
		return NULL;
	for (i = 0; i < args[0]->col.n; i++) {
		if (args[0]->col.items[i]->kind != VALUE_OBJECT) {
			eval_error(eval, "operand 1 must be array of objects "
			    "but got array containing %s",
			    value_type_name(args[0]->col.items[i]));
			eval->status = EVAL_TYPE_ERROR;
			return NULL;
		}
		out = merge(eval, out, args[0]->col.items[i], 0);
	}
	return out;
}

static bool subset(struct eval *, const struct value *, const struct value *,
    unsigned);

/* Every key of b is in a, with an equal value or a subset of it. */
static bool
object_subset(struct eval *eval, const struct value *a, const struct value *b,
    unsigned depth)
{
	const struct value *in_a;
	uint32_t i;

	value_sort(eval->arena, b);
	arena_step(eval->arena, b->col.n);
	for (i = 0; i < b->col.n; i++) {
		in_a = value_get(eval->arena, a, value_key_at(b, i));
		if (in_a == NULL || !subset(eval, in_a, value_at(b, i),
		    depth + 1))
			return false;
	}
	return true;
}

static bool
set_subset(struct eval *eval, const struct value *a, const struct value *b)
{
	uint32_t i;

	value_sort(eval->arena, b);
	arena_step(eval->arena, b->col.n);
	for (i = 0; i < b->col.n; i++)
		if (!value_has(eval->arena, a, value_at(b, i)))
			return false;
	return true;
}

/* b is a run of consecutive elements of a. */
static bool
array_subset(struct eval *eval, const struct value *a, const struct value *b)
{
	uint32_t at, i;

	if (b->col.n > a->col.n)
		return false;
	for (at = 0; at <= a->col.n - b->col.n; at++) {
		arena_step(eval->arena, 1);
		for (i = 0; i < b->col.n; i++)
			if (value_compare(eval->arena, a->col.items[at + i],
			    b->col.items[i]) != 0)
				break;
		if (i == b->col.n)
			return true;
	}
	return false;
}

static bool
array_has_set(struct eval *eval, const struct value *a, const struct value *b)
{
	struct value *elements = value_set(eval->arena, a->col.n);
	uint32_t i;

	arena_step(eval->arena, a->col.n);
	for (i = 0; i < a->col.n; i++)
		value_add(eval->arena, elements, a->col.items[i]);
	/* In OPA nothing is in an empty array, not even the empty set. */
	return a->col.n > 0 && set_subset(eval, elements, b);
}

static bool
subset(struct eval *eval, const struct value *a, const struct value *b,
    unsigned depth)
{
	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(eval->arena, "value nested too deeply");
	if (a->kind == VALUE_OBJECT && b->kind == VALUE_OBJECT)
		return object_subset(eval, a, b, depth);
	if (a->kind == VALUE_SET && b->kind == VALUE_SET)
		return set_subset(eval, a, b);
	if (a->kind == VALUE_ARRAY && b->kind == VALUE_ARRAY)
		return array_subset(eval, a, b);
	return value_compare(eval->arena, a, b) == 0;
}

static const struct value *
call_subset(struct eval *eval, const struct value *const *args)
{
	const struct value *a = args[0], *b = args[1];

	if (a->kind == VALUE_ARRAY && b->kind == VALUE_SET)
		return value_bool(array_has_set(eval, a, b));
	if (!value_is_collection(a) || a->kind != b->kind) {
		eval_error(eval, "both arguments object.subset must be of the "
		    "same type or array and set");
		eval->status = EVAL_TYPE_ERROR;
		return NULL;
	}
	return value_bool(subset(eval, a, b, 0));
}

const struct builtin builtins_object[] = {
	{ "object.get", 3, 3, call_get, false },
	{ "object.keys", 1, 1, call_keys, false },
	{ "object.remove", 2, 2, call_remove, false },
	{ "object.filter", 2, 2, call_filter, false },
	{ "object.union", 2, 2, call_union, false },
	{ "object.union_n", 1, 1, call_union_n, false },
	{ "object.subset", 2, 2, call_subset, false },
	{ NULL, 0, 0, NULL, false }
};
