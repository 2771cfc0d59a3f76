/* One escape, of whatever kind. */
#include <ctype.h>
#include <string.h>

#include "ledger/scan/view/escape.h"

/* Digits of the base at p: how many of at most max, and their value. */
static size_t
number(const uint8_t *p, size_t len, unsigned base, size_t max, uint32_t *value)
{
	size_t i;
	int digit;

	*value = 0;
	for (i = 0; i < len && i < max; i++) {
		digit = scan_nibble(p[i]);
		if (digit < 0 || (unsigned)digit >= base)
			break;
		*value = *value * base + (uint32_t)digit;
	}
	return i;
}

bool
scan_unseen(uint32_t c)
{
	static const struct { uint32_t first, last; } ranges[] = {
		{ 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x206f },
		{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe001f }, { 0xe007f, 0xe0fff },
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]) && c >= ranges[i].first; i++)
		if (c <= ranges[i].last)
			return true;
	return false;
}

/* What an other character stands for: one of full width, or a tag that is not seen; 0:
 * nothing. */
static uint8_t
stands_for(uint32_t c)
{
	if (c >= 0xff0d && c <= 0xff5a && (isalnum((int)(c - 0xfee0)) || c == 0xff0d || c == 0xff3f))
		return (uint8_t)(c - 0xfee0);	/* its commas and brackets end words as theirs do */
	return c >= 0xe0020 && c <= 0xe007e ? (uint8_t)(c - 0xe0000) : 0;
}

/* A code point: formats are ASCII, so others need not be right, only there. */
static struct scan_step
coded(size_t used, uint32_t value)
{
	struct scan_step step = { used, 1, { (uint8_t)value }, 0 };

	if (value > 0xff)
		step.out[0] = stands_for(value) != 0 ? stands_for(value) : 0xff;
	if (value == 0 || scan_unseen(value))
		step.n = 0;
	return step;
}

/* "\\u" and four digits: JSON writes what is beyond these as two, a surrogate pair. */
static struct scan_step
unicode(const uint8_t *p, size_t len)
{
	uint32_t value, low;

	if (number(p + 2, len - 2, 16, 4, &value) != 4)
		return SCAN_NO_STEP;
	if (value >> 10 != 0xd800 >> 10 || len < 12 || p[6] != '\\' || p[7] != 'u' ||
	    number(p + 8, 4, 16, 4, &low) != 4 || low >> 10 != 0xdc00 >> 10)
		return coded(6, value);
	return coded(12, 0x10000 + ((value & 0x3ff) << 10 | (low & 0x3ff)));
}

static struct scan_step
backslash(const uint8_t *p, size_t len)
{
	/* Markdown, LaTeX and regular expressions put it before '_' and '-', too */
	static const char from[] = "nrtbf\"\\/'_-.", to[] = "\n\r\t\b\f\"\\/'_-.";
	struct scan_step none = SCAN_NO_STEP;
	const char *at;
	uint32_t value;
	size_t n;

	if (len < 2)
		return none;
	switch (p[1]) {
	case 'x':
		n = number(p + 2, len - 2, 16, 2, &value);
		return n == 2 ? coded(4, value) : none;
	case 'u':
		if (len > 3 && p[2] == '{') {
			n = number(p + 3, len - 3, 16, 6, &value);
			return n > 0 && len > 3 + n && p[3 + n] == '}' ?
			    coded(4 + n, value) : none;
		}
		return unicode(p, len);
	case 'U':
		n = number(p + 2, len - 2, 16, 8, &value);
		return n == 8 ? coded(10, value) : none;
	default:
		break;
	}
	if (p[1] >= '0' && p[1] <= '3' && number(p + 1, len - 1, 8, 3, &value) == 3)
		return coded(4, value);
	at = strchr(from, p[1]);
	return p[1] != '\0' && at != NULL ? coded(2, (uint8_t)to[at - from]) : none;
}

