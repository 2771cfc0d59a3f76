/* Views of hexadecimal: numbers alone and in lists. */
#include <string.h>
#include <strings.h>

#include "ledger/scan/view/classes.h"
#include "ledger/scan/view/runs.h"

#define RUN_MIN (2 * SCAN_RUN_MIN)	/* digits */
#define MIDDLE 6	/* bytes of a number that show most hashes to be none of a text */
#define LINE_MIN 24	/* of a dump's line */
#define APART 5		/* characters between two numbers that belong to two lists; blanks
			 * in a row are one */

/* What gzip, zstd, zip, bzip2, xz, lz4 and zlib begin with. */
static bool
hex_of_packed(const uint8_t *p)
{
	static const char *const first[] = { "1f8b08", "28b52ffd", "504b0304",
	    "425a68", "fd377a", "04224d18", "78" };
	unsigned i;

	/* seven of 256: a branch for each would be taken as good as at random */
	if (!((p[0] == '1' && (p[1] | 0x20) == 'f') || (p[0] == '2' && p[1] == '8') ||
	    (p[0] == '5' && p[1] == '0') || (p[0] == '7' && p[1] == '8') ||
	    (p[0] == '4' && p[1] == '2') || ((p[0] | 0x20) == 'f' && (p[1] | 0x20) == 'd') ||
	    (p[0] == '0' && p[1] == '4')))
		return false;
	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (strncasecmp((const char *)p, first[i], strlen(first[i])) == 0)
			return true;
	return false;
}

/* Whether SCAN_RUN_MIN bytes in a row are ASCII: none of their first digits is
 * above 7.  All such rows of a short number hold those bytes in its middle. */
static bool
hex_of_text(const uint8_t *p, size_t len)
{
	const uint8_t *value = scan_digit[SCAN_HEX];
	const size_t need = SCAN_RUN_MIN;
	size_t pairs = len / 2, last, i;
	uint8_t high = 0;

	if (pairs < need)
		return false;
	for (i = pairs - need > need - MIDDLE ? pairs - need : need - MIDDLE; i < need; i++)
		high |= value[p[2 * i]];
	if (high >= 8)
		return false;
	for (last = need - 1; last < pairs; last = i + need) {
		for (i = last; value[p[2 * i]] < 8; i--)
			if (i + need == last + 1)
				return true;
	}
	return false;
}

/* ---- hexadecimal ---- */

int
scan_hex_settle(struct scan_view *view)
{
	size_t start = view->segment[view->segments - 1];

	if (view->len - start >= SCAN_RUN_MIN)
		return scan_view_end(view);
	scan_view_drop(view);
	return 0;
}

int
scan_hex_number(const struct scan_part *part, size_t from, size_t to, struct scan_view *view)
{
	const uint8_t *p = part->text, *value = scan_digit[SCAN_HEX];

	if (scan_map_add(&view->map, view->len, part->at + from, 2, 1) != 0)
		return -1;
	for (; to - from >= 2; from += 2)
		view->text[view->len++] =
		    (uint8_t)(value[p[from]] << 4 | value[p[from + 1]]);
	return 0;
}

