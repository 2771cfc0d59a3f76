#include <stdio.h>
#include <string.h>

#include "policy/number.h"
#include "policy/term.h"

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

static const struct value *
read_string(struct reader *r)
{
	const char *q = r->p;
	const struct value *v;

	for (q++; q < r->end && *q != '"'; q++)
		if (*q == '\\')
			q++;
	if (q >= r->end)
		return bad(r, "string without end");
	q++;
	v = value_from_json(r->arena, r->p, (size_t)(q - r->p),
	    &value_json_strict, r->err, r->err_len);
	r->p = q;
	return v;
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

	if (r->depth >= DEPTH_MAX)
		return bad(r, "nested too deeply");
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
	r->depth++;
	v = *r->p++ == '{' ? read_braces(r) : read_array(r);
	r->depth--;
	return v;
}

const struct value *
term_parse(struct arena *arena, const char *text, size_t len, char *err,
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