static struct scan_step
entity(const uint8_t *p, size_t len)
{
	static const struct { char name[18], c; } named[] = {
		{ "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' },
		{ "&lt;", '<' }, { "&gt;", '>' }, { "&lowbar;", '_' },
		{ "&equals;", '=' }, { "&plus;", '+' }, { "&sol;", '/' },
		{ "&period;", '.' }, { "&hyphen;", '-' }, { "&dash;", '-' },
		{ "&colon;", ':' }, { "&shy;", 0 }, { "&zwj;", 0 }, { "&zwnj;", 0 },
		{ "&lrm;", 0 }, { "&rlm;", 0 }, { "&NoBreak;", 0 }, { "&ZeroWidthSpace;", 0 },
	};
	struct scan_step none = SCAN_NO_STEP;
	size_t i, n, name_len, digits;
	uint32_t value;
	bool hex;

	if (len < 3 || (p[1] != '#' && !isalpha(p[1])))
		return none;
	if (len > 3 && p[1] == '#') {
		hex = (p[2] | 0x20) == 'x';
		digits = 2 + (size_t)hex;
		n = number(p + digits, len - digits, hex ? 16 : 10, 7, &value);
		if (n == 0)
			return none;
		n += digits;
		return coded(n + (n < len && p[n] == ';'), value);
	}
	for (i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (named[i].name[1] != p[1] || named[i].name[2] != p[2])
			continue;
		name_len = strlen(named[i].name);
		if (len >= name_len && memcmp(p, named[i].name, name_len) == 0)
			return coded(name_len, (uint8_t)named[i].c);
	}
	return none;
}

/* "=" of quoted-printable: digits in capitals, or the end of a line. */
static struct scan_step
printable(const uint8_t *p, size_t len)
{
	struct scan_step none = SCAN_NO_STEP;
	uint32_t value;

	if (len > 1 && p[1] == '\n')
		return (struct scan_step){ 2, 0, { 0 }, 0 };
	if (len > 2 && p[1] == '\r' && p[2] == '\n')
		return (struct scan_step){ 3, 0, { 0 }, 0 };
	if (len < 3 || islower(p[1]) || islower(p[2]) ||
	    number(p + 1, 2, 16, 2, &value) != 2)
		return none;
	return coded(3, value);
}

struct scan_step
scan_escape(const uint8_t *p, size_t len)
{
	struct scan_step none = SCAN_NO_STEP;
	uint32_t value;

	switch (*p) {
	case '\\':
		return backslash(p, len);
	case '&':
		return entity(p, len);
	case '=':
		return printable(p, len);
	default:
		return len > 2 && number(p + 1, 2, 16, 2, &value) == 2 ?
		    coded(3, value) : none;
	}
}

size_t
scan_escape_colour(const uint8_t *p, size_t len)
{
	size_t i = 2;

	if (len < 2)
		return len;
	if (p[1] == '[') {
		while (i < len && i < 64 && (p[i] < 0x40 || p[i] > 0x7e))
			i++;
		return i < len ? i + 1 : len;
	}
	if (p[1] != ']')
		return 2;
	while (i < len && i < 512 && p[i] != 0x07 && p[i] != 0x1b)
		i++;
	if (i < len && p[i] == 0x1b)
		i++;
	return i < len ? i + 1 : len;
}

size_t
scan_escape_break(const uint8_t *p, size_t len)
{
	size_t i = 4;

	if (len < 5 || p[0] != '<' || (p[1] | 0x20) != 'w' || (p[2] | 0x20) != 'b' ||
	    (p[3] | 0x20) != 'r')
		return 0;
	i += p[i] == ' ';
	i += i < len && p[i] == '/';
	return i < len && p[i] == '>' ? i + 1 : 0;
}

/* The code point at p in UTF-8, and how long that is; 0 where it is none of those of two
 * bytes and more. */
static size_t
utf8_at(const uint8_t *p, size_t len, uint32_t *c)
{
	const size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	size_t i;

	if (p[0] < 0xc2 || p[0] > 0xf4 || len < n)
		return 0;
	*c = p[0] & (0x7fu >> n);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (p[i] & 0x3fu);
	}
	return n;
}

struct scan_step
scan_escape_utf8(const uint8_t *p, size_t len)
{
	struct scan_step step = SCAN_NO_STEP;
	uint32_t c = 0;
	size_t n = utf8_at(p, len, &c);

	if (n == 0)
		return step;
	step.out[0] = stands_for(c);
	step.n = step.out[0] != 0;
	step.used = step.n > 0 || scan_unseen(c) ? n : 0;
	return step;
}
