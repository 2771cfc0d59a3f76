#include <string.h>

#include "policy/builtins/codec.h"

static const char *
alphabet(unsigned flags)
{
	return (flags & CODEC_URL) != 0 ?
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	    :
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

void
codec_base64(struct buf *out, const char *p, size_t n, unsigned flags)
{
	const unsigned char *u = (const unsigned char *)p;
	const char *digits = alphabet(flags);
	uint32_t x;
	size_t i, k;

	for (i = 0; i < n; i += 3) {
		x = (uint32_t)u[i] << 16 | (i + 1 < n ? u[i + 1] << 8 : 0) |
		    (i + 2 < n ? u[i + 2] : 0);
		for (k = 0; k < 4; k++) {
			if (k <= n - i)
				buf_putc(out, digits[x >> (18 - 6 * k) & 63]);
			else if ((flags & CODEC_PAD) != 0)
				buf_putc(out, '=');
		}
	}
}

bool
codec_unbase64(struct buf *out, const char *p, size_t n, unsigned flags)
{
	const char *digits = alphabet(flags), *at;
	uint32_t x = 0;
	unsigned have = 0, pads = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] == '\n' || p[i] == '\r')
			continue;
		if (p[i] == '=') {
			if ((flags & CODEC_PAD) == 0 || have + pads < 2 ||
			    ++pads + have > 4)
				return false;
			continue;
		}
		if (pads > 0 || p[i] == '\0' ||
		    (at = strchr(digits, p[i])) == NULL)
			return false;
		x = x << 6 | (uint32_t)(at - digits);
		if (++have < 4)
			continue;
		buf_putc(out, (char)(x >> 16));
		buf_putc(out, (char)(x >> 8));
		buf_putc(out, (char)x);
		have = 0;
		x = 0;
	}
	if (have == 1 || (have > 0 && (flags & CODEC_PAD) != 0 &&
	    have + pads != 4) || (have == 0 && pads > 0))
		return false;
	if (have >= 2)
		buf_putc(out, (char)(x >> (have == 2 ? 4 : 10)));
	if (have == 3)
		buf_putc(out, (char)(x >> 2));
	return true;
}

bool
codec_unbase64_lax(struct buf *out, const char *p, size_t n)
{
	struct buf padded = { .arena = out->arena };

	if (n > 0 && p[n - 1] != '=') {
		if (n % 4 == 1)
			return false;
		buf_put(&padded, p, n);
		buf_puts(&padded, n % 4 == 2 ? "==" : n % 4 == 3 ? "=" : "");
		p = padded.p;
		n = padded.n;
	}
	return codec_unbase64(out, p, n, CODEC_URL | CODEC_PAD);
}

void
codec_hex(struct buf *out, const char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < n; i++) {
		buf_putc(out, digits[(unsigned char)p[i] >> 4]);
		buf_putc(out, digits[(unsigned char)p[i] & 15]);
	}
}

static int
nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 32) >= 'a' && (c | 32) <= 'f')
		return (c | 32) - 'a' + 10;
	return -1;
}

bool
codec_unhex(struct buf *out, const char *p, size_t n)
{
	size_t i;

	if (n % 2 != 0)
		return false;
	for (i = 0; i < n; i += 2) {
		if (nibble(p[i]) < 0 || nibble(p[i + 1]) < 0)
			return false;
		buf_putc(out, (char)(nibble(p[i]) << 4 | nibble(p[i + 1])));
	}
	return true;
}

static bool
unreserved(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z')
	    || c == '-' || c == '_' || c == '.' || c == '~';
}

void
codec_query(struct buf *out, const char *p, size_t n)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t i;

	for (i = 0; i < n; i++) {
		if (unreserved(p[i])) {
			buf_putc(out, p[i]);
		} else if (p[i] == ' ') {
			buf_putc(out, '+');
		} else {
			buf_putc(out, '%');
			buf_putc(out, digits[(unsigned char)p[i] >> 4]);
			buf_putc(out, digits[(unsigned char)p[i] & 15]);
		}
	}
}

bool
codec_unquery(struct buf *out, const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] == '+') {
			buf_putc(out, ' ');
		} else if (p[i] != '%') {
			buf_putc(out, p[i]);
		} else {
			if (n - i < 3 || nibble(p[i + 1]) < 0 ||
			    nibble(p[i + 2]) < 0)
				return false;
			buf_putc(out, (char)(nibble(p[i + 1]) << 4 |
			    nibble(p[i + 2])));
			i += 2;
		}
	}
	return true;
}
