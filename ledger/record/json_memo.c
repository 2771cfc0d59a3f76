#include "ledger/record/json_memo.h"

#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* How many bytes from the start are the same. */
static size_t
same(const char *a, const char *b, size_t len)
{
	size_t n = 0;

#ifdef __SSE2__
	for (; len - n >= 16; n += 16) {
		const __m128i v = _mm_loadu_si128((const __m128i *)(a + n));
		const __m128i w = _mm_loadu_si128((const __m128i *)(b + n));
		unsigned equal = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, w));

		if (equal != 0xffff)
			return n + (unsigned)__builtin_ctz(~equal);
	}
#endif
	while (n < len && a[n] == b[n])
		n++;
	return n;
}

/*
 * Goes through both texts at once.  Where they differ, or one value ends
 * before the other, the place around it says where the value began; there the
 * new one is read, and both go on behind it.
 */
static bool
alike(const struct json_memo_shape *shape, const char *text, size_t len,
    const char **value, size_t *value_len)
{
	const char *at = text, *end = text + len;
	size_t from = 0, n, i = 0;

	*value = shape->want_len > 0 ? text + shape->want_at : NULL;
	*value_len = shape->want_len;
	for (;;) {
		const struct json_memo_place *place = &shape->place[i];
		size_t left = shape->len - from;

		n = same(shape->text + from, at, (size_t)(end - at) < left ?
		    (size_t)(end - at) : left);
		from += n;
		at += n;
		if (from == shape->len)
			return at == end;
		for (; i < shape->count && place->end < from; i++)
			place++;
		if (i == shape->count || place->at > from)
			return false;
		at = json_scan_scalar(text, len, at - (from - place->at));
		if (at == NULL)
			return false;
		from = place->end;
		i++;
		if (place->at == shape->want_at)
			*value_len = (size_t)(at - *value);
		else if (place->at < shape->want_at)
			*value = at + (shape->want_at - from);
	}
}

static bool
is_punctuation(char c)
{
	return c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']';
}

/* Where the values of an object stand that was found good.  False where there
 * are too many, or the wanted one is an object itself or an array. */
static bool
find_places(struct json_memo_shape *shape)
{
	const char *text = shape->text, *end = text + shape->len, *p, *behind;
	bool found = shape->want_len == 0;

	shape->count = 0;
	for (p = text; p < end; p = behind) {
		behind = p + 1;
		if (is_punctuation(*p))
			continue;
		behind = json_scan_scalar(text, shape->len, p);
		if (behind == NULL)
			return false;
		if (*behind == ':')		/* a name */
			continue;
		if (shape->count == JSON_MEMO_PLACES)
			return false;
		found |= p - text == shape->want_at;
		shape->place[shape->count++] = (struct json_memo_place){
		    (uint16_t)(p - text), (uint16_t)(behind - text) };
	}
	return found;
}

/* One in four takes another's place, so that where there are more shapes than
 * places most of those that are kept stay, and are met again. */
static void
keep(struct json_memo *memo, const char *text, size_t len, const char *value,
    size_t value_len)
{
	struct json_memo_shape *shape = &memo->shape[memo->next];

	if (len > JSON_MEMO_TEXT || (shape->len != 0 && ++memo->missed % 4 != 0))
		return;
	*shape = (struct json_memo_shape){ .len = (uint16_t)len,
	    .want_at = value != NULL ? (uint16_t)(value - text) : 0,
	    .want_len = (uint16_t)value_len };
	memcpy(shape->text, text, len);
	if (!find_places(shape)) {
		shape->len = 0;
		return;
	}
	memo->latest = memo->next;
	memo->next = (memo->next + 1) % JSON_MEMO_SHAPES;
}

static bool
recall(struct json_memo *memo, const char *text, size_t len,
    const char **value, size_t *value_len)
{
	for (unsigned i = 0; i < JSON_MEMO_SHAPES; i++) {
		unsigned way = (memo->latest + i) % JSON_MEMO_SHAPES;

		if (memo->shape[way].len != 0 && len <= JSON_SCAN_MAX &&
		    alike(&memo->shape[way], text, len, value, value_len)) {
			memo->latest = way;
			return true;
		}
	}
	return false;
}

const char *
json_memo_object(struct json_memo *memo, const char *text, size_t len)
{
	const char *value, *rule;
	size_t value_len;

	if (recall(memo, text, len, &value, &value_len))
		return NULL;
	rule = json_scan_object(&memo->scratch, text, len);
	if (rule == NULL)
		keep(memo, text, len, NULL, 0);
	return rule;
}

const char *
json_memo_member(struct json_memo *memo, const char *text, size_t len,
    const char *name, const char **value, size_t *value_len)
{
	const char *rule;

	if (recall(memo, text, len, value, value_len))
		return NULL;
	rule = json_scan_member(&memo->scratch, text, len, name, value,
	    value_len);
	if (rule == NULL)
		keep(memo, text, len, *value, *value_len);
	return rule;
}
