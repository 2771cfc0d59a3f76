/* The strings of a streamed answer, put together: all that are the values of one
 * member, in one event or line of JSON each. */
#include <stdlib.h>
#include <string.h>

#include "ledger/scan/view/deltas.h"
#include "ledger/scan/view/view.h"

const char *const scan_delta_keys[SCAN_DELTA_KEYS] = { "text", "content", "delta",
	"partial_json", "arguments", "thinking", "reasoning", "reasoning_content", "response",
	"completion", "token", "chunk", "output" };

/* What a terminal wrote, in a recording of asciinema's: [0.5, "o", "..."]. */
#define OUTPUT SCAN_DELTA_KEYS

#define STREAMS_MAX 16	/* side by side, of one member */

struct value {
	size_t at, len;
	unsigned key;
	uint32_t stream;	/* by the indexes in front of it in its line */
};

struct values {
	struct value *value;
	size_t n, cap;
	size_t of[SCAN_DELTA_KEYS + 1];	/* how many of each member; of OUTPUT */
};

/* Which member's name stands at p, with its quote; its length, 0: none. */
static size_t
key_at(const uint8_t *p, size_t len, unsigned *key)
{
	const char *name;
	size_t n;

	if (len > 2 && memcmp(p, "o\",", 3) == 0) {
		*key = OUTPUT;
		return 3;
	}
	for (*key = 0; *key < SCAN_DELTA_KEYS; ++*key) {
		name = scan_delta_keys[*key];
		if (p[0] != (uint8_t)name[0] || p[1] != (uint8_t)name[1])
			continue;
		n = strlen(name);
		if (len > n && memcmp(p, name, n) == 0 && p[n] == '"')
			return n + 1;
	}
	return 0;
}

/* The string that the member named at `at` has, behind the quote. */
static bool
value_of(const struct scan_part *part, size_t at, struct value *value)
{
	const uint8_t *p = part->text;
	size_t len = part->len, n;

	if (len - at < 2 || p[at] < 'a' || (n = key_at(p + at, len - at, &value->key)) == 0)
		return false;
	at += n;
	while (at < len && (p[at] == ' ' || p[at] == ':'))
		at++;
	if (at == len || p[at] != '"')
		return false;
	value->at = ++at;
	while (at < len && p[at] != '"' && p[at] != '\n')
		at += p[at] == '\\' && at + 1 < len ? 2 : 1;
	value->len = at - value->at;
	return value->len > 0;
}

static int
keep(struct values *values, const struct value *value)
{
	size_t cap = values->cap == 0 ? 256 : 2 * values->cap;
	struct value *more;

	if (values->n == values->cap) {
		if ((more = reallocarray(values->value, cap, sizeof(*more))) == NULL)
			return -1;
		values->value = more;
		values->cap = cap;
	}
	values->value[values->n++] = *value;
	values->of[value->key]++;
	return 0;
}

/* Of which line a string is, and what its indexes come to so far. */
struct line {
	const uint8_t *end;
	uint32_t stream;
};

/* At a string: "index":1, of an answer, a tool or a block among several. */
static void
take_index(struct line *line, const uint8_t *p, const uint8_t *end)
{
	static const char *const names[] = { "index\":", "output_index\":", "content_index\":",
	    "contentBlockIndex\":" };
	uint32_t number = 0;
	size_t i, n;

	if (p >= line->end) {
		line->end = memchr(p, '\n', (size_t)(end - p));
		line->end = line->end == NULL ? end : line->end + 1;
		line->stream = 0;
	}
	if (p == end || (*p != 'i' && *p != 'o' && *p != 'c'))
		return;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		n = strlen(names[i]);
		if ((size_t)(end - p) < n || memcmp(p, names[i], n) != 0)
			continue;
		for (p += n; p < end && (*p == ' ' || (*p >= '0' && *p <= '9')); p++)
			number = *p == ' ' ? number : number * 10 + (*p - (uint32_t)'0');
		line->stream = line->stream * 31 + number + 1;
		return;
	}
}

static int
find_values(const struct scan_part *part, struct values *values)
{
	const uint8_t *p = part->text, *end = p + part->len;
	struct line line = { p, 0 };
	struct value value;

	while (p < end && (p = memchr(p, '"', (size_t)(end - p))) != NULL) {
		p++;
		take_index(&line, p, end);
		if (!value_of(part, (size_t)(p - part->text), &value))
			continue;
		value.stream = line.stream;
		if (keep(values, &value) != 0)
			return -1;
		p = part->text + value.at + value.len;
		p += p < end;	/* its last quote begins no name */
	}
	return 0;
}

static int
append(const struct scan_part *part, const struct value *value, struct scan_view *view)
{
	const uint8_t *p = part->text + value->at;

	if (scan_view_room(view, value->len) != 0 || scan_map_add(&view->map, view->len,
	    part->at + value->at, 1, 1) != 0)
		return -1;
	memcpy(view->text + view->len, p, value->len);
	view->len += value->len;
	view->again |= memchr(p, '\\', value->len) != NULL;
	return 0;
}

/* All of one member's; or, of those, one stream's. */
static int
join(const struct scan_part *part, const struct values *values, unsigned key,
    const uint32_t *stream, struct scan_view *view)
{
	const struct value *value;
	size_t i;

	if (scan_view_begin(view) != 0)
		return -1;
	for (i = 0; i < values->n; i++) {
		value = &values->value[i];
		if (value->key == key && (stream == NULL || value->stream == *stream) &&
		    append(part, value, view) != 0)
			return -1;
	}
	return scan_view_end(view);
}

/* The streams that a member's strings are of, where they take turns; their number. */
static size_t
streams_of(const struct values *values, unsigned key, uint32_t stream[STREAMS_MAX])
{
	const struct value *value, *last = NULL;
	bool turns = false;
	size_t i, k, n = 0;

	for (i = 0; i < values->n; i++) {
		value = &values->value[i];
		if (value->key != key || (last != NULL && last->stream == value->stream))
			continue;
		last = value;
		for (k = 0; k < n && stream[k] != value->stream; k++)
			;
		turns |= k < n;
		if (k == n && n < STREAMS_MAX)
			stream[n++] = value->stream;
	}
	return turns ? n : 0;
}

/* One member's, if there are several: each stream's, where there are more, and all together,
 * behind these: there a token may end in what is another's. */
static int
join_all(const struct scan_part *part, const struct values *values, unsigned key,
    struct scan_view *view)
{
	uint32_t stream[STREAMS_MAX];
	size_t i, n;

	if (values->of[key] < 2)
		return 0;
	n = streams_of(values, key, stream);
	for (i = 0; i < n; i++)
		if (join(part, values, key, &stream[i], view) != 0)
			return -1;
	return join(part, values, key, NULL, view);
}

int
scan_view_deltas(const struct scan_part *part, struct scan_view *view)
{
	struct values values = { NULL, 0, 0, { 0 } };
	int result = find_values(part, &values);

	for (unsigned key = 0; result == 0 && key <= OUTPUT; key++)
		result = join_all(part, &values, key, view);
	free(values.value);
	return result;
}
