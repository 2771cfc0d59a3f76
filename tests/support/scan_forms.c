#include "scan_forms.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <zlib.h>
#include <zstd.h>

struct text {
	uint8_t p[SCAN_FORM_MAX];
	size_t len;
};

static void
add(struct text *t, const void *p, size_t len)
{
	if (len > SCAN_FORM_MAX - t->len)
		abort();
	memcpy(t->p + t->len, p, len);
	t->len += len;
}

static void
adds(struct text *t, const char *s)
{
	add(t, s, strlen(s));
}

static struct text
plain(const char *token)
{
	struct text t = { .len = 0 };

	adds(&t, token);
	return t;
}

enum spelling { LOWER, UPPER, SPACED, WITH_0X, PERCENT, PERCENT_LOW, DECIMAL, HTML_HEX, BACKSLASH_U, BACKSLASH_X, OCTAL, EQUALS };

static void
spell(enum spelling how, uint8_t c, char out[32])
{
	switch (how) {
	case LOWER:
		snprintf(out, 32, "%02x", c);
		break;
	case UPPER:
		snprintf(out, 32, "%02X", c);
		break;
	case SPACED:
		snprintf(out, 32, "%02x ", c);
		break;
	case WITH_0X:
		snprintf(out, 32, "0x%02x, ", c);
		break;
	case PERCENT:
		snprintf(out, 32, "%%%02X", c);
		break;
	case PERCENT_LOW:
		snprintf(out, 32, "%%%02x", c);
		break;
	case DECIMAL:
		snprintf(out, 32, "&#%u;", c);
		break;
	case HTML_HEX:
		snprintf(out, 32, "&#x%x;", c);
		break;
	case BACKSLASH_U:
		snprintf(out, 32, "\\u%04x", c);
		break;
	case BACKSLASH_X:
		snprintf(out, 32, "\\x%02x", c);
		break;
	case OCTAL:
		snprintf(out, 32, "\\%03o", c);
		break;
	case EQUALS:
		snprintf(out, 32, "=%02X", c);
		break;
	}
}

/* Every n-th byte so spelled, the others as they are. */
static struct text
every(size_t n, enum spelling how, const char *token)
{
	struct text t = { .len = 0 };
	char one[32];
	size_t i;

	for (i = 0; token[i] != '\0'; i++) {
		snprintf(one, sizeof(one), "%c", token[i]);
		if (i % n == 0)
			spell(how, (uint8_t)token[i], one);
		adds(&t, one);
	}
	return t;
}

static struct text
base64(struct text in, int variant)
{
	struct text t = { .len = 0 };
	char out[SCAN_FORM_MAX];

	sodium_bin2base64(out, sizeof(out), in.p, in.len, variant);
	adds(&t, out);
	return t;
}

static struct text
around(const void *front, size_t front_len, struct text in, const void *behind,
    size_t behind_len)
{
	struct text t = { .len = 0 };

	add(&t, front, front_len);
	add(&t, in.p, in.len);
	add(&t, behind, behind_len);
	return t;
}

static struct text
between(const char *front, struct text in, const char *behind)
{
	return around(front, strlen(front), in, behind, strlen(behind));
}

/* A line end (and what else) after every n bytes. */
static struct text
wrap(struct text in, size_t n, const char *end)
{
	struct text t = { .len = 0 };
	size_t i;

	for (i = 0; i < in.len; i += n) {
		if (i > 0)
			adds(&t, end);
		add(&t, in.p + i, in.len - i < n ? in.len - i : n);
	}
	return t;
}

/* Quoted-printable, over two lines. */
static struct text
soft_break(const char *token)
{
	char half[64];
	struct text first, second = every(3, EQUALS, token + 17);

	snprintf(half, sizeof(half), "%.17s", token);
	first = every(3, EQUALS, half);
	return around(first.p, first.len, around("=\r\n", 3, second, "", 0), "", 0);
}

static struct text
utf16(struct text in, int big, int bom)
{
	struct text t = { .len = 0 };
	uint8_t pair[2];
	size_t i;

	if (bom)
		add(&t, big ? "\xfe\xff" : "\xff\xfe", 2);
	for (i = 0; i < in.len; i++) {
		pair[big] = in.p[i];
		pair[!big] = 0;
		add(&t, pair, 2);
	}
	return t;
}

