#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ledger/facts.h"
#include "ledger/report/html_escape.h"

/* Invisible, or changing how what stands beside it is shown. */
static const struct { uint32_t first, last; } odd[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x00ad, 0x00ad }, { 0x034f, 0x034f },
	{ 0x061c, 0x061c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xffff },
	{ 0xe0000, 0xe0fff }, { 0xf0000, 0x10ffff }, { 0xe000, 0xf8ff }, { 0xd800, 0xdfff },
};

static bool
is_odd(uint32_t c)
{
	size_t i;

	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (c >= odd[i].first && c <= odd[i].last)
			return true;
	return false;
}

/* The character at p; its bytes, or 0 where it is no UTF-8. */
static unsigned
decode(const unsigned char *p, size_t left, uint32_t *c)
{
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

static void
put_odd(FILE *out, uint32_t c, bool element)
{
	fprintf(out, element ? "<i>U+%04X</i>" : "[U+%04X]", c);
}

static void
put(FILE *out, const char *text, size_t len, bool element)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + len;
	unsigned n;
	uint32_t c;

	for (; p < end; p += n > 0 ? n : 1) {
		n = decode(p, (size_t)(end - p), &c);
		if (n == 0)
			put_odd(out, 0xfffd, element);
		else if (is_odd(c))
			put_odd(out, c, element);
		else if (c == '&')
			fputs("&amp;", out);
		else if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else if (c == '\'')
			fputs("&#39;", out);
		else
			fwrite(p, 1, n, out);
	}
}

void
html_text(FILE *out, const char *text, size_t len)
{
	put(out, text, len, true);
}

void
html_str(FILE *out, const char *text, size_t max)
{
	const size_t len = strlen(text), cut = facts_cut(text, len, max);

	put(out, text, cut, true);
	if (cut < len)
		fputs("&hellip;", out);
}

void
html_attr(FILE *out, const char *text, size_t len)
{
	put(out, text, len, false);
}

static void
new_line(FILE *out, unsigned depth)
{
	fprintf(out, "\n%*s", (int)(2 * depth), "");
}

/* The end of a string that begins at p, behind its quote. */
static const char *
string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p < end ? p + 1 : end;
}

static const char *
put_string(FILE *out, const char *p, const char *end, const char *limit, bool marked)
{
	const char *stop = string_end(p, end);
	const bool name = marked && stop < end && *stop == ':';
	size_t len = (size_t)(stop - p);

	if (stop > limit)
		len = facts_cut(p, len, (size_t)(limit - p));
	fputs(name ? "<b>" : "", out);
	html_text(out, p, len);
	fputs(name ? "</b>" : "", out);
	return p + len;
}

void
html_json(FILE *out, const char *json, size_t len, size_t max, bool marked)
{
	const char *p = json, *end = json + len, *limit = max < len ? json + max : end;
	unsigned depth = 0;

	while (p < limit) {
		if (*p == '"') {
			p = put_string(out, p, end, limit, marked);
			continue;
		}
		if ((*p == '}' || *p == ']') && depth > 0 && p > json &&
		    p[-1] != '{' && p[-1] != '[')
			new_line(out, --depth);
		else if ((*p == '}' || *p == ']') && depth > 0)
			depth--;
		html_text(out, p, 1);
		if ((*p == '{' || *p == '[') && p + 1 < end && p[1] != '}' && p[1] != ']')
			new_line(out, ++depth);
		else if (*p == '{' || *p == '[')
			depth++;
		else if (*p == ',')
			new_line(out, depth);
		else if (*p == ':')
			putc(' ', out);
		p++;
	}
	if (p < end)
		fprintf(out, "&hellip; <i>and %zu bytes more</i>", (size_t)(end - p));
}
