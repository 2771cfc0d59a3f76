#include "ledger/utf8.h"

static bool
within(const char *text, size_t i, unsigned low, unsigned high)
{
	unsigned byte = (unsigned char)text[i];

	return byte >= low && byte <= high;
}

/* The table of RFC 3629, section 4, read line by line. */
size_t
utf8_char(const char *text, size_t len)
{
	if (len >= 1 && within(text, 0, 0x00, 0x7f))
		return 1;
	if (len >= 2 && within(text, 0, 0xc2, 0xdf))
		return within(text, 1, 0x80, 0xbf) ? 2 : 0;
	if (len >= 3 && within(text, 0, 0xe0, 0xef)) {
		unsigned low = within(text, 0, 0xe0, 0xe0) ? 0xa0 : 0x80;
		unsigned high = within(text, 0, 0xed, 0xed) ? 0x9f : 0xbf;

		return within(text, 1, low, high) &&
		    within(text, 2, 0x80, 0xbf) ? 3 : 0;
	}
	if (len >= 4 && within(text, 0, 0xf0, 0xf4)) {
		unsigned low = within(text, 0, 0xf0, 0xf0) ? 0x90 : 0x80;
		unsigned high = within(text, 0, 0xf4, 0xf4) ? 0x8f : 0xbf;

		return within(text, 1, low, high) &&
		    within(text, 2, 0x80, 0xbf) &&
		    within(text, 3, 0x80, 0xbf) ? 4 : 0;
	}
	return 0;
}

size_t
utf8_next(const char *text, size_t len, uint32_t *c)
{
	const unsigned char *p = (const unsigned char *)text;
	const size_t n = utf8_char(text, len);

	if (n == 0) {
		*c = UTF8_NONE;
		return 1;
	}
	*c = n == 1 ? p[0] : p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++)
		*c = *c << 6 | (p[i] & 0x3f);
	return n;
}

static const struct { uint32_t first, last; } odd[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x00ad, 0x00ad }, { 0x034f, 0x034f },
	{ 0x061c, 0x061c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
	{ 0xd800, 0xf8ff }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xffff }, { 0xe0000, 0xe0fff }, { 0xf0000, UTF8_NONE },
};

bool
utf8_is_odd(uint32_t c)
{
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (c >= odd[i].first && c <= odd[i].last)
			return true;
	return false;
}
