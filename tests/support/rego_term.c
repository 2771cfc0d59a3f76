#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "policy/value/number.h"
#include "rego_term.h"

#define DEPTH_MAX 128

struct reader {
	struct arena *arena;
	const char *p, *start, *end;
	unsigned depth;
	char *err;
	size_t err_len;
};

static const struct value *read_term(struct reader *);

static const struct value *
bad(struct reader *r, const char *what)
{
	if (r->err[0] == '\0')
		snprintf(r->err, r->err_len, "byte %zu: %s",
		    (size_t)(r->p - r->start), what);
	return NULL;
}

static bool
take(struct reader *r, const char *what)
{
	size_t n = strlen(what);

	while (r->p < r->end && memchr(" \t\r\n", *r->p, 4) != NULL)
		r->p++;
	if ((size_t)(r->end - r->p) < n || memcmp(r->p, what, n) != 0)
		return false;
	r->p += n;
	return true;
}

/* n hex digits at p; -1 where they are not. */
static int64_t
read_hex(const struct reader *r, const char *p, unsigned n)
{
	int64_t x = 0;
	unsigned i;

	if ((size_t)(r->end - p) < n)
		return -1;
	for (i = 0; i < n; i++) {
		if (!isxdigit((unsigned char)p[i]))
			return -1;
		x = x * 16 + (p[i] <= '9' ? p[i] - '0' :
		    (p[i] | 32) - 'a' + 10);
	}
	return x;
}

/* As in JSON, and as quote_text() writes: \x of a byte, \U of a code point. */
static bool
read_escape(struct reader *r, struct buf *out)
{
	static const char from[] = "\"\\/abfnrtv",
	    to[] = "\"\\/\a\b\f\n\r\t\v";
	char c = *r->p++;
	const char *at = c != '\0' ? strchr(from, c) : NULL;
	unsigned digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	int64_t x, low;

	if (at != NULL) {
		buf_putc(out, to[at - from]);
		return true;
	}
	if (digits == 0 || (x = read_hex(r, r->p, digits)) < 0 || x > 0x10ffff)
		return false;
	r->p += digits;
	if (c == 'x') {
		buf_putc(out, (char)x);
		return true;
	}
	if (x >= 0xd800 && x < 0xdc00 && r->end - r->p >= 6 &&
	    memcmp(r->p, "\\u", 2) == 0 &&
	    (low = read_hex(r, r->p + 2, 4)) >= 0xdc00 && low < 0xe000) {
		r->p += 6;
		x = 0x10000 + ((x - 0xd800) << 10) + (low - 0xdc00);
	}
	if (x >= 0xd800 && x < 0xe000)
		return false;
	buf_rune(out, (uint32_t)x);
	return true;
}

static const struct value *
read_string(struct reader *r)
{
	struct buf text = { .arena = r->arena };

	for (r->p++; r->p < r->end && *r->p != '"';) {
		if (*r->p != '\\') {
			buf_putc(&text, *r->p++);
			continue;
		}
		if (++r->p == r->end || !read_escape(r, &text))
			return bad(r, "bad escape in a string");
	}
	if (r->p == r->end)
		return bad(r, "string without end");
	r->p++;
	return buf_value(&text);
}

static const struct value *
read_array(struct reader *r)
{
	struct value *array = value_array(r->arena, 0);
	const struct value *v;

	while (!take(r, "]")) {
		if ((v = read_term(r)) == NULL)
			return NULL;
		value_append(r->arena, array, v);
		if (!take(r, ",") && (r->p == r->end || *r->p != ']'))
			return bad(r, "',' or ']' expected");
	}
	return array;
}

/* An object where the first term is followed by a colon, else a set. */
static const struct value *
read_braces(struct reader *r)
{
	struct value *object = value_object(r->arena, 0), *set = NULL;
	const struct value *key, *v;

	while (!take(r, "}")) {
		if ((key = read_term(r)) == NULL)
			return NULL;
		if (take(r, ":") && set == NULL) {
			if ((v = read_term(r)) == NULL)
				return NULL;
			value_put(r->arena, object, key, v);
		} else {
			if (object->col.n > 0)
				return bad(r, "':' expected");
			if (set == NULL)
				set = value_set(r->arena, 0);
			value_add(r->arena, set, key);
		}
		if (!take(r, ",") && (r->p == r->end || *r->p != '}'))
			return bad(r, "',' or '}' expected");
	}
	return set != NULL ? set : object;
}

static const struct value *
read_number(struct reader *r)
{
	size_t n = num_scan(r->p, (size_t)(r->end - r->p));

	if (n == 0)
		return bad(r, "not a term");
	r->p += n;
	return value_number(r->arena, r->p - n, n);
}

static const struct value *
read_term(struct reader *r)
{
	const struct value *v;

	if (take(r, "set()"))
		return value_set(r->arena, 0);
	if (take(r, "true"))
		return &value_true;
	if (take(r, "false"))
		return &value_false;
	if (take(r, "null"))
		return &value_null;
	if (r->p < r->end && *r->p == '"')
		return read_string(r);
	if (r->p == r->end || (*r->p != '[' && *r->p != '{'))
		return read_number(r);
	if (r->depth >= DEPTH_MAX)
		return bad(r, "nested too deeply");
	r->depth++;
	v = *r->p++ == '{' ? read_braces(r) : read_array(r);
	r->depth--;
	return v;
}

const struct value *
rego_term_parse(struct arena *arena, const char *text, size_t len, char *err,
    size_t err_len)
{
	struct reader r = { .arena = arena, .p = text, .start = text,
	    .end = text + len, .err = err, .err_len = err_len };
	const struct value *v = read_term(&r);

	if (v == NULL)
		return NULL;
	take(&r, "");
	return r.p == r.end ? v : bad(&r, "more text after the term");
}
