#include <stdio.h>
#include <string.h>

#include "policy/value/number.h"
#include "policy/value/quote.h"
#include "policy/value/utf8.h"
#include "policy/value/value.h"

const struct value_json_limits value_json_strict = { .depth = 128 };

struct reader {
	struct arena *arena;
	const char *text, *p, *end;
	const struct value_json_limits *limits;
	unsigned depth;
	char *err;
	size_t err_len;
};

static const struct value *read_value(struct reader *);

static const struct value *
bad(struct reader *r, const char *what)
{
	size_t line = 1, column = 1;

	for (const char *p = r->text; p < r->p; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	if (r->err_len > 0)
		snprintf(r->err, r->err_len, "line %zu, column %zu: %s", line,
		    column, what);
	return NULL;
}

static void
skip_space(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' ||
	    *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static bool
take(struct reader *r, char c)
{
	if (r->p < r->end && *r->p <= ' ')
		skip_space(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static const struct value *
read_word(struct reader *r, const char *word, const struct value *v)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return bad(r, "not a JSON value");
	r->p += n;
	return v;
}

static const struct value *
read_number(struct reader *r)
{
	const char *start = r->p;
	size_t n = num_scan(start, (size_t)(r->end - start));

	if (n == 0)
		return bad(r, "not a number");
	if (n > NUM_TEXT_MAX)
		return bad(r, "number too long");
	r->p += n;
	return value_number(r->arena, start, n);
}

/* Four hex digits after \u; -1 where they are not. */
static int32_t
hex4(const struct reader *r, const char *p)
{
	int32_t x = 0;
	int i, d;

	if (r->end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		if (p[i] >= '0' && p[i] <= '9')
			d = p[i] - '0';
		else if ((p[i] | 32) >= 'a' && (p[i] | 32) <= 'f')
			d = (p[i] | 32) - 'a' + 10;
		else
			return -1;
		x = x * 16 + d;
	}
	return x;
}

/* p stands behind \u. */
static bool
read_unicode(struct reader *r, struct buf *out)
{
	int32_t x = hex4(r, r->p), low;

	if (x < 0)
		return false;
	r->p += 4;
	if (x >= 0xd800 && x < 0xdc00 && r->end - r->p >= 6 &&
	    r->p[0] == '\\' && r->p[1] == 'u' &&
	    (low = hex4(r, r->p + 2)) >= 0xdc00 && low < 0xe000) {
		r->p += 6;
		x = 0x10000 + ((x - 0xd800) << 10) + (low - 0xdc00);
	}
	if (x >= 0xd800 && x < 0xe000) {
		if (!r->limits->lone_surrogates)
			return false;
		x = 0xfffd;
	}
	buf_rune(out, (uint32_t)x);
	return true;
}

static bool
read_escape(struct reader *r, struct buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (r->p == r->end)
		return false;
	if (*r->p == 'u') {
		r->p++;
		return read_unicode(r, out);
	}
	if (*r->p == '\0' || (at = strchr(from, *r->p)) == NULL)
		return false;
	buf_putc(out, to[at - from]);
	r->p++;
	return true;
}

/* p stands at an escape; what came before goes along. */
static const struct value *
read_escaped(struct reader *r, const char *start)
{
	struct buf b = { .arena = r->arena };

	buf_put(&b, start, (size_t)(r->p - start));
	while (r->p < r->end && *r->p != '"') {
		if ((unsigned char)*r->p < 0x20)
			return bad(r, "control character in a string");
		if (*r->p != '\\') {
			buf_putc(&b, *r->p++);
			continue;
		}
		r->p++;
		if (!read_escape(r, &b))
			return bad(r, "bad escape in a string");
	}
	if (r->p == r->end)
		return bad(r, "string without end");
	r->p++;
	return buf_value(&b);
}

/* p stands behind the opening quote.  The text was checked to be UTF-8. */
static const struct value *
read_string(struct reader *r)
{
	const char *start = r->p;

	r->p += utf8_plain_prefix(r->p, (size_t)(r->end - r->p));
	for (; r->p < r->end; r->p++) {
		if (*r->p == '"')
			return value_string(r->arena, start,
			    (size_t)(r->p++ - start));
		if (*r->p == '\\')
			return read_escaped(r, start);
		if ((unsigned char)*r->p < 0x20)
			return bad(r, "control character in a string");
	}
	return bad(r, "string without end");
}

static const struct value *
read_array(struct reader *r)
{
	struct value *array = value_array(r->arena, 0);
	const struct value *item;

	if (take(r, ']'))
		return array;
	do {
		if ((item = read_value(r)) == NULL)
			return NULL;
		value_append(r->arena, array, item);
	} while (take(r, ','));
	return take(r, ']') ? array : bad(r, "',' or ']' expected");
}

static const struct value *
read_object(struct reader *r)
{
	struct value *object = value_object(r->arena, 0);
	const struct value *key, *item;
	uint32_t n;

	if (take(r, '}'))
		return object;
	do {
		if (!take(r, '"'))
			return bad(r, "a name in quotes expected");
		if ((key = read_string(r)) == NULL)
			return NULL;
		if (!take(r, ':'))
			return bad(r, "':' expected");
		if ((item = read_value(r)) == NULL)
			return NULL;
		n = object->col.n;
		value_put(r->arena, object, key, item);
		if (object->col.n == n && !r->limits->last_wins)
			return bad(r, "the same name twice in one object");
	} while (take(r, ','));
	return take(r, '}') ? object : bad(r, "',' or '}' expected");
}

static const struct value *
read_value(struct reader *r)
{
	const struct value *v;

	skip_space(r);
	if (r->p == r->end)
		return bad(r, "a value expected, the text ends");
	arena_step(r->arena, 1);
	switch (*r->p) {
	case '{':
	case '[':
		if (r->depth >= r->limits->depth)
			return bad(r, "nested too deeply");
		r->depth++;
		v = *r->p++ == '{' ? read_object(r) : read_array(r);
		r->depth--;
		return v;
	case '"':
		r->p++;
		return read_string(r);
	case 't':
		return read_word(r, "true", &value_true);
	case 'f':
		return read_word(r, "false", &value_false);
	case 'n':
		return read_word(r, "null", &value_null);
	default:
		return read_number(r);
	}
}

const struct value *
value_from_json(struct arena *arena, const char *text, size_t len,
    const struct value_json_limits *limits, char *err, size_t err_len)
{
	struct reader r = { .arena = arena, .text = text, .p = text,
	    .end = text + len, .limits = limits, .err = err,
	    .err_len = err_len };
	const struct value *v;
	size_t valid = utf8_valid_prefix(text, len);

	if (valid < len) {
		r.p = text + valid;
		return bad(&r, "not UTF-8");
	}
	if ((v = read_value(&r)) == NULL)
		return NULL;
	skip_space(&r);
	return r.p == r.end ? v : bad(&r, "more text after the value");
}

/* --- writing ---------------------------------------------------------- */

void
buf_put(struct buf *buf, const char *p, size_t n)
{
	size_t cap;
	char *q;

	if (n > buf->cap - buf->n) {
		cap = buf->cap < 64 ? 64 : buf->cap * 2;
		if (cap < buf->n + n)
			cap = buf->n + n;
		q = arena_alloc(buf->arena, cap);
		if (buf->n > 0)
			memcpy(q, buf->p, buf->n);
		buf->p = q;
		buf->cap = cap;
	}
	if (n > 0)
		memcpy(buf->p + buf->n, p, n);
	buf->n += n;
}

void
buf_puts(struct buf *buf, const char *s)
{
	buf_put(buf, s, strlen(s));
}

void
buf_putc(struct buf *buf, char c)
{
	if (buf->n < buf->cap)
		buf->p[buf->n++] = c;
	else
		buf_put(buf, &c, 1);
}

void
buf_rune(struct buf *buf, uint32_t rune)
{
	char text[4];

	buf_put(buf, text, utf8_encode(rune, text));
}

const struct value *
buf_value(struct buf *buf)
{
	return value_string(buf->arena, buf->p, buf->n);
}

static bool
html(const char *p, size_t left, char *escaped)
{
	unsigned x = 0;

	if (*p == '<' || *p == '>' || *p == '&')
		x = (unsigned char)*p;
	else if (left >= 3 && memcmp(p, "\xe2\x80", 2) == 0 &&
	    ((unsigned char)p[2] | 1) == 0xa9)
		x = 0x2000 + ((unsigned char)p[2] & 0x3f);
	if (x == 0)
		return false;
	snprintf(escaped, 8, "\\u%04x", x);
	return true;
}

void
value_json_string(struct buf *buf, const char *p, size_t n, unsigned flags)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	char escaped[8];
	const char *at;
	size_t i = 0, used;

	buf_putc(buf, '"');
	if ((flags & VALUE_JSON_HTML) == 0) {
		i = utf8_plain_prefix(p, n);
		buf_put(buf, p, i);
	}
	for (; i < n; i++) {
		if (p[i] != '\0' && (at = strchr(from, p[i])) != NULL) {
			buf_putc(buf, '\\');
			buf_putc(buf, to[at - from]);
		} else if ((unsigned char)p[i] < 0x20) {
			snprintf(escaped, sizeof(escaped), "\\u%04x",
			    (unsigned)p[i]);
			buf_puts(buf, escaped);
		} else if ((flags & VALUE_JSON_HTML) != 0 &&
		    html(p + i, n - i, escaped)) {
			buf_puts(buf, escaped);
			i += escaped[2] == '2' ? 2 : 0;
		} else if ((unsigned char)p[i] < 0x80) {
			buf_putc(buf, p[i]);
		} else if (utf8_decode(p + i, n - i, &used) == 0xfffd &&
		    used == 1) {
			buf_puts(buf, "\\ufffd");
		} else {
			buf_put(buf, p + i, used);
			i += used - 1;
		}
	}
	buf_putc(buf, '"');
}

static void write_value(struct buf *, const struct value *, unsigned, unsigned);

/* JSON wants strings as names: others are written and then quoted. */
static void
write_key(struct buf *buf, const struct value *key, unsigned flags,
    unsigned depth)
{
	struct buf text = { .arena = buf->arena };

	if (key->kind == VALUE_STRING || (flags & VALUE_JSON_REGO) != 0) {
		write_value(buf, key, flags, depth);
		return;
	}
	write_value(&text, key, flags, depth);
	value_json_string(buf, text.p, text.n, flags);
}

static void
write_collection(struct buf *buf, const struct value *v, unsigned flags,
    unsigned depth)
{
	bool rego = (flags & VALUE_JSON_REGO) != 0, object, set;
	uint32_t i;

	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(buf->arena, "value nested too deeply");
	arena_step(buf->arena, 1 + v->col.n);
	object = v->kind == VALUE_OBJECT;
	set = v->kind == VALUE_SET && rego;
	if (set && v->col.n == 0) {
		buf_puts(buf, "set()");
		return;
	}
	value_sort(buf->arena, v);
	buf_putc(buf, object || set ? '{' : '[');
	for (i = 0; i < v->col.n; i++) {
		if (i > 0)
			buf_puts(buf, rego ? ", " : ",");
		if (object) {
			write_key(buf, value_key_at(v, i), flags, depth + 1);
			buf_puts(buf, rego ? ": " : ":");
		}
		write_value(buf, value_at(v, i), flags, depth + 1);
	}
	buf_putc(buf, object || set ? '}' : ']');
}

static void
write_value(struct buf *buf, const struct value *v, unsigned flags,
    unsigned depth)
{
	char text[24];
	const char *p;
	size_t n;

	switch ((enum value_kind)v->kind) {
	case VALUE_NULL:
		buf_puts(buf, "null");
		break;
	case VALUE_BOOL:
		buf_puts(buf, v->truth ? "true" : "false");
		break;
	case VALUE_NUMBER:
		p = num_text(v, text, &n);
		buf_put(buf, p, n);
		break;
	case VALUE_STRING:
		if ((flags & VALUE_JSON_REGO) != 0)
			quote_text(buf, v->str.p, v->str.n);
		else
			value_json_string(buf, v->str.p, v->str.n, flags);
		break;
	case VALUE_ARRAY:
	case VALUE_OBJECT:
	case VALUE_SET:
		write_collection(buf, v, flags, depth);
		break;
	}
}

void
value_to_json(struct buf *buf, const struct value *value, unsigned flags)
{
	write_value(buf, value, flags, 0);
}
