/* NULs of UTF-16 and UTF-32, with the characters behind them that are not seen. */
#include "ledger/scan/view/escape.h"

#define UNITS_MAX 16	/* in a row */

static uint32_t
unit(const uint8_t *p, bool big)
{
	return (uint32_t)p[!big] << 8 | p[big];
}

/* The code point of one unit, or of two where they are a surrogate pair or the halves
 * of one in UTF-32; and how many bytes it takes. */
static size_t
code_point(const uint8_t *p, size_t len, bool big, uint32_t *c)
{
	uint32_t next, whole;

	*c = unit(p, big);
	if (len < 4)
		return 2;
	next = unit(p + 2, big);
	whole = big ? *c << 16 | next : next << 16 | *c;
	if (*c >> 10 == 0xd800 >> 10 && next >> 10 == 0xdc00 >> 10)
		whole = 0x10000 + ((*c & 0x3ff) << 10 | (next & 0x3ff));
	else if (whole < 0x10000 || !scan_unseen(whole))
		return 2;
	*c = whole;
	return 4;
}

/* Bytes of characters in a row that are not seen, among which a unit may be zero: the
 * other half of one in UTF-32. */
static size_t
unseen(const uint8_t *p, size_t len, bool big)
{
	size_t at = 0, n;
	unsigned units;
	bool any = false, zero = false;
	uint32_t c;

	for (units = 0; units < UNITS_MAX && len - at >= 2; units++, at += n) {
		n = code_point(p + at, len - at, big, &c);
		if (c == 0 ? zero : !scan_unseen(c))
			break;
		zero = c == 0;
		any |= !zero;
	}
	return any ? at : 0;
}

/*
 * "n\0" with U+200B behind it, or that with the bytes of each pair turned around: what
 * follows must be the same kind of text again.
 */
struct scan_step
scan_escape_utf16(const uint8_t *p, size_t len)
{
	struct scan_step step = { 1, 0, { 0 }, 0 };
	size_t n;

	n = unseen(p + 1, len - 1, false);
	if (n > 0 && len - n >= 3 && scan_in_word(p[1 + n]) && p[2 + n] == 0) {
		step.used += n;
		return step;
	}
	if (!scan_in_word(p[1]))
		return step;
	n = unseen(p + 2, len - 2, true);
	if (n > 0 && len - n >= 4 && p[2 + n] == 0 && scan_in_word(p[3 + n]))
		step = (struct scan_step){ 2 + n, 1, { p[1] }, 0 };
	return step;
}