size_t
scan_hex_end(const struct scan_part *part, size_t at, size_t end)
{
	while (at < end && scan_digit[SCAN_HEX][part->text[at]] < 16)
		at++;
	return at;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * Numbers of one or more bytes each, with at most three characters between
 * two, "0x" and "\x" among them.  With phase 1, only of long ones that may be
 * glued to something, the first digit skipped.
 */
static int
hex_run(const struct scan_part *part, const uint8_t value[256],
    const struct scan_run *run, unsigned phase, struct scan_view *view)
{
	size_t at = run->start, end, gap = 0;

	if (scan_view_room(view, (run->end - run->start) / 2 + 1) != 0 ||
	    scan_view_begin(view) != 0)
		return -1;
	while (at < run->end) {
		if (value[part->text[at]] == SCAN_GAP) {
			gap += gap == 0 || !is_blank(part->text[at]) ||
			    !is_blank(part->text[at - 1]);
			at++;
			continue;
		}
		end = scan_hex_end(part, at, run->end);
		if (end < run->end && (part->text[end] | 0x20) == 'x' && end - at == 1) {
			at = end + 1;	/* "0x" */
			continue;
		}
		if (end - at >= 2 * SCAN_RUN_MIN && end - at < SCAN_RUN_LONG &&
		    !hex_of_packed(part->text + at + phase) &&
		    !hex_of_text(part->text + at + phase, end - at - phase)) {
			at = end;
			gap = APART;
			continue;
		}
		if (gap >= APART || end - at < 2 || (phase == 1 && end - at < 2 * SCAN_RUN_MIN)) {
			if (scan_hex_settle(view) != 0 || scan_view_room(view,
			    (run->end - at) / 2 + 1) != 0 || scan_view_begin(view) != 0)
				return -1;
		}
		if (end - at >= 2 + phase &&
		    scan_hex_number(part, at + phase, end, view) != 0)
			return -1;
		at = end;
		gap = 0;
	}
	return scan_hex_settle(view);
}

/* ---- runs ---- */

/* How many of the bits [from, to) are set. */
static size_t
bits_between(const struct scan_planes *block, unsigned plane, size_t from, size_t to)
{
	size_t n = 0, b;
	uint64_t bits;

	for (b = from / SCAN_LANE; b * SCAN_LANE < to; b++) {
		bits = scan_since(block[b].plane[plane], b, from);
		bits &= ~scan_since(UINT64_MAX, b, to);
		n += (size_t)__builtin_popcountll(bits);
	}
	return n;
}

/* A number that stands alone, and is neither of a text nor of anything packed:
 * a hash. */
static bool
is_hash(const uint8_t *p, size_t digits)
{
	return digits >= RUN_MIN && digits < SCAN_RUN_LONG && !hex_of_packed(p) &&
	    !hex_of_packed(p + 1) && !hex_of_text(p, digits) && !hex_of_text(p + 1, digits - 1);
}

/* Whether a run holds digits enough without its hashes: most are a hash and what
 * stands beside it, and nothing of them is counted. */
static bool
worth(const struct scan_part *part, const struct scan_run *run)
{
	const struct scan_planes *block = part->classes->block;
	size_t left = run->end - run->start, hashes = 0, at, end;
	uint64_t rows;

	for (at = run->start; left >= LINE_MIN && at < run->end; at = end) {
		end = (at / SCAN_LANE + 1) * SCAN_LANE;
		rows = scan_since(scan_row(block[at / SCAN_LANE].plane[SCAN_DIGIT],
		    block[at / SCAN_LANE + 1].plane[SCAN_DIGIT], RUN_MIN), at / SCAN_LANE, at);
		if (rows == 0)
			continue;
		at = at / SCAN_LANE * SCAN_LANE + (size_t)__builtin_ctzll(rows);
		if (at >= run->end)
			break;
		end = scan_plane_end(block, SCAN_DIGIT, at, run->end);
		if (!is_hash(part->text + at - part->at, end - at))
			return true;
		hashes += end - at;
		left -= end - at;
	}
	return left >= LINE_MIN &&
	    bits_between(block, SCAN_DIGIT, run->start, run->end) - hashes >= LINE_MIN;
}

static int
take_run(const struct scan_part *part, const struct scan_run *run, size_t *dumped,
    struct scan_view *hex, struct scan_view *decimal)
{
	const uint8_t *value = scan_digit[SCAN_HEX];
	size_t end;

	if (hex_run(part, value, run, 0, hex) != 0 || hex_run(part, value, run, 1, hex) != 0 ||
	    scan_decimal_run(part, run, decimal) != 0)
		return -1;
	if (run->end <= *dumped)
		return 0;
	if (scan_hex_dump(part, run, hex, &end) != 0)
		return -1;
	*dumped = end > run->start ? end : *dumped;
	return 0;
}

int
scan_hex_runs(const struct scan_part *part, struct scan_view *hex, struct scan_view *decimal)
{
	const struct scan_planes *block = part->classes->block;
	size_t end = part->at + part->len, floor = part->at, dumped = 0, b;
	struct scan_run run;
	uint64_t starts;

	for (b = floor / SCAN_LANE; b * SCAN_LANE < end; b++) {
		starts = scan_row(block[b].plane[SCAN_NUMBERS], block[b + 1].plane[SCAN_NUMBERS],
		    RUN_MIN);
		while ((starts = scan_since(starts, b, floor)) != 0) {
			run.start = b * SCAN_LANE + (size_t)__builtin_ctzll(starts);
			floor = run.end = scan_plane_end(block, SCAN_NUMBERS, run.start, end);
			if (run.end < run.start + RUN_MIN)
				break;	/* of the part behind this one */
			if (!worth(part, &run))
				continue;
			run.start -= part->at;
			run.end -= part->at;
			if (scan_run_new(part, &run) && take_run(part, &run, &dumped, hex,
			    decimal) != 0)
				return -1;
		}
	}
	return 0;
}
