#include "ledger/record/json_plain.h"
#include "ledger/record/json_scan.h"
#include "ledger/utf8.h"

#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define JSON_INT_DIGITS 16	/* of the greatest integer */

/*
 * Where the text ends, and what was met on the way.  Every function takes the
 * place where it begins to read and returns the one behind what it has read,
 * or NULL with the rule that was broken.
 */
struct scan {
	struct json_scan *scratch;
	const char *text, *end;
	size_t n_names;		/* height of the stack of names */
	unsigned depth;
	unsigned escapes;	/* so far */
	const char *rule;
	const char *want;	/* a name of the outermost object, or NULL */
	size_t want_len;
	const char *value, *value_end;	/* of that member */
};

/* What every record's body goes through, so that it costs no calls. */
#define HOT __attribute__((always_inline)) static inline

static const char *scan_other(struct scan *, const char *);

static const char *
fail(struct scan *s, const char *rule)
{
	if (s->rule == NULL)
		s->rule = rule;
	return NULL;
}

static bool
refuse(struct scan *s, const char *rule)
{
	fail(s, rule);
	return false;
}

static bool
is(const struct scan *s, const char *p, char c)
{
	return p < s->end && *p == c;
}

static bool
is_digit(const struct scan *s, const char *p)
{
	return p < s->end && *p >= '0' && *p <= '9';
}

#ifdef __SSE2__
/* json_not_plain of 16 bytes, a bit each, and every mark is right.  One more than a
 * byte from 0x7f on is negative, or 0, and so below the space too. */
HOT unsigned
not_plain16(const char *p)
{
	const __m128i v = _mm_loadu_si128((const __m128i *)p);
	const __m128i marks = _mm_or_si128(
	    _mm_cmplt_epi8(_mm_add_epi8(v, _mm_set1_epi8(1)), _mm_set1_epi8(0x21)),
	    _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
	    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));

	return (unsigned)_mm_movemask_epi8(marks);
}
#endif

