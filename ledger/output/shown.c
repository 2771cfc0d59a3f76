#include <string.h>

#include "ledger/output/shown.h"
#include "ledger/utf8.h"

void
shown_put(FILE *out, const char *text, size_t max)
{
	const size_t len = strlen(text);
	size_t i, n;
	uint32_t c;

	for (i = 0; i < len; i += n) {
		n = utf8_next(text + i, len - i, &c);
		if (i + n > max)
			break;
		if (utf8_is_odd(c))
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
	size_t i, n;
	uint32_t c;

	for (i = 0; i < len; i += n) {
		n = utf8_next(text + i, len - i, &c);
		if (c == UTF8_NONE)
			putc('?', out);
		else if (c == '\n' || !utf8_is_odd(c))
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
