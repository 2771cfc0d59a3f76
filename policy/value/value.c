#include <string.h>

#include "policy/value/number.h"
#include "policy/value/value.h"

/* Up to here an item out of order moves the others; above, order waits until
 * somebody iterates and a hash table finds the items. */
#define MOVE_MAX 256

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

static size_t
stride(const struct value *v)
{
	return v->kind == VALUE_OBJECT ? 2 : 1;
}

static struct value *
collection(struct arena *arena, enum value_kind kind, size_t cap)
{
	struct value *v = value_new(arena, kind);

	if (cap > UINT32_MAX / 4)
		arena_fail(arena, "collection too large");
	v->cap = (uint32_t)cap;
	if (cap > 0)
		v->col.items = arena_array(arena, cap * stride(v),
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

static void
grow(struct arena *arena, struct value *v)
{
	const struct value **items;
	uint32_t cap;

	if (v->cap > UINT32_MAX / 8)
		arena_fail(arena, "collection too large");
	cap = v->cap < 4 ? 4 : v->cap * 2;
	items = arena_array(arena, cap * stride(v), sizeof(*items));
	if (v->col.n > 0)
		memcpy(items, v->col.items,
		    v->col.n * stride(v) * sizeof(*items));
	v->col.items = items;
	v->cap = cap;
}

static inline void
reserve_one(struct arena *arena, struct value *v)
{
	if (v->frozen || v->fixed)
		arena_fail(arena, "the plan changes a value that others hold");
	if (v->col.n == v->cap)
		grow(arena, v);
}

void
value_append(struct arena *arena, struct value *array,
    const struct value *item)
{
	reserve_one(arena, array);
	array->col.items[array->col.n++] = item;
}

/* --- order ------------------------------------------------------------ */

static int compare(struct arena *, const struct value *, const struct value *,
    unsigned);

static inline int
compare_strings(const struct value *a, const struct value *b)
{
	size_t n = a->str.n < b->str.n ? a->str.n : b->str.n;
	int c;

	/* Most differ in the first byte: no need to call anything. */
	if (n > 0 && a->str.p[0] != b->str.p[0])
		return (unsigned char)a->str.p[0] -
		    (unsigned char)b->str.p[0];
	c = n > 1 ? memcmp(a->str.p, b->str.p, n) : 0;
	if (c != 0)
		return c;
	return a->str.n < b->str.n ? -1 : a->str.n > b->str.n;
}

static int
compare_items(struct arena *arena, const struct value *a,
    const struct value *b, unsigned depth)
{
	size_t na = a->col.n * stride(a), nb = b->col.n * stride(b), i;
	int c;

	value_sort(arena, a);
	value_sort(arena, b);
	for (i = 0; i < na && i < nb; i++) {
		c = compare(arena, a->col.items[i], b->col.items[i], depth);
		if (c != 0)
			return c;
	}
	return na < nb ? -1 : na > nb;
}

/* Key and value, pair by pair; then the shorter one comes first. */
static int
compare_objects(struct arena *arena, const struct value *a,
    const struct value *b, unsigned depth)
{
	uint32_t na = a->col.n, nb = b->col.n, i;
	int c;

	value_sort(arena, a);
	value_sort(arena, b);
	for (i = 0; i < na && i < nb; i++) {
		c = compare(arena, value_key_at(a, i), value_key_at(b, i),
		    depth);
		if (c != 0)
			return c;
		c = compare(arena, value_at(a, i), value_at(b, i), depth);
		if (c != 0)
			return c;
	}
	return na < nb ? -1 : na > nb;
}

static int
compare(struct arena *arena, const struct value *a, const struct value *b,
    unsigned depth)
{
	if (a == b)
		return 0;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	switch ((enum value_kind)a->kind) {
	case VALUE_NULL:
		return 0;
	case VALUE_BOOL:
		return (int)a->truth - (int)b->truth;
	case VALUE_NUMBER:
		return num_compare(a, b);
	case VALUE_STRING:
		return compare_strings(a, b);
	case VALUE_ARRAY:
	case VALUE_OBJECT:
	case VALUE_SET:
		break;
	}
	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(arena, "value nested too deeply to compare");
	arena_step(arena, 1 + a->col.n / 8);
	return a->kind == VALUE_OBJECT ?
	    compare_objects(arena, a, b, depth + 1) :
	    compare_items(arena, a, b, depth + 1);
}

int
value_compare(struct arena *arena, const struct value *a,
    const struct value *b)
{
	if (a->kind == VALUE_STRING && b->kind == VALUE_STRING)
		return a == b ? 0 : compare_strings(a, b);
	return compare(arena, a, b, 0);
}

static void
merge(struct arena *arena, const struct value **from, const struct value **to,
    size_t left, size_t middle, size_t right, size_t width)
{
	size_t i = left, j = middle, k;

	for (k = left; k < right; k++) {
		bool first = i < middle && (j >= right || value_compare(arena,
		    from[i * width], from[j * width]) <= 0);
		size_t *source = first ? &i : &j;

		memcpy(&to[k * width], &from[*source * width],
		    width * sizeof(*to));
		(*source)++;
	}
}

/* Bottom-up merge sort: n log n whatever the input. */
static void
sort_items(struct arena *arena, struct value *v)
{
	size_t width = stride(v), n = v->col.n, run, left;
	const struct value **from = v->col.items, **to, **swap;

	arena_step(arena, n);
	to = arena_array(arena, n * width, sizeof(*to));
	for (run = 1; run < n; run *= 2) {
		for (left = 0; left < n; left += 2 * run) {
			size_t middle = left + run < n ? left + run : n;
			size_t right = middle + run < n ? middle + run : n;

			merge(arena, from, to, left, middle, right, width);
		}
		swap = from;
		from = to;
		to = swap;
	}
	v->col.items = from;
	if (v->cap > n)
		v->cap = (uint32_t)n;
}

void
value_sort(struct arena *arena, const struct value *collection)
{
	/* Order is not part of the value: a reader may establish it. */
	struct value *v = (struct value *)(uintptr_t)collection;

	if (!v->unsorted)
		return;
	sort_items(arena, v);
	v->unsorted = false;
	v->col.table = NULL;
	v->col.mask = 0;
}

/* --- look-up ---------------------------------------------------------- */

/* The index of key, or of the first greater one. */
static uint32_t
search(struct arena *arena, const struct value *v, const struct value *key,
    bool *found)
{
	uint32_t low = 0, high = v->col.n;

	*found = false;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int c = value_compare(arena, value_key_at(v, middle), key);

		if (c == 0) {
			*found = true;
			return middle;
		}
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t
mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ (h >> 29);
}

static uint64_t
hash_bytes(const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u ^ n;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ (uint8_t)p[i]) * 0x100000001b3u;
	return h;
}

static uint64_t
hash(struct arena *arena, const struct value *v, unsigned depth)
{
	uint64_t h = v->kind + 1;
	size_t i;

	switch ((enum value_kind)v->kind) {
	case VALUE_NULL:
		return h;
	case VALUE_BOOL:
		return mix(h, v->truth);
	case VALUE_NUMBER:
		return mix(h, num_hash(v));
	case VALUE_STRING:
		return mix(h, hash_bytes(v->str.p, v->str.n));
	case VALUE_ARRAY:
	case VALUE_OBJECT:
	case VALUE_SET:
		break;
	}
	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(arena, "value nested too deeply");
	value_sort(arena, v);
	arena_step(arena, 1 + v->col.n / 8);
	for (i = 0; i < v->col.n * stride(v); i++)
		h = mix(h, hash(arena, v->col.items[i], depth + 1));
	return h;
}

uint64_t
value_hash(struct arena *arena, const struct value *value)
{
	return hash(arena, value, 0);
}

static void
table_enter(struct value *v, uint64_t h, uint32_t index)
{
	uint32_t slot = (uint32_t)(h >> 16) & v->col.mask;

	while (v->col.table[slot] != 0)
		slot = (slot + 1) & v->col.mask;
	v->col.table[slot] = index + 1;
}

static void
table_build(struct arena *arena, struct value *v)
{
	uint32_t size = 1024, i;

	while (size < v->cap * 2)
		size *= 2;
	v->col.table = arena_array(arena, size, sizeof(*v->col.table));
	memset(v->col.table, 0, size * sizeof(*v->col.table));
	v->col.mask = size - 1;
	for (i = 0; i < v->col.n; i++)
		table_enter(v, value_hash(arena, value_key_at(v, i)), i);
}

static bool
table_find(struct arena *arena, const struct value *v,
    const struct value *key, uint64_t h, uint32_t *index)
{
	uint32_t slot = (uint32_t)(h >> 16) & v->col.mask;

	for (; v->col.table[slot] != 0; slot = (slot + 1) & v->col.mask) {
		*index = v->col.table[slot] - 1;
		if (value_compare(arena, value_key_at(v, *index), key) == 0)
			return true;
	}
	return false;
}

#define FEW 16	/* so few that looking at each costs less than halving */

/* Short texts, as names are, compared without a call. */
static inline bool
same_text(const char *a, const char *b, size_t n)
{
	uint64_t wide[4];
	uint32_t half[4];

	if (n > 16)
		return memcmp(a, b, n) == 0;
	if (n >= 8) {
		memcpy(&wide[0], a, 8);
		memcpy(&wide[1], b, 8);
		memcpy(&wide[2], a + n - 8, 8);
		memcpy(&wide[3], b + n - 8, 8);
		return wide[0] == wide[1] && wide[2] == wide[3];
	}
	if (n >= 4) {
		memcpy(&half[0], a, 4);
		memcpy(&half[1], b, 4);
		memcpy(&half[2], a + n - 4, 4);
		memcpy(&half[3], b + n - 4, 4);
		return half[0] == half[1] && half[2] == half[3];
	}
	return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] &&
	    a[n - 1] == b[n - 1]);
}

