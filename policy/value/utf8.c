#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "policy/value/utf8.h"

static bool
continues(const unsigned char *p, size_t n, size_t want)
{
	size_t i;

	if (n <= want)
		return false;
	for (i = 1; i <= want; i++)
		if ((p[i] & 0xc0) != 0x80)
			return false;
	return true;
}

uint32_t
utf8_decode(const char *text, size_t n, size_t *used)
{
	const unsigned char *p = (const unsigned char *)text;
	uint32_t x = 0xfffd;
	size_t len = 1;

	if (p[0] < 0x80) {
		x = p[0];
	} else if (p[0] >= 0xc2 && p[0] < 0xe0 && continues(p, n, 1)) {
		x = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
		len = 2;
	} else if (p[0] >= 0xe0 && p[0] < 0xf0 && continues(p, n, 2)) {
		x = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
		len = 3;
		if (x < 0x800 || (x >= 0xd800 && x < 0xe000)) {
			x = 0xfffd;
			len = 1;
		}
	} else if (p[0] >= 0xf0 && p[0] < 0xf5 && continues(p, n, 3)) {
		x = (p[0] & 7u) << 18 | (p[1] & 0x3fu) << 12 |
		    (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
		len = 4;
		if (x < 0x10000 || x > 0x10ffff) {
			x = 0xfffd;
			len = 1;
		}
	}
	*used = len;
	return x;
}

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS (ONES << 7)

/* Each term has the high bit of a byte set that is not plain.  What a subtraction
 * borrows reaches only the bytes behind one: the lowest bit is exact. */
static uint64_t
not_plain(const char *p)
{
	uint64_t w, quote, slash, del;

	memcpy(&w, p, sizeof(w));
	w = le64toh(w);
	quote = w ^ (ONES * '"');
	slash = w ^ (ONES * '\\');
	del = w ^ (ONES * 0x7f);
	return (w | (w - ONES * 0x20) | (quote - ONES) | (slash - ONES) |
	    (del - ONES)) & HIGHS;
}

size_t
utf8_plain_prefix(const char *p, size_t n)
{
	uint64_t stop;
	size_t i = 0;

	for (; n - i >= sizeof(stop); i += sizeof(stop))
		if ((stop = not_plain(p + i)) != 0)
			return i + (size_t)__builtin_ctzll(stop) / 8;
	for (; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			break;
	}
	return i;
}

/* Eight bytes at a time while all are ASCII. */
static size_t
ascii_words(const char *p, size_t n)
{
	uint64_t w;
	size_t i = 0;

	for (; n - i >= sizeof(w); i += sizeof(w)) {
		memcpy(&w, p + i, sizeof(w));
		if ((w & HIGHS) != 0)
			break;
	}
	return i;
}

size_t
utf8_valid_prefix(const char *p, size_t n)
{
	size_t i = ascii_words(p, n), used;

	while (i < n) {
		if ((unsigned char)p[i] < 0x80) {
			i++;
			continue;
		}
		if (utf8_decode(p + i, n - i, &used) == 0xfffd && used == 1)
			return i;
		i += used;
	}
	return n;
}

size_t
utf8_encode(uint32_t x, char *out)
{
	if (x > 0x10ffff || (x >= 0xd800 && x < 0xe000))
		x = 0xfffd;
	if (x < 0x80) {
		out[0] = (char)x;
		return 1;
	}
	if (x < 0x800) {
		out[0] = (char)(0xc0 | x >> 6);
		out[1] = (char)(0x80 | (x & 0x3f));
		return 2;
	}
	if (x < 0x10000) {
		out[0] = (char)(0xe0 | x >> 12);
		out[1] = (char)(0x80 | (x >> 6 & 0x3f));
		out[2] = (char)(0x80 | (x & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | x >> 18);
	out[1] = (char)(0x80 | (x >> 12 & 0x3f));
	out[2] = (char)(0x80 | (x >> 6 & 0x3f));
	out[3] = (char)(0x80 | (x & 0x3f));
	return 4;
}

size_t
utf8_count(const char *p, size_t n)
{
	size_t count = 0, i = 0, used;

	for (; i < n; i += used, count++)
		utf8_decode(p + i, n - i, &used);
	return count;
}

size_t
utf8_offset(const char *p, size_t n, size_t at)
{
	size_t i = 0, used;

	for (; i < n && at > 0; i += used, at--)
		utf8_decode(p + i, n - i, &used);
	return i;
}
