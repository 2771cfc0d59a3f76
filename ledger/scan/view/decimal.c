/* Views of bytes written as decimal numbers in a list, as Python, Go, Rust and Node show
 * them. */
#include "ledger/scan/view/runs.h"

#define BLANKS_MAX 64	/* between two of them */
#define STRIDE 24	/* less than SCAN_RUN_MIN of them take, with one character each between */

static bool
is_character(unsigned n)
{
	return n - ' ' < 0x5f || n == '\n' || n == '\t' || n == '\r' || n == 0x1b;
}

/* What stands between two numbers: blanks, a comma. */
static bool
is_gap(uint8_t c)
{
	return c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r';
}

/* The number of at most three digits at *at, and to the next one; 0 where none is, or none
 * that stands for a character.  *last: no other one follows. */
static uint8_t
character(const uint8_t *p, size_t end, size_t *at, bool *last)
{
	size_t i = *at, from;
	unsigned n = 0;

	for (; i < end && p[i] - (unsigned)'0' < 10 && n < 100; i++)
		n = 10 * n + (p[i] - '0');
	if (i == *at || !is_character(n))
		return 0;
	for (from = i; i < end && is_gap(p[i]) && i - from < BLANKS_MAX; i++)
		;
	*last = i == from;
	*at = i;
	return *last && i < end && scan_digit[SCAN_HEX][p[i]] < 16 ? 0 : (uint8_t)n;
}

/* The list that begins at *at: how many characters, and where it ends. */
static size_t
list_at(const uint8_t *p, size_t end, size_t *at)
{
	bool last = false;
	size_t n = 0;

	while (!last && character(p, end, at, &last) != 0)
		n++;
	return n;
}

static int
take(const struct scan_part *part, size_t at, size_t end, size_t n, struct scan_view *view)
{
	bool last;

	if (scan_view_room(view, n) != 0 || scan_view_begin(view) != 0)
		return -1;
	while (n-- > 0) {
		if (scan_map_add(&view->map, view->len, part->at + at, 1, 1) != 0)
			return -1;
		view->text[view->len++] = character(part->text, end, &at, &last);
	}
	return scan_view_end(view);
}

static size_t
next_number(const uint8_t *p, size_t end, size_t at)
{
	while (at < end && scan_digit[SCAN_HEX][p[at]] < 16)
		at++;
	while (at < end && scan_digit[SCAN_HEX][p[at]] >= 16)
		at++;
	return at;
}

int
scan_decimal_run(const struct scan_part *part, const struct scan_run *run, struct scan_view *view)
{
	const uint8_t *p = part->text;
	size_t at = run->start, from, n;
	bool last;

	while (at < run->end) {
		/* what is long enough and begins here, or soon, goes on for so long */
		from = at + STRIDE < run->end ? next_number(p, run->end, at + STRIDE) : at;
		n = from;
		if (from > at && character(p, run->end, &n, &last) == 0) {
			at = next_number(p, run->end, from);
			continue;
		}
		from = at;
		n = list_at(p, run->end, &at);
		if (n >= SCAN_RUN_MIN && take(part, from, run->end, n, view) != 0)
			return -1;
		at = next_number(p, run->end, at);
	}
	return 0;
}