static struct text
deflated(struct text in, int bits)
{
	struct text t = { .len = 0 };
	z_stream z = { 0 };

	if (deflateInit2(&z, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	z.next_in = in.p;
	z.avail_in = (uInt)in.len;
	z.next_out = t.p;
	z.avail_out = SCAN_FORM_MAX;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	t.len = SCAN_FORM_MAX - z.avail_out;
	deflateEnd(&z);
	return t;
}

static struct text
zstd(struct text in)
{
	struct text t = { .len = 0 };

	t.len = ZSTD_compress(t.p, SCAN_FORM_MAX, in.p, in.len, 3);
	if (ZSTD_isError(t.len))
		abort();
	return t;
}

static void
le(struct text *t, uint32_t value, int bytes)
{
	uint8_t one;

	for (; bytes > 0; bytes--, value >>= 8) {
		one = (uint8_t)value;
		add(t, &one, 1);
	}
}

static struct text
zip(struct text in)
{
	struct text t = { .len = 0 }, packed = deflated(in, -15);

	adds(&t, "PK\3\4");
	le(&t, 20, 2);
	le(&t, 0, 2);
	le(&t, 8, 2);
	le(&t, 0, 4);
	le(&t, (uint32_t)crc32(0, in.p, (uInt)in.len), 4);
	le(&t, (uint32_t)packed.len, 4);
	le(&t, (uint32_t)in.len, 4);
	le(&t, 8, 2);
	le(&t, 0, 2);
	adds(&t, "conf.env");
	add(&t, packed.p, packed.len);
	return t;
}

static struct text
tar(struct text in)
{
	struct text t = { .len = 512 };
	unsigned sum = 0, i;

	memcpy(t.p, "etc/app.env", 11);
	memcpy(t.p + 100, "0000600\0" "0000000\0" "0000000\0", 24);
	snprintf((char *)t.p + 124, 12, "%011o", (unsigned)in.len);
	memcpy(t.p + 136, "00000000000\0" "        " "0", 21);
	memcpy(t.p + 257, "ustar\0" "00", 8);
	for (i = 0; i < 512; i++)
		sum += t.p[i];
	snprintf((char *)t.p + 148, 8, "%06o", sum);
	add(&t, in.p, in.len);
	t.len = (t.len + 511) / 512 * 512 + 1024;
	return t;
}

static struct text
base32(struct text in)
{
	struct text t = { .len = 0 };
	uint32_t window = 0;
	unsigned have = 0;
	size_t i;

	for (i = 0; i < in.len; i++) {
		window = window << 8 | in.p[i];
		for (have += 8; have >= 5; have -= 5)
			add(&t, &"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[window >> (have - 5) & 31], 1);
	}
	if (have > 0)
		add(&t, &"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[window << (5 - have) & 31], 1);
	return t;
}

static struct text
mirrored(const char *token, int rot)
{
	struct text t = { .len = 0 };
	size_t n = strlen(token), i;
	char c;

	for (i = 0; i < n; i++) {
		c = token[rot ? i : n - 1 - i];
		if (rot && isalpha((unsigned char)c))
			c = (char)((c & 0x20) + 'A' + ((c & 0x1f) - 1 + 13) % 26);
		add(&t, &c, 1);
	}
	return t;
}

static struct text
sse(const char *token)
{
	struct text t = { .len = 0 };
	char line[256];
	size_t i;

	for (i = 0; token[i] != '\0'; i += 11) {
		snprintf(line, sizeof(line), "event: content_block_delta\ndata: {\"type\":"
		    "\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
		    "\"text\":\"%.11s\"}}\n\n", token + i);
		adds(&t, line);
		if (strlen(token + i) <= 11)
			break;
	}
	return t;
}

static const char *const names[SCAN_FORMS] = {
	"raw", "nested JSON", "long line", "base64", "base64 without pad", "base64url",
	"base64url without pad after binary", "base64 around binary",
	"base64 glued to a prefix", "wrapped base64", "base64 twice",
	"base64 in JSON in escaped JSON, wrapped", "hex", "HEX", "spaced hex", "hex with 0x",
	"percent", "percent, some", "HTML decimal", "HTML hex", "\\u", "\\x", "octal",
	"quoted-printable", "UTF-16 LE", "UTF-16 BE with mark", "gzip", "zlib", "zstd",
	"tar in gzip", "zip", "newline split", "SSE split", "reversed", "base32", "rot13",
	"ANSI colours", "zero-width spaces", "UTF-16 in gzip", "gzip in base64 in zstd",
};

const char *
scan_form_name(unsigned form)
{
	return names[form];
}

static struct text
form_of(unsigned form, const char *token)
{
	static const uint8_t noise[] = { 0, 0xff, 0x81, 7, 0xc3, 0x28, 0, 0x9e };
	const int std = sodium_base64_VARIANT_ORIGINAL;
	const int std_nopad = sodium_base64_VARIANT_ORIGINAL_NO_PADDING;
	const int url = sodium_base64_VARIANT_URLSAFE;
	const int url_nopad = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
	struct text t = plain(token), long_line = { .len = 0 };
	unsigned i;

	switch (form) {
	case 1:
		return between("{\\\"a\\\":{\\\"b\\\":\\\"", t, "\\\"}}");
	case 2:
		for (i = 0; i < 5000; i++)
			add(&long_line, &"lorem ipsum, dolor "[i % 19], 1);
		adds(&long_line, " ");
		add(&long_line, token, strlen(token));
		adds(&long_line, " sit amet");
		return long_line;
	case 3:
		return base64(t, std);
	case 4:
		return base64(t, std_nopad);
	case 5:
		return base64(between("user:", t, "?>~"), url);
	case 6:
		return base64(around(noise, 7, t, "", 0), url_nopad);
	case 7:
		return base64(around(noise, 8, t, noise, 5), std);
	case 8:
		return between("pre_", base64(t, std), "");
	case 9:
		return wrap(base64(t, std), 20, "\n");
	case 10:
		return base64(base64(t, std), std);
	case 11:
		return between("{\\\"log\\\":\\\"{\\\\\\\"k\\\\\\\":\\\\\\\"",
		    wrap(base64(t, std), 20, "\\\\n"), "\\\\\\\"}\\\"}");
	case 12:
		return every(1, LOWER, token);
	case 13:
		return every(1, UPPER, token);
	case 14:
		return every(1, SPACED, token);
	case 15:
		return every(1, WITH_0X, token);
	case 16:
		return every(1, PERCENT, token);
	case 17:
		return every(3, PERCENT_LOW, token);
	case 18:
		return every(1, DECIMAL, token);
	case 19:
		return every(1, HTML_HEX, token);
	case 20:
		return every(1, BACKSLASH_U, token);
	case 21:
		return every(1, BACKSLASH_X, token);
	case 22:
		return every(1, OCTAL, token);
	case 23:
		return soft_break(token);
	case 24:
		return utf16(t, 0, 0);
	case 25:
		return utf16(t, 1, 1);
	case 26:
		return deflated(t, 15 + 16);
	case 27:
		return deflated(t, 15);
	case 28:
		return zstd(t);
	case 29:
		return deflated(tar(t), 15 + 16);
	case 30:
		return zip(t);
	case 31:
		return wrap(t, 23, "\n    ");
	case 32:
		return sse(token);
	case 33:
		return mirrored(token, 0);
	case 34:
		return base32(t);
	case 35:
		return mirrored(token, 1);
	case 36:
		return wrap(t, 9, "\x1b[0m\x1b[1;32m");
	case 37:
		return wrap(t, 7, "\xe2\x80\x8b");
	case 38:
		return deflated(utf16(t, 0, 1), 15 + 16);
	case 39:
		return zstd(base64(deflated(t, 15 + 16), std));
	default:
		return t;
	}
}

size_t
scan_form_make(unsigned form, const char *token, uint8_t *out)
{
	static const char front[] = "a line before\nvalue = ", behind[] = "\nand one behind\n";
	struct text t = form_of(form, token);
	/* UTF-16 of a whole file, packed files as they are */
	int bare = (form >= 24 && form <= 30) || form >= 38;
	struct text all = around(front, bare ? 0 : sizeof(front) - 1, t, behind,
	    bare ? 0 : sizeof(behind) - 1);

	memcpy(out, all.p, all.len);
	return all.len;
}
