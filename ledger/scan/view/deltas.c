/* The strings of a streamed answer, put together. */
#include <string.h>

#include "ledger/scan/view/view.h"

/* One string value that streams are put together from: behind its key. */
static const uint8_t *
delta_value(const uint8_t *p, const uint8_t *end)
{
	static const char *const keys[] = { "\"text\"", "\"content\"", "\"delta\"",
	    "\"partial_json\"", "\"arguments\"", "\"thinking\"" };
	size_t i, n;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		n = strlen(keys[i]);
		if ((size_t)(end - p) <= n || memcmp(p, keys[i], n) != 0)
			continue;
		for (p += n; p < end && (*p == ' ' || *p == ':'); p++)
			;
		return p < end && *p == '"' ? p + 1 : NULL;
	}
	return NULL;
}

static int
append_value(const struct scan_part *part, const uint8_t *p, const uint8_t *end,
    struct scan_view *view)
{
	const uint8_t *stop = p;

	while (stop < end && *stop != '"')
		stop += *stop == '\\' && stop + 1 < end ? 2 : 1;
	if (stop == p)
		return 0;
	if (scan_view_room(view, (size_t)(stop - p)) != 0 || scan_map_add(&view->map,
	    view->len, part->at + (size_t)(p - part->text), 1, 1) != 0)
		return -1;
	memcpy(view->text + view->len, p, (size_t)(stop - p));
	view->len += (size_t)(stop - p);
	return 0;
}

static int
delta_line(const struct scan_part *part, const uint8_t *p, const uint8_t *end,
    struct scan_view *view)
{
	const uint8_t *value;

	while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
		value = delta_value(p, end);
		if (value != NULL && append_value(part, value, end, view) != 0)
			return -1;
		p++;
	}
	return 0;
}

int
scan_view_deltas(const struct scan_part *part, struct scan_view *view)
{
	const uint8_t *p = part->text, *end = p + part->len, *line_end;
	size_t start = view->len;

	if (scan_view_begin(view) != 0)
		return -1;
	while ((p = memmem(p, (size_t)(end - p), "data:", 5)) != NULL) {
		line_end = memchr(p, '\n', (size_t)(end - p));
		if (line_end == NULL)
			line_end = end;
		if (delta_line(part, p, line_end, view) != 0)
			return -1;
		p = line_end;
	}
	if (view->len > start)
		return scan_view_end(view);
	view->segments--;
	return 0;
}
