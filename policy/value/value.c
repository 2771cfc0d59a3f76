#include <string.h>

#include "policy/value/number.h"
#include "policy/value/value_impl.h"

const struct value value_null = { .kind = VALUE_NULL, .frozen = true };
const struct value value_true = {
	.kind = VALUE_BOOL, .truth = true, .frozen = true
};
const struct value value_false = { .kind = VALUE_BOOL, .frozen = true };
const struct value value_empty_string = VALUE_STRING_LITERAL("");

#define INT(n) { .kind = VALUE_NUMBER, .is_int = true, .frozen = true, \
	.num = { .i = (n) } }
static const struct value small_ints[] = {
	INT(-1), INT(0), INT(1), INT(2), INT(3), INT(4), INT(5), INT(6), INT(7),
	INT(8), INT(9), INT(10), INT(11), INT(12), INT(13), INT(14), INT(15)
};
#undef INT

const struct value *
value_bool(bool truth)
{
	return truth ? &value_true : &value_false;
}

static struct value *
value_new(struct arena *arena, enum value_kind kind)
{
	struct value *v = arena_alloc(arena, sizeof(*v));

	memset(v, 0, sizeof(*v));
	v->kind = (uint8_t)kind;
	return v;
}

const struct value *
value_int(struct arena *arena, int64_t i)
{
	struct value *v;

	if (i >= -1 && i <= 15)
		return &small_ints[i + 1];
	v = value_new(arena, VALUE_NUMBER);
	v->is_int = true;
	v->num.i = i;
	return v;
}

const struct value *
value_number(struct arena *arena, const char *p, size_t n)
{
	struct value *v;
	int64_t i;

	if (n > UINT32_MAX)
		arena_fail(arena, "number too long");
	if (num_text_int64(p, n, &i) && !(i == 0 && n > 1))
		return value_int(arena, i);
	v = value_new(arena, VALUE_NUMBER);
	v->is_int = num_text_int64(p, n, &v->num.i);
	v->num.p = p;
	v->num.n = (uint32_t)n;
	return v;
}

const struct value *
value_string(struct arena *arena, const char *p, size_t n)
{
	struct value *v;

	if (n == 0)
		return &value_empty_string;
	v = value_new(arena, VALUE_STRING);
	v->str.p = p;
	v->str.n = n;
	return v;
}

const struct value *
value_string_copy(struct arena *arena, const char *p, size_t n)
{
	return value_string(arena, arena_copy(arena, p, n), n);
}

const struct value *
value_text(struct arena *arena, const char *terminated)
{
	return value_string_copy(arena, terminated, strlen(terminated));
}

static struct value *
collection(struct arena *arena, enum value_kind kind, size_t cap)
{
	struct value *v = value_new(arena, kind);

	if (cap > UINT32_MAX / 4)
		arena_fail(arena, "collection too large");
	v->cap = (uint32_t)cap;
	if (cap > 0)
		v->col.items = arena_array(arena, cap * value_stride(v),
		    sizeof(v->col.items[0]));
	return v;
}

struct value *
value_array(struct arena *arena, size_t cap)
{
	return collection(arena, VALUE_ARRAY, cap);
}

struct value *
value_object(struct arena *arena, size_t cap)
{
	return collection(arena, VALUE_OBJECT, cap);
}

struct value *
value_set(struct arena *arena, size_t cap)
{
	return collection(arena, VALUE_SET, cap);
}

void
value_grow(struct arena *arena, struct value *v)
{
	const struct value **items;
	uint32_t cap;

	if (v->cap > UINT32_MAX / 8)
		arena_fail(arena, "collection too large");
	cap = v->cap < 4 ? 4 : v->cap * 2;
	items = arena_array(arena, cap * value_stride(v), sizeof(*items));
	if (v->col.n > 0)
		memcpy(items, v->col.items,
		    v->col.n * value_stride(v) * sizeof(*items));
	v->col.items = items;
	v->cap = cap;
}

void
value_append(struct arena *arena, struct value *array,
    const struct value *item)
{
	value_reserve_one(arena, array);
	array->col.items[array->col.n++] = item;
}

void
value_freeze(struct arena *arena, const struct value *value)
{
	struct value *v = (struct value *)(uintptr_t)value;
	size_t i;

	if (v->frozen)
		return;
	if (value_is_collection(v)) {
		value_sort(arena, v);
		for (i = 0; i < v->col.n * value_stride(v); i++)
			value_freeze(arena, v->col.items[i]);
	}
	v->frozen = true;
}

/* What is fixed or frozen is so all the way down: each part is visited once. */
static void
fix(struct arena *arena, const struct value *value, unsigned depth)
{
	struct value *v = (struct value *)(uintptr_t)value;

	if (v->frozen || v->fixed || !value_is_collection(v))
		return;
	if (depth == 0)
		arena_fail(arena, "values nested too deeply");
	arena_step(arena, v->col.n / 8);
	v->fixed = true;
	for (size_t i = 0; i < v->col.n * value_stride(v); i++)
		fix(arena, v->col.items[i], depth - 1);
}

void
value_fix(struct arena *arena, const struct value *value)
{
	if (value != NULL)
		fix(arena, value, VALUE_DEPTH_MAX);
}

const struct value *
value_copy_frozen(struct arena *arena, const struct value *value)
{
	struct value *v;
	size_t i, n;

	if (value->frozen)
		return value;
	if (value_is_collection(value))
		value_sort(arena, value);
	v = arena_copy(arena, value, sizeof(*value));
	v->frozen = true;
	if (v->kind == VALUE_STRING) {
		v->str.p = arena_copy(arena, value->str.p, value->str.n);
	} else if (v->kind == VALUE_NUMBER && v->num.p != NULL) {
		v->num.p = arena_copy(arena, value->num.p, value->num.n);
	} else if (value_is_collection(v)) {
		n = v->col.n * value_stride(v);
		v->cap = v->col.n;
		v->col.items = arena_array(arena, n, sizeof(*v->col.items));
		for (i = 0; i < n; i++)
			v->col.items[i] = value_copy_frozen(arena,
			    value->col.items[i]);
	}
	return v;
}

const char *
value_type_name(const struct value *value)
{
	static const char *const names[] = {
		"null", "boolean", "number", "string", "array", "object", "set"
	};

	return names[value->kind];
}
