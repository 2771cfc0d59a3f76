/* Which value comes before which, and collections in that order. */
#include <string.h>

#include "policy/value/number.h"
#include "policy/value/value_impl.h"

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
	size_t na = a->col.n * value_stride(a), nb = b->col.n * value_stride(b), i;
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
	size_t width = value_stride(v), n = v->col.n, run, left;
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
