#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger/export/canonical.h"
#include "ledger/utf8.h"

static void
put(struct canonical *c, const char *bytes, size_t len)
{
	if (c->overflow || len >= c->cap - c->len) {
		c->overflow = true;
		return;
	}
	memcpy(c->buf + c->len, bytes, len);
	c->len += len;
}

static void
put_unit(struct canonical *c, uint32_t unit)
{
	char text[16];

	snprintf(text, sizeof(text), "\\u%04x", unit);
	put(c, text, 6);
}

static void
put_char(struct canonical *c, uint32_t ch, const char *bytes, size_t len)
{
	static const char from[] = "\b\t\n\f\r\"\\", to[] = "btnfr\"\\";
	const char *special = ch < 0x80 && ch != 0 ? strchr(from, (int)ch) : NULL;
	char escape[2] = { '\\', 0 };

	if (special != NULL) {
		escape[1] = to[special - from];
		put(c, escape, 2);
	} else if (ch < 0x20) {
		put_unit(c, ch);
	} else if (c->ascii && ch >= 0x10000) {
		put_unit(c, 0xd800 + ((ch - 0x10000) >> 10));
		put_unit(c, 0xdc00 + ((ch - 0x10000) & 0x3ff));
	} else if (c->ascii && ch > 0x7f) {
		put_unit(c, ch);
	} else {
		put(c, bytes, len);
	}
}

static void
put_string(struct canonical *c, const char *text)
{
	const size_t len = strlen(text);
	size_t i, n;
	uint32_t ch;

	put(c, "\"", 1);
	for (i = 0; i < len; i += n) {
		n = utf8_next(text + i, len - i, &ch);
		if (ch != UTF8_NONE)
			put_char(c, ch, text + i, n);
		else
			put_char(c, 0xfffd, "\xef\xbf\xbd", 3);
	}
	put(c, "\"", 1);
}

static void
put_key(struct canonical *c, const char *key)
{
	if (c->comma)
		put(c, ",", 1);
	c->comma = true;
	if (key != NULL) {
		put_string(c, key);
		put(c, ":", 1);
	}
}

static void
open_with(struct canonical *c, const char *key, const char *bracket)
{
	put_key(c, key);
	put(c, bracket, 1);
	c->comma = false;
}

static void
close_with(struct canonical *c, const char *bracket)
{
	put(c, bracket, 1);
	c->comma = true;
}

void
canonical_begin(struct canonical *c, char *buf, size_t cap, bool ascii)
{
	*c = (struct canonical){ .buf = buf, .cap = cap, .ascii = ascii };
}

void
canonical_object(struct canonical *c, const char *key)
{
	open_with(c, key, "{");
}

void
canonical_object_end(struct canonical *c)
{
	close_with(c, "}");
}

void
canonical_array(struct canonical *c, const char *key)
{
	open_with(c, key, "[");
}

void
canonical_array_end(struct canonical *c)
{
	close_with(c, "]");
}

void
canonical_text(struct canonical *c, const char *key, const char *text)
{
	put_key(c, key);
	put_string(c, text);
}

void
canonical_number(struct canonical *c, const char *key, uint64_t value)
{
	char text[24];

	put_key(c, key);
	put(c, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, value));
}

int
canonical_end(struct canonical *c)
{
	if (c->overflow)
		return -1;
	c->buf[c->len] = '\0';
	return (int)c->len;
}
