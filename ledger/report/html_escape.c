#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ledger/evidence/facts.h"
#include "ledger/report/html_escape.h"
#include "ledger/utf8.h"

static void
put_odd(FILE *out, uint32_t c, bool element)
{
	fprintf(out, element ? "<i>U+%04X</i>" : "[U+%04X]", c);
}

static void
put(FILE *out, const char *text, size_t len, bool element)
{
	const char *p = text, *end = text + len;
	size_t n;
	uint32_t c;

	for (; p < end; p += n) {
		n = utf8_next(p, (size_t)(end - p), &c);
		if (utf8_is_odd(c))
			put_odd(out, c == UTF8_NONE ? 0xfffd : c, element);
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
		len = (size_t)(limit - p);
	fputs(name ? "<b>" : "", out);
	html_text(out, p, len);
	fputs(name ? "</b>" : "", out);
	return p + len;
}

void
html_json(FILE *out, const char *json, size_t len, size_t max, bool marked)
{
	const char *p = json, *end = json + len, *limit = json + facts_cut(json, len, max);
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
