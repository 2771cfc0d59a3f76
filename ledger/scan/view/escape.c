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

/* A code point: formats are ASCII, so others need not be right, only there. */
static struct scan_step
coded(size_t used, uint32_t value)
{
	struct scan_step step = { used, 1, { (uint8_t)value }, 0 };

	if (value > 0xff)
		step.out[0] = 0xff;
	else if (value == 0)
		step.n = 0;
	return step;
}

static struct scan_step
backslash(const uint8_t *p, size_t len)
{
	static const char from[] = "nrtbf\"\\/'", to[] = "\n\r\t\b\f\"\\/'";
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
		n = number(p + 2, len - 2, 16, 4, &value);
		return n == 4 ? coded(6, value) : none;
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
	static const struct { char name[10], c; } named[] = {
		{ "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' },
		{ "&lt;", '<' }, { "&gt;", '>' }, { "&lowbar;", '_' },
		{ "&equals;", '=' }, { "&plus;", '+' }, { "&sol;", '/' },
		{ "&period;", '.' }, { "&hyphen;", '-' }, { "&dash;", '-' },
		{ "&colon;", ':' },
	};
	struct scan_step none = SCAN_NO_STEP;
	size_t i, n, name_len, digits;
	uint32_t value;
	bool hex;

	if (len < 3 || (p[1] != '#' && !islower(p[1])))
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
scan_escape_invisible(const uint8_t *p, size_t len)
{
	static const char *const marks[] = { "\xc2\xad", "\xe2\x80\x8b", "\xe2\x80\x8c",
	    "\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x81\xa0",
	    "\xef\xbb\xbf" };
	size_t i, n;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		n = strlen(marks[i]);
		if (len >= n && memcmp(p, marks[i], n) == 0)
			return n;
	}
	return 0;
}
