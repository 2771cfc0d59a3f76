#include <string.h>

#include "ledger/output/shown.h"

static const struct { uint32_t first, last; } odd[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x00ad, 0x00ad }, { 0x034f, 0x034f },
	{ 0x061c, 0x061c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
	{ 0xd800, 0xf8ff }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xffff }, { 0xe0000, 0xe0fff }, { 0xf0000, 0x10ffff },
};

bool
shown_is_odd(uint32_t c)
{
	size_t i;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (c >= odd[i].first && c <= odd[i].last)
			return true;
	return false;
}

unsigned
shown_decode(const char *text, size_t left, uint32_t *c)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 :
	    p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0, i;

	if (n == 0 || n > left)
		return 0;
	*c = n == 1 ? p[0] : p[0] & (0x7fU >> n);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (p[i] & 0x3f);
	}
	if ((n == 3 && *c < 0x800) || (n == 4 && (*c < 0x10000 || *c > 0x10ffff)))
		return 0;
	return n;
}

void
shown_put(FILE *out, const char *text, size_t max)
{
	const size_t len = strlen(text);
	size_t i, step;
	uint32_t c;
	unsigned n;

	for (i = 0; i < len; i += step) {
		n = shown_decode(text + i, len - i, &c);
		step = n > 0 ? n : 1;
		if (i + step > max)
			break;
		if (n == 0 || shown_is_odd(c))
			putc('?', out);
		else
			fwrite(text + i, 1, n, out);
	}
	if (i < len)
		fputs("..", out);
}

void
shown_json(FILE *out, const char *text, size_t len)
{
	size_t i, step;
	uint32_t c;
	unsigned n;

	for (i = 0; i < len; i += step) {
		n = shown_decode(text + i, len - i, &c);
		step = n > 0 ? n : 1;
		if (n == 0)
			putc('?', out);
		else if (text[i] == '\n' || !shown_is_odd(c))
			fwrite(text + i, 1, n, out);
		else if (c > 0xffff)
			fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
			    (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
		else
			fprintf(out, "\\u%04x", (unsigned)c);
	}
}

void
shown_vcomplain(const char *format, va_list args)
{
	char text[SHOWN_COMPLAINT_MAX], *line, *rest = text;

	vsnprintf(text, sizeof(text), format, args);
	while ((line = strsep(&rest, "\n")) != NULL) {
		shown_put(stderr, line, sizeof(text));
		putc('\n', stderr);
	}
}

void
shown_complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	shown_vcomplain(format, args);
	va_end(args);
}