/* To the first byte that is not plain, or to less than 8 bytes from the end. */
HOT const char *
skip_plain(const struct scan *s, const char *p)
{
	uint64_t w, marks;

#ifdef __SSE2__
	unsigned found;

	for (; s->end - p >= 16; p += 16) {
		found = not_plain16(p);
		if (found != 0)
			return p + __builtin_ctz(found);
	}
	if (s->end - s->text >= 16) {	/* the last 16, without those before p */
		found = not_plain16(s->end - 16) >> (16 - (s->end - p));
		return found != 0 ? p + __builtin_ctz(found) : s->end;
	}
#endif
	for (; s->end - p >= 8; p += 8) {
		memcpy(&w, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w = __builtin_bswap64(w);
#endif
		marks = json_not_plain(w);
		if (marks != 0)
			return p + __builtin_ctzll(marks) / 8;
	}
	return p;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Four hexadecimal digits at p, or -1. */
static int
hex4(const struct scan *s, const char *p)
{
	int code = 0, i, digit;

	if (s->end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		digit = hex_digit(p[i]);
		if (digit < 0)
			return -1;
		code = code * 16 + digit;
	}
	return code;
}

/* Behind `\u`. */
static const char *
scan_unicode_escape(struct scan *s, const char *p)
{
	int code = hex4(s, p);

	if (code < 0)
		return fail(s, "malformed \\u escape");
	if (code == 0)
		return fail(s, "U+0000 in a string");
	if (code >= 0xdc00 && code <= 0xdfff)
		return fail(s, "lone surrogate");
	p += 4;
	if (code < 0xd800 || code > 0xdbff)
		return p;
	if (!is(s, p, '\\') || !is(s, p + 1, 'u'))
		return fail(s, "lone surrogate");
	code = hex4(s, p + 2);
	if (code < 0xdc00 || code > 0xdfff)
		return fail(s, "lone surrogate");
	return p + 6;
}

/* Behind the backslash. */
static const char *
scan_escape(struct scan *s, const char *p)
{
	if (p >= s->end)
		return fail(s, "unterminated string");
	switch (*p) {
	case '"': case '\\': case '/':
	case 'b': case 'f': case 'n': case 'r': case 't':
		return p + 1;
	case 'u':
		return scan_unicode_escape(s, p + 1);
	default:
		return fail(s, "unknown escape");
	}
}

/* A byte of a string that is not plain, the quote excepted. */
static const char *
scan_special(struct scan *s, const char *p)
{
	const unsigned char c = (unsigned char)*p;
	size_t n;

	if (c < 0x20 || c == 0x7f)
		return fail(s, "raw control byte");
	if (c == '\\') {
		s->escapes++;
		return scan_escape(s, p + 1);
	}
	n = c < 0x80 ? 1 : utf8_char(p, (size_t)(s->end - p));
	return n > 0 ? p + n : fail(s, "invalid UTF-8");
}

/* From a byte that is not plain, or the end. */
static const char *
scan_special_string(struct scan *s, const char *p)
{
	while (p < s->end && *p != '"') {
		if ((p = scan_special(s, p)) == NULL)
			return NULL;
		p = skip_plain(s, p);
	}
	return p < s->end ? p + 1 : fail(s, "unterminated string");
}

/* Behind the opening quote; to the place behind the closing one. */
HOT const char *
scan_string(struct scan *s, const char *p)
{
	p = skip_plain(s, p);
	return p < s->end && *p == '"' ? p + 1 : scan_special_string(s, p);
}

HOT const char *
skip_digits(const struct scan *s, const char *p)
{
	uint64_t w;

	if (s->end - p >= 8) {
		memcpy(&w, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w = __builtin_bswap64(w);
#endif
		/* a digit gives its value, anything else more than 9; what is
		 * carried on marks bytes behind one that is no digit, never before it */
		w ^= UINT64_C(0x3030303030303030);
		w = (w | (w + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
		if (w != 0)
			return p + __builtin_ctzll(w) / 8;
		p += 8;
	}
	while (is_digit(s, p))
		p++;
	return p;
}

/* From the point or the e on. */
static const char *
scan_fraction(struct scan *s, const char *p)
{
	const char *start;

	if (is(s, p, '.')) {
		start = ++p;
		if ((p = skip_digits(s, p)) == start)
			return fail(s, "malformed number");
	}
	if (!is(s, p, 'e') && !is(s, p, 'E'))
		return p;
	p++;
	if (is(s, p, '+') || is(s, p, '-'))
		p++;
	start = p;
	if ((p = skip_digits(s, p)) == start)
		return fail(s, "malformed number");
	return p - start <= 2 ? p : fail(s, "exponent of a number too long");
}

static bool
integer_fits(const char *digits, const char *end)
{
	uint64_t value = 0;

	if (end - digits != JSON_INT_DIGITS)
		return end - digits < JSON_INT_DIGITS;
	for (; digits < end; digits++)
		value = value * 10 + (uint64_t)(*digits - '0');
	return value <= JSON_INT_MAX;
}

/* Behind the sign, if there is one at start. */
HOT const char *
scan_number(struct scan *s, const char *start, const char *digits)
{
	const char *p = skip_digits(s, digits);

	if (p == digits)
		return fail(s, "malformed value");
	if (*digits == '0' && p - digits > 1)
		return fail(s, "leading zero in a number");
	if (p == s->end || (*p != '.' && (*p | 0x20) != 'e'))
		return integer_fits(digits, p) ? p : fail(s, "integer beyond 2^53-1");
	if ((p = scan_fraction(s, p)) == NULL)
		return NULL;
	return p - start <= JSON_NUMBER_MAX ? p : fail(s, "number too long");
}

HOT const char *
scan_value(struct scan *s, const char *p)
{
	if (is(s, p, '"'))
		return scan_string(s, p + 1);
	return is_digit(s, p) ? scan_number(s, p, p) : scan_other(s, p);
}

static const char *
scan_word(struct scan *s, const char *p, const char *word, size_t len)
{
	if ((size_t)(s->end - p) < len || memcmp(p, word, len) != 0)
		return fail(s, "malformed value");
	return p + len;
}

static bool
enter(struct scan *s)
{
	if (s->depth == JSON_DEPTH_MAX)
		return refuse(s, "nested too deeply");
	s->depth++;
	return true;
}

/* Behind the bracket. */
static const char *
scan_array(struct scan *s, const char *p)
{
	if (!enter(s))
		return NULL;
	if (!is(s, p, ']')) {
		while ((p = scan_value(s, p)) != NULL && is(s, p, ','))
			p++;
		if (p == NULL)
			return NULL;
		if (!is(s, p, ']'))
			return fail(s, "malformed array");
	}
	s->depth--;
	return p + 1;
}

/* Push the name [at, end) unless its object, whose names start at first, has
 * it already.  The length and a hash of three bytes spare most comparisons. */
HOT bool
add_name(struct scan *s, size_t first, const char *at, const char *end)
{
	struct json_scan_name *names = s->scratch->names;
	const size_t len = (size_t)(end - at);
	uint16_t key = (uint16_t)(len << 8);
	size_t i;

	if (len > JSON_NAME_MAX)
		return refuse(s, "name too long");
	if (s->n_names - first == JSON_NAMES_MAX)
		return refuse(s, "too many names in an object");
	if (len > 0)
		key |= (uint8_t)((unsigned char)at[0] * 7 +
		    (unsigned char)at[len / 2] * 3 + (unsigned char)end[-1]);
	for (i = first; i < s->n_names; i++)
		if (names[i].key == key && memcmp(s->text + names[i].at, at, len) == 0)
			return refuse(s, "duplicate name");
	names[s->n_names++] = (struct json_scan_name){
	    .at = (uint16_t)(at - s->text), .key = key };
	return true;
}

HOT const char *
scan_member(struct scan *s, const char *p, size_t first)
{
	const unsigned escapes = s->escapes;
	const char *name = p + 1, *value;
	bool wanted;

	if (!is(s, p, '"'))
		return fail(s, "malformed object");
	if ((p = scan_string(s, name)) == NULL)
		return NULL;
	if (s->escapes != escapes)
		return fail(s, "escape in a name");
	if (!add_name(s, first, name, p - 1))
		return NULL;
	if (!is(s, p, ':'))
		return fail(s, "malformed object");
	wanted = s->depth == 1 && (size_t)(p - 1 - name) == s->want_len &&
	    memcmp(name, s->want, s->want_len) == 0;
	value = p + 1;
	p = scan_value(s, value);
	if (wanted) {
		s->value = value;
		s->value_end = p;
	}
	return p;
}

/* Behind the brace. */
static const char *
scan_object(struct scan *s, const char *p)
{
	const size_t first = s->n_names;

	if (!enter(s))
		return NULL;
	if (!is(s, p, '}')) {
		while ((p = scan_member(s, p, first)) != NULL && is(s, p, ','))
			p++;
		if (p == NULL)
			return NULL;
		if (!is(s, p, '}'))
			return fail(s, "malformed object");
	}
	s->n_names = first;
	s->depth--;
	return p + 1;
}

/* A value that is neither an object nor an array. */
static const char *
scan_scalar(struct scan *s, const char *p)
{
	switch (*p) {
	case '"':
		return scan_string(s, p + 1);
	case 't':
		return scan_word(s, p, "true", 4);
	case 'f':
		return scan_word(s, p, "false", 5);
	case 'n':
		return scan_word(s, p, "null", 4);
	default:
		return scan_number(s, p, *p == '-' ? p + 1 : p);
	}
}

/* What scan_value does not read in place. */
static const char *
scan_other(struct scan *s, const char *p)
{
	if (p >= s->end)
		return fail(s, "cut short");
	switch (*p) {
	case '{':
		return scan_object(s, p + 1);
	case '[':
		return scan_array(s, p + 1);
	default:
		return scan_scalar(s, p);
	}
}

static const char *
scan_outermost(struct scan *s)
{
	const char *p;

	if (s->end - s->text > JSON_SCAN_MAX)
		return "too long";
	if (!is(s, s->text, '{'))
		return "not an object";
	if ((p = scan_object(s, s->text + 1)) == NULL)
		return s->rule;
	return p == s->end ? NULL : "bytes behind the object";
}

const char *
json_scan_object(struct json_scan *scratch, const char *text, size_t len)
{
	/* no name is that long */
	struct scan s = { .scratch = scratch, .text = text, .end = text + len,
	    .want_len = SIZE_MAX };

	return scan_outermost(&s);
}

const char *
json_scan_member(struct json_scan *scratch, const char *text, size_t len,
    const char *name, const char **value, size_t *value_len)
{
	struct scan s = { .scratch = scratch, .text = text, .end = text + len,
	    .want = name, .want_len = strlen(name) };
	const char *rule = scan_outermost(&s);

	*value = rule == NULL ? s.value : NULL;
	*value_len = *value != NULL ? (size_t)(s.value_end - s.value) : 0;
	return rule;
}

const char *
json_scan_scalar(const char *text, size_t len, const char *at)
{
	struct scan s = { .text = text, .end = text + len };

	return at < s.end ? scan_scalar(&s, at) : NULL;
}