/* The wanted string (not empty) among a few keys, width apart.  Most others
 * differ in length or at once. */
static bool
find_string(const struct value *const *keys, uint32_t n, size_t width,
    const struct value *key, uint32_t *index)
{
	size_t len = key->str.n;
	char first = key->str.p[0];

	for (uint32_t i = 0; i < n; i++, keys += width) {
		const struct value *at = *keys;

		if (at == key || (at->kind == VALUE_STRING &&
		    at->str.n == len && at->str.p[0] == first &&
		    same_text(at->str.p, key->str.p, len))) {
			*index = i;
			return true;
		}
	}
	return false;
}

static bool
find(struct arena *arena, const struct value *v, const struct value *key,
    uint32_t *index)
{
	bool found;

	if (v->unsorted)
		return table_find(arena, v, key, value_hash(arena, key), index);
	if (key->kind == VALUE_STRING && key->str.n > 0 && v->col.n <= FEW)
		return find_string(v->col.items, v->col.n, stride(v), key,
		    index);
	*index = search(arena, v, key, &found);
	return found;
}

const struct value *
value_get(struct arena *arena, const struct value *from,
    const struct value *key)
{
	uint32_t i;

	switch ((enum value_kind)from->kind) {
	case VALUE_ARRAY:
		if (key->kind != VALUE_NUMBER || !key->is_int ||
		    key->num.i < 0 || key->num.i >= from->col.n)
			return NULL;
		return from->col.items[key->num.i];
	case VALUE_OBJECT:
	case VALUE_SET:
		return find(arena, from, key, &i) ? value_at(from, i) : NULL;
	default:
		return NULL;
	}
}

