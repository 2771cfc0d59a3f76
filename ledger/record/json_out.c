#include "ledger/record/json_out.h"
#include "ledger/record/json_plain.h"
#include "ledger/utf8.h"

#include <string.h>

/* One byte of cap is kept for the final NUL. */
static void
put(struct json_out *out, const char *bytes, size_t len)
{
	if (out->overflow || out->cap - out->len <= len) {
		out->overflow = true;
		return;
	}
	memcpy(out->buf + out->len, bytes, len);
	out->len += len;
}

/* Room for len bytes, which the caller writes; or NULL. */
static char *
take(struct json_out *out, size_t len)
{
	char *at = out->buf + out->len;

	if (out->overflow || out->cap - out->len <= len) {
		out->overflow = true;
		return NULL;
	}
	out->len += len;
	return at;
}

static void
put_text(struct json_out *out, const char *text)
{
	put(out, text, strlen(text));
}

static void
put_escape(struct json_out *out, unsigned code)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', hex[code >> 12 & 15], hex[code >> 8 & 15],
	    hex[code >> 4 & 15], hex[code & 15] };

	put(out, text, sizeof(text));
}

static const char *
short_escape(char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

static bool
is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static uint64_t
load8(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

static uint64_t
load4(const char *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* Nearly every text is.  The last bytes are looked at together with some before
 * them. */
static bool
all_plain(const char *text, size_t len)
{
	uint64_t bad = 0;

	if (len >= 8) {
		for (size_t i = 0; i < len - 8; i += 8)
			bad |= json_not_plain(load8(text + i));
		return (bad | json_not_plain(load8(text + len - 8))) == 0;
	}
	if (len >= 4)
		return json_not_plain(load4(text) | load4(text + len - 4) << 32) == 0;
	for (size_t i = 0; i < len; i++)
		bad |= !is_plain(text[i]);
	return bad == 0;
}

/* How many bytes from the start are plain. */
static size_t
plain_len(const char *text, size_t len)
{
	size_t i = 0;

	while (len - i >= 8 && json_not_plain(load8(text + i)) == 0)
		i += 8;
	while (i < len && is_plain(text[i]))
		i++;
	return i;
}

/* One character that is not plain: returns how many bytes of text it took. */
static size_t
put_special(struct json_out *out, const char *text, size_t len)
{
	const char *escape = short_escape(text[0]);
	uint32_t c;
	const size_t n = utf8_next(text, len, &c);

	/* Even escaped, a NUL cuts the text short for many a reader. */
	if (c == UTF8_NONE || c == 0)
		put_text(out, "\xef\xbf\xbd");
	else if (escape != NULL)
		put_text(out, escape);
	else if (c > 0xffff && utf8_is_odd(c)) {
		put_escape(out, 0xd800 + ((c - 0x10000) >> 10));
		put_escape(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
	} else if (utf8_is_odd(c))	/* on a terminal, too, it must show what it is */
		put_escape(out, c);
	else
		put(out, text, n);
	return n;
}

/* Plain text: nearly all of it is. */
static void
put_quoted(struct json_out *out, const char *text, size_t len)
{
	char *at = take(out, len + 2);

	if (at == NULL)
		return;
	at[0] = '"';
	memcpy(at + 1, text, len);
	at[len + 1] = '"';
}

static void
put_string(struct json_out *out, const char *text, size_t len)
{
	size_t i = 0;

	if (all_plain(text, len)) {
		put_quoted(out, text, len);
		return;
	}
	put(out, "\"", 1);
	while (i < len && !out->overflow) {
		size_t plain = plain_len(text + i, len - i);

		put(out, text + i, plain);
		i += plain;
		if (i < len)
			i += put_special(out, text + i, len - i);
	}
	put(out, "\"", 1);
}

/* Comma and name before a value; a value was written once this returns. */
static void
begin_value(struct json_out *out, const char *key)
{
	size_t len = key != NULL ? strlen(key) : 0, comma = out->comma;
	char *at;

	out->comma = true;
	if (key != NULL && all_plain(key, len)) {
		if ((at = take(out, comma + len + 3)) == NULL)
			return;
		if (comma)
			*at++ = ',';
		*at++ = '"';
		memcpy(at, key, len);
		at[len] = '"';
		at[len + 1] = ':';
		return;
	}
	if (comma)
		put(out, ",", 1);
	if (key != NULL) {
		put_string(out, key, len);
		put(out, ":", 1);
	}
}

void
json_out_begin(struct json_out *out, char *buf, size_t cap)
{
	*out = (struct json_out){ .buf = buf, .cap = cap,
	    .overflow = cap == 0 };
}

void
json_out_object(struct json_out *out, const char *key)
{
	begin_value(out, key);
	put(out, "{", 1);
	out->comma = false;
}

void
json_out_object_end(struct json_out *out)
{
	put(out, "}", 1);
	out->comma = true;
}

void
json_out_array(struct json_out *out, const char *key)
{
	begin_value(out, key);
	put(out, "[", 1);
	out->comma = false;
}

void
json_out_array_end(struct json_out *out)
{
	put(out, "]", 1);
	out->comma = true;
}

void
json_out_str(struct json_out *out, const char *key, const char *text)
{
	json_out_strn(out, key, text, strlen(text));
}

void
json_out_strn(struct json_out *out, const char *key, const char *text,
    size_t len)
{
	begin_value(out, key);
	put_string(out, text, len);
}

void
json_out_uint(struct json_out *out, const char *key, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	begin_value(out, key);
	put(out, digits + at, sizeof(digits) - at);
}

void
json_out_int(struct json_out *out, const char *key, int64_t value)
{
	if (value >= 0) {
		json_out_uint(out, key, (uint64_t)value);
		return;
	}
	begin_value(out, key);
	put(out, "-", 1);
	out->comma = false;
	json_out_uint(out, NULL, -(uint64_t)value);
}

void
json_out_bool(struct json_out *out, const char *key, bool value)
{
	begin_value(out, key);
	put_text(out, value ? "true" : "false");
}

void
json_out_null(struct json_out *out, const char *key)
{
	begin_value(out, key);
	put_text(out, "null");
}

#define HEX_AT_ONCE 16

/* Both digits of a byte in one word, without a branch or a table, so that the
 * compiler does all of them at a time. */
static void
put_digits(char *at, const uint8_t bytes[HEX_AT_ONCE])
{
	uint16_t digits[HEX_AT_ONCE];

	for (size_t i = 0; i < HEX_AT_ONCE; i++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		uint16_t w = (uint16_t)((bytes[i] & 0xf0) << 4 | (bytes[i] & 15));
#else
		uint16_t w = (uint16_t)(bytes[i] >> 4 | (bytes[i] & 15) << 8);
#endif
		uint16_t letters = (uint16_t)(w + 0x0606) >> 4 & 0x0101;

		digits[i] = (uint16_t)(w + 0x3030 + letters * ('a' - '9' - 1));
	}
	memcpy(at, digits, sizeof(digits));
}

char *
json_hex(char *at, const uint8_t *bytes, size_t len)
{
	uint8_t rest[HEX_AT_ONCE] = { 0 };
	char digits[2 * HEX_AT_ONCE];
	size_t i;

	for (i = 0; len - i >= HEX_AT_ONCE; i += HEX_AT_ONCE)
		put_digits(at + 2 * i, bytes + i);
	if (i < len) {
		memcpy(rest, bytes + i, len - i);
		put_digits(digits, rest);
		memcpy(at + 2 * i, digits, 2 * (len - i));
	}
	return at + 2 * len;
}

void
json_out_hex(struct json_out *out, const char *key, const uint8_t *bytes,
    size_t len)
{
	char *at;

	begin_value(out, key);
	if (out->overflow || len > (out->cap - out->len) / 2 ||
	    (at = take(out, 2 * len + 2)) == NULL) {
		out->overflow = true;
		return;
	}
	*at++ = '"';
	*json_hex(at, bytes, len) = '"';
}

void
json_out_raw(struct json_out *out, const char *key, const char *raw,
    size_t len)
{
	begin_value(out, key);
	put(out, raw, len);
}

int
json_out_end(struct json_out *out)
{
	if (out->cap > 0)
		out->buf[out->overflow ? 0 : out->len] = '\0';
	return out->overflow || out->len > INT32_MAX ? -1 : (int)out->len;
}
