#include "ledger/utf8.h"

#include <stdbool.h>

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
