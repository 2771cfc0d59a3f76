#include "ledger/json_scan.h"
#include "ledger/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Where the scan stands.  n_names is the height of the stack of names. */
struct scan {
	struct json_scan *scratch;
	const char *text;
	size_t len, at;
	size_t n_names;
	unsigned depth;
	const char *rule;
};

static bool scan_value(struct scan *);

static bool
fail(struct scan *s, const char *rule)
{
	if (s->rule == NULL)
		s->rule = rule;
	return false;
}

static bool
take(struct scan *s, char c)
{
	if (s->at >= s->len || s->text[s->at] != c)
		return false;
	s->at++;
	return true;
}

static bool
take_digits(struct scan *s)
{
	size_t start = s->at;

	while (s->at < s->len && s->text[s->at] >= '0' && s->text[s->at] <= '9')
		s->at++;
	return s->at > start;
}

/* Eight bytes at a time while all are plain: printable ASCII, neither quote
 * nor backslash.  Each term sets the high bit of a byte that is not. */
static void
skip_plain_words(struct scan *s)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const uint64_t highs = ones << 7;

	while (s->len - s->at >= 8) {
		uint64_t w, quote, slash, del;

		memcpy(&w, s->text + s->at, 8);
		quote = w ^ (ones * '"');
		slash = w ^ (ones * '\\');
		del = w ^ (ones * 0x7f);
		if (((w | (w - ones * 0x20) | (quote - ones) | (slash - ones) |
		    (del - ones)) & highs) != 0)
			return;
		s->at += 8;
	}
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

/* Four hexadecimal digits at s->at, or -1. */
static int
take_hex4(struct scan *s)
{
	int code = 0;

	if (s->len - s->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(s->text[s->at + (size_t)i]);

		if (digit < 0)
			return -1;
		code = code * 16 + digit;
	}
	s->at += 4;
	return code;
}

static bool
scan_unicode_escape(struct scan *s)
{
	int code = take_hex4(s);

	if (code < 0)
		return fail(s, "malformed \\u escape");
	if (code == 0)
		return fail(s, "U+0000 in a string");
	if (code >= 0xdc00 && code <= 0xdfff)
		return fail(s, "lone surrogate");
	if (code < 0xd800 || code > 0xdbff)
		return true;
	if (!take(s, '\\') || !take(s, 'u'))
		return fail(s, "lone surrogate");
	code = take_hex4(s);
	if (code < 0xdc00 || code > 0xdfff)
		return fail(s, "lone surrogate");
	return true;
}

static bool
scan_escape(struct scan *s)
{
	if (s->at >= s->len)
		return fail(s, "unterminated string");
	switch (s->text[s->at++]) {
	case '"': case '\\': case '/':
	case 'b': case 'f': case 'n': case 'r': case 't':
		return true;
	case 'u':
		return scan_unicode_escape(s);
	default:
		return fail(s, "unknown escape");
	}
}

/* After the opening quote, up to and including the closing one. */
static bool
scan_string(struct scan *s, bool *escaped)
{
	for (;;) {
		unsigned char c;
		size_t n;

		skip_plain_words(s);
		if (s->at >= s->len)
			return fail(s, "unterminated string");
		c = (unsigned char)s->text[s->at];
		if (c == '"') {
			s->at++;
			return true;
		}
		if (c < 0x20 || c == 0x7f)
			return fail(s, "raw control byte");
		if (c == '\\') {
			*escaped = true;
			s->at++;
			if (!scan_escape(s))
				return false;
			continue;
		}
		n = c < 0x80 ? 1 : utf8_char(s->text + s->at, s->len - s->at);
		if (n == 0)
			return fail(s, "invalid UTF-8");
		s->at += n;
	}
}

/* The digits of an integer at most 2^53-1, leading zeros excluded. */
static bool
within_int_max(const char *digits, size_t len)
{
	uint64_t value = 0;

	if (len > 16)
		return false;
	for (size_t i = 0; i < len; i++)
		value = value * 10 + (uint64_t)(digits[i] - '0');
	return value <= JSON_INT_MAX;
}

static bool
scan_exponent(struct scan *s)
{
	size_t start;

	if (!take(s, 'e') && !take(s, 'E'))
		return true;
	if (!take(s, '+'))
		take(s, '-');
	start = s->at;
	if (!take_digits(s))
		return fail(s, "malformed number");
	return s->at - start <= 2 || fail(s, "exponent of a number too long");
}

