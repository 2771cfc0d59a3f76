#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/scan/view/view.h"

void
scan_view_free(struct scan_view *view)
{
	if (view->text != NULL)
		sodium_memzero(view->text, view->cap);
	free(view->text);
	free(view->map.stretch);
	free(view->segment);
	free(view->segment_len);
	*view = (struct scan_view){ .name = NULL };
}

void
scan_view_clear(struct scan_view *view, const char *name,
    const struct scan_map *below, bool shortened)
{
	view->name = name;
	view->len = view->segments = view->map.n = 0;
	view->again = !shortened;
	view->map.below = below;
	view->map.shortened = shortened;
}

int
scan_view_room(struct scan_view *view, size_t more)
{
	uint8_t *text;
	size_t cap = view->cap;

	if (more > UINT32_MAX - view->len)
		return -1;
	if (view->len + more <= view->cap)
		return 0;
	while (cap < view->len + more)
		cap = cap < 4096 ? 4096 : cap + cap / 2;
	if ((text = malloc(cap)) == NULL)
		return -1;
	if (view->text != NULL) {
		memcpy(text, view->text, view->len);
		sodium_memzero(view->text, view->cap);
		free(view->text);
	}
	view->text = text;
	view->cap = cap;
	return 0;
}

int
scan_view_begin(struct scan_view *view)
{
	size_t cap, *starts, *lens;

	if (view->segments == view->segments_cap) {
		cap = view->segments_cap == 0 ? 64 : 2 * view->segments_cap;
		starts = reallocarray(view->segment, cap, sizeof(*starts));
		if (starts == NULL)
			return -1;
		view->segment = starts;
		lens = reallocarray(view->segment_len, cap, sizeof(*lens));
		if (lens == NULL)
			return -1;
		view->segment_len = lens;
		view->segments_cap = cap;
	}
	view->segment[view->segments] = view->len;
	view->segment_len[view->segments++] = 0;
	return 0;
}

int
scan_view_end(struct scan_view *view)
{
	size_t *len = &view->segment_len[view->segments - 1];

	*len = view->len - view->segment[view->segments - 1];
	if (scan_view_room(view, 3) != 0)
		return -1;
	memcpy(view->text + view->len, "\n\0\n", 3);
	view->len += 3;
	return 0;
}

void
scan_view_drop(struct scan_view *view)
{
	view->len = view->segment[--view->segments];
	while (view->map.n > 0 && view->map.stretch[view->map.n - 1].out >= view->len)
		view->map.n--;
}
