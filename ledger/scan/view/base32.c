/* Base32 of one case in runs of base64's alphabet. */
#include "ledger/scan/view/signs.h"

/* Whether the five bytes of eight digits are ASCII, by their highest bits. */
static bool
ascii_eight(const uint8_t value[256], const uint8_t *p)
{
	return ((value[p[0]] & 16) | (value[p[1]] & 2) | (value[p[3]] & 8) |
	    (value[p[4]] & 1) | (value[p[6]] & 4)) == 0;
}

/* Any text that is looked for holds two such groups in a row: one of them is
 * the second, fourth, ... of the run. */
static bool
text32(const uint8_t value[256], const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 8; i + 8 <= len; i += 16)
		if (ascii_eight(value, p + i) && (ascii_eight(value, p + i - 8) ||
		    (i + 16 <= len && ascii_eight(value, p + i + 8))))
			return true;
	return false;
}

/* The first ten bits of gzip, zstd, zip, bzip2, xz, 7z, rar, lz4; of zlib eight. */
static bool
packed32(const uint8_t value[256], const uint8_t *p)
{
	static const uint16_t first[] = { 3 << 5 | 30, 5 << 5 | 2, 10 << 5 | 1, 8 << 5 | 9,
	    31 << 5 | 20, 6 << 5 | 29, 10 << 5 | 9, 0 << 5 | 16 };
	unsigned ten = (unsigned)value[p[0]] << 5 | value[p[1]], i;

	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (first[i] == ten)
			return true;
	return ten >> 2 == 0x78;
}

static int
take_base32(const struct scan_part *part, const uint8_t value[256],
    const struct scan_run *run, struct scan_view *view)
{
	const uint8_t *p = part->text;
	size_t from;

	for (from = run->start; from < run->start + 8; from++)
		if ((text32(value, p + from, run->end - from) || packed32(value, p + from)) &&
		    scan_decode(part, value, from, run->end, 5, view) != 0)
			return -1;
	return 0;
}

int
scan_base32_runs(const struct scan_part *part, enum scan_alphabet alphabet,
    const struct scan_run *run, struct scan_view *view)
{
	const uint8_t *value = scan_digit[alphabet], *p = part->text;
	struct scan_run inner = { run->start, run->start };

	for (; inner.start < run->end; inner.start = inner.end + 1) {
		inner.end = inner.start;
		while (inner.end < run->end && value[p[inner.end]] != SCAN_NO_DIGIT)
			inner.end++;
		if (inner.end - inner.start >= SCAN_BASE32_MIN && scan_run_new(part, &inner) &&
		    take_base32(part, value, &inner, view) != 0)
			return -1;
	}
	return 0;
}
