#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/output/shown.h"

/* The line that is not whole yet. */
struct lines {
	FILE *to;
	char *text;
	size_t len, cap;
};

static bool
room_for(struct lines *lines, size_t more)
{
	size_t cap = lines->cap > 0 ? lines->cap : 4096;
	char *grown;

	if (lines->cap - lines->len >= more)
		return true;
	while (cap - lines->len < more) {
		if (cap > SIZE_MAX / 2)
			return false;
		cap *= 2;
	}
	if ((grown = realloc(lines->text, cap)) == NULL)
		return false;
	lines->text = grown;
	lines->cap = cap;
	return true;
}

static ssize_t
put(void *cookie, const char *text, size_t n)
{
	struct lines *lines = cookie;
	const char *end;
	size_t whole;

	if (!room_for(lines, n))
		return 0;
	memcpy(lines->text + lines->len, text, n);
	lines->len += n;
	end = memrchr(lines->text, '\n', lines->len);
	if (end == NULL)
		return (ssize_t)n;
	whole = (size_t)(end - lines->text) + 1;
	shown_json(lines->to, lines->text, whole);
	lines->len -= whole;
	memmove(lines->text, lines->text + whole, lines->len);
	return fflush(lines->to) == 0 ? (ssize_t)n : 0;
}

static int
put_rest(void *cookie)
{
	struct lines *lines = cookie;
	int rv;

	if (lines->len > 0)
		shown_json(lines->to, lines->text, lines->len);
	rv = fflush(lines->to);
	free(lines->text);
	free(lines);
	return rv;
}

FILE *
shown_lines(FILE *to)
{
	struct lines *lines = calloc(1, sizeof(*lines));
	FILE *out = lines == NULL ? NULL : fopencookie(lines, "w",
	    (cookie_io_functions_t){ .write = put, .close = put_rest });

	if (lines == NULL || out == NULL) {
		free(lines);
		return NULL;
	}
	lines->to = to;
	return out;
}
