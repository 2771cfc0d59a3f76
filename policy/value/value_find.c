/* Objects and sets: an item is found, and put where it belongs. */
#include <string.h>

#include "policy/value/number.h"
#include "policy/value/value_impl.h"

/* Up to here an item out of order moves the others; above, order waits until
 * somebody iterates and a hash table finds the items. */
#define MOVE_MAX 256

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
	for (i = 0; i < v->col.n * value_stride(v); i++)
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
		return find_string(v->col.items, v->col.n, value_stride(v), key,
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
	size_t width = value_stride(v), i = v->col.n * width;

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
	value_reserve_one(arena, v);
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
	value_reserve_one(arena, v);
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