static bool
scan_number(struct scan *s)
{
	size_t start = s->at, digits;

	take(s, '-');
	digits = s->at;
	if (!take_digits(s))
		return fail(s, "malformed value");
	if (s->text[digits] == '0' && s->at - digits > 1)
		return fail(s, "leading zero in a number");
	if (s->at >= s->len ||
	    memchr(".eE", s->text[s->at], 3) == NULL) {
		return within_int_max(s->text + digits, s->at - digits) ||
		    fail(s, "integer beyond 2^53-1");
	}
	if (take(s, '.') && !take_digits(s))
		return fail(s, "malformed number");
	if (!scan_exponent(s))
		return false;
	return s->at - start <= JSON_NUMBER_MAX ||
	    fail(s, "number too long");
}

static bool
scan_word(struct scan *s, const char *word)
{
	size_t len = strlen(word);

	if (s->len - s->at < len || memcmp(s->text + s->at, word, len) != 0)
		return fail(s, "malformed value");
	s->at += len;
	return true;
}

static bool
enter(struct scan *s)
{
	if (s->depth == JSON_DEPTH_MAX)
		return fail(s, "nested too deeply");
	s->depth++;
	return true;
}

static bool
scan_array(struct scan *s)
{
	if (!enter(s))
		return false;
	if (!take(s, ']')) {
		do {
			if (!scan_value(s))
				return false;
		} while (take(s, ','));
		if (!take(s, ']'))
			return fail(s, "malformed array");
	}
	s->depth--;
	return true;
}

/* Push the name at text[at..at+len) unless its object, whose names start at
 * first, has it already.  The hash spares most comparisons. */
static bool
add_name(struct scan *s, size_t first, size_t at, size_t len)
{
	struct json_scan_name *names = s->scratch->names;
	uint8_t hash = 0;

	if (len > JSON_NAME_MAX)
		return fail(s, "name too long");
	if (s->n_names - first == JSON_NAMES_MAX)
		return fail(s, "too many names in an object");
	for (size_t i = 0; i < len; i++)
		hash = (uint8_t)(hash * 31 + (unsigned char)s->text[at + i]);
	for (size_t i = first; i < s->n_names; i++) {
		if (names[i].hash == hash && names[i].len == len &&
		    memcmp(s->text + names[i].at, s->text + at, len) == 0)
			return fail(s, "duplicate name");
	}
	names[s->n_names++] = (struct json_scan_name){ .at = (uint16_t)at,
	    .len = (uint8_t)len, .hash = hash };
	return true;
}

static bool
scan_member(struct scan *s, size_t first)
{
	bool escaped = false;
	size_t start;

	if (!take(s, '"'))
		return fail(s, "malformed object");
	start = s->at;
	if (!scan_string(s, &escaped))
		return false;
	if (escaped)
		return fail(s, "escape in a name");
	if (!add_name(s, first, start, s->at - 1 - start))
		return false;
	if (!take(s, ':'))
		return fail(s, "malformed object");
	return scan_value(s);
}

static bool
scan_object(struct scan *s)
{
	size_t first = s->n_names;

	if (!enter(s))
		return false;
	if (!take(s, '}')) {
		do {
			if (!scan_member(s, first))
				return false;
		} while (take(s, ','));
		if (!take(s, '}'))
			return fail(s, "malformed object");
	}
	s->n_names = first;
	s->depth--;
	return true;
}

static bool
scan_value(struct scan *s)
{
	bool escaped = false;

	if (s->at >= s->len)
		return fail(s, "cut short");
	switch (s->text[s->at]) {
	case '{':
		s->at++;
		return scan_object(s);
	case '[':
		s->at++;
		return scan_array(s);
	case '"':
		s->at++;
		return scan_string(s, &escaped);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		return scan_number(s);
	}
}

const char *
json_scan_object(struct json_scan *scratch, const char *text, size_t len)
{
	struct scan s = { .scratch = scratch, .text = text, .len = len };

	if (len > JSON_SCAN_MAX)
		return "too long";
	if (!take(&s, '{'))
		return "not an object";
	if (!scan_object(&s))
		return s.rule;
	return s.at == len ? NULL : "bytes behind the object";
}