bool
value_has(struct arena *arena, const struct value *set,
    const struct value *item)
{
	uint32_t i;

	return find(arena, set, item, &i);
}

const struct value *
value_member(const struct value *object, const char *name)
{
	size_t n = strlen(name);
	uint32_t i;

	if (object == NULL || object->kind != VALUE_OBJECT)
		return NULL;
	for (i = 0; i < object->col.n; i++) {
		const struct value *key = value_key_at(object, i);

		if (key->kind == VALUE_STRING && key->str.n == n &&
		    memcmp(key->str.p, name, n) == 0)
			return value_at(object, i);
	}
	return NULL;
}

/* --- insertion -------------------------------------------------------- */

static void
place(struct value *v, uint32_t at, const struct value *key,
    const struct value *item)
{
	size_t width = stride(v), i = v->col.n * width;

	for (; i > at * width; i--)	/* few: memmove() costs more */
		v->col.items[i + width - 1] = v->col.items[i - 1];
	v->col.items[at * width] = key;
	if (width == 2)
		v->col.items[at * width + 1] = item;
	v->col.n++;
}

static void
insert_unsorted(struct arena *arena, struct value *v, const struct value *key,
    const struct value *item)
{
	uint64_t h = value_hash(arena, key);
	uint32_t i;

	if (table_find(arena, v, key, h, &i)) {
		if (v->kind == VALUE_OBJECT)
			v->col.items[2 * (size_t)i + 1] = item;
		return;
	}
	reserve_one(arena, v);
	place(v, v->col.n, key, item);
	if (v->col.n * 2 > v->col.mask)
		table_build(arena, v);
	else
		table_enter(v, h, v->col.n - 1);
}

static void
insert(struct arena *arena, struct value *v, const struct value *key,
    const struct value *item)
{
	uint32_t n = v->col.n, at = n;
	bool found = false;

	if (v->frozen || v->fixed)
		arena_fail(arena, "the plan changes a value that others hold");
	if (!v->unsorted && n > 0 &&
	    value_compare(arena, value_key_at(v, n - 1), key) >= 0) {
		at = search(arena, v, key, &found);
		if (found) {
			if (v->kind == VALUE_OBJECT)
				v->col.items[2 * (size_t)at + 1] = item;
			return;
		}
		if (n >= MOVE_MAX) {
			table_build(arena, v);
			v->unsorted = true;
		}
	}
	if (v->unsorted) {
		insert_unsorted(arena, v, key, item);
		return;
	}
	reserve_one(arena, v);
	place(v, at, key, item);
}

void
value_put(struct arena *arena, struct value *object, const struct value *key,
    const struct value *item)
{
	insert(arena, object, key, item);
}

void
value_add(struct arena *arena, struct value *set, const struct value *item)
{
	insert(arena, set, item, item);
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
		for (i = 0; i < v->col.n * stride(v); i++)
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
	for (size_t i = 0; i < v->col.n * stride(v); i++)
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
		n = v->col.n * stride(v);
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
