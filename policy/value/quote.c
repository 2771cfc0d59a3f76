#include <stdio.h>
#include <string.h>

#include "policy/value/quote.h"
#include "policy/value/unicode.h"
#include "policy/value/utf8.h"

static void
put_rune(struct buf *out, uint32_t rune, char quote, bool ascii)
{
	static const char from[] = "\a\b\f\n\r\t\v\\", to[] = "abfnrtv\\";
	char text[16];
	const char *at = rune != 0 && rune < 0x80 ?
	    strchr(from, (int)rune) : NULL;

	if (at != NULL || rune == (uint32_t)quote) {
		buf_putc(out, '\\');
		buf_putc(out, at != NULL ? to[at - from] : quote);
	} else if (unicode_printable(rune) && (rune < 0x80 || !ascii)) {
		buf_rune(out, rune);
	} else {
		snprintf(text, sizeof(text), rune < 0x20 || rune == 0x7f ?
		    "\\x%02x" : rune < 0x10000 ? "\\u%04x" : "\\U%08x",
		    (unsigned)rune);
		buf_puts(out, text);
	}
}

static void
put_text(struct buf *out, const char *p, size_t n, bool ascii)
{
	char text[8];
	uint32_t rune;
	size_t i, used;

	buf_putc(out, '"');
	for (i = 0; i < n; i += used) {
		used = utf8_plain_prefix(p + i, n - i);
		buf_put(out, p + i, used);
		if (used > 0)
			continue;
		rune = utf8_decode(p + i, n - i, &used);
		if (rune == 0xfffd && used == 1) {
			snprintf(text, sizeof(text), "\\x%02x",
			    (unsigned)(unsigned char)p[i]);
			buf_puts(out, text);
		} else {
			put_rune(out, rune, '"', ascii);
		}
	}
	buf_putc(out, '"');
}

void
quote_text(struct buf *out, const char *p, size_t n)
{
	put_text(out, p, n, false);
}

void
quote_ascii(struct buf *out, const char *p, size_t n)
{
	put_text(out, p, n, true);
}

void
quote_rune(struct buf *out, int64_t rune, bool ascii)
{
	bool none = rune < 0 || rune > 0x10ffff ||
	    (rune >= 0xd800 && rune < 0xe000);

	buf_putc(out, '\'');
	put_rune(out, none ? 0xfffd : (uint32_t)rune, '\'', ascii);
	buf_putc(out, '\'');
}
