/* Base64 that was turned around: decoded group by group into text that runs
 * backwards, as its source does. */
#include "ledger/scan/view/runs.h"

/* Is a group that was turned around three bytes of ASCII? */
static bool
turned_group(const uint8_t *p)
{
	const uint8_t *value = scan_digit[SCAN_BASE64];

	return ((value[p[3]] & 0x20) | (value[p[2]] & 8) | (value[p[1]] & 2)) == 0;
}

/* What the encoding ended with, two or three digits, stands at the beginning. */
static uint8_t *
decode_lead(const uint8_t *p, unsigned lead, uint8_t *out)
{
	const uint8_t *value = scan_digit[SCAN_BASE64];

	if (lead == 3)
		*out++ = (uint8_t)(value[p[1]] << 4 | value[p[0]] >> 2);
	*out++ = lead == 3 ? (uint8_t)(value[p[2]] << 2 | value[p[1]] >> 4) :
	    (uint8_t)(value[p[1]] << 2 | value[p[0]] >> 4);
	return out;
}

/* Groups [from, to) that were turned around, and `lead` digits before, each into its bytes turned around:
 * so the view holds the text backwards, and runs the way its source does. */
static int
decode_turned(const struct scan_part *part, unsigned lead, size_t from, size_t to,
    struct scan_view *view)
{
	const uint8_t *value = scan_digit[SCAN_BASE64], *p = part->text + from;
	uint32_t quad;
	uint8_t *out;

	if (scan_view_room(view, to - from + 2) != 0 || scan_view_begin(view) != 0 ||
	    scan_map_add(&view->map, view->len, part->at + from - lead, 4, 3) != 0)
		return -1;
	out = view->text + view->len;
	if (lead > 1)
		out = decode_lead(p - lead, lead, out);
	for (; p < part->text + to; p += 4) {
		quad = (uint32_t)value[p[3]] << 18 | (uint32_t)value[p[2]] << 12 |
		    (uint32_t)value[p[1]] << 6 | value[p[0]];
		*out++ = (uint8_t)quad;
		*out++ = (uint8_t)(quad >> 8);
		*out++ = (uint8_t)(quad >> 16);
	}
	view->len = (size_t)(out - view->text);
	return scan_view_end(view);
}

/* Base64 that was turned around, from one phase: only where enough groups in a
 * row are ASCII, with one more at each end. */
int
scan_turned_base64(const struct scan_part *part, const struct scan_run *run,
    unsigned phase, struct scan_view *view)
{
	const size_t need = (SCAN_RUN_MIN - 2) / 3, from = run->start + phase;
	const uint8_t *p = part->text + from;
	size_t groups = (run->end - from) / 4, last, first, end;

	for (last = need - 1; last < groups; last = first + need) {
		for (first = last; turned_group(p + 4 * first) && first + need > last + 1;
		    first--)
			;
		if (!turned_group(p + 4 * first))
			continue;
		for (end = last + 1; end < groups && turned_group(p + 4 * end); end++)
			;
		while (first > 0 && turned_group(p + 4 * (first - 1)))
			first--;
		first -= first > 0;
		end += end < groups;
		if (decode_turned(part, first == 0 ? phase : 0, from + 4 * first, from + 4 * end, view) != 0)
			return -1;
		first = end - 1;
	}
	return 0;
}
