/*
 * How a part of a text is written shorter: what the escaped view is made of.
 * Private to it; pure.
 */
#ifndef LEDGER_SCAN_VIEW_ESCAPE_H
#define LEDGER_SCAN_VIEW_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `used` bytes stand for `n` in out; 0 used: they are as they are. */
struct scan_step {
	size_t used, n;
	uint8_t out[4];
	size_t back;	/* bytes written before it that go too: a closing quote */
};

#define SCAN_NO_STEP ((struct scan_step){ 0, 0, { 0 }, 0 })

/* ---- what stands for one byte ---- */

/* An escape that begins with a backslash, "&", "=" or "%". */
struct scan_step scan_escape(const uint8_t *p, size_t len);
/* Bytes of a terminal's control sequence; of a character that is not seen. */
size_t scan_escape_colour(const uint8_t *p, size_t len);
size_t scan_escape_invisible(const uint8_t *p, size_t len);

/* ---- what stands for nothing: p is a line end, out what was decoded before ---- */

/*
 * Bytes of a line end inside a word, with the next line's indentation.  Where a
 * word was cut in two, one part is not short: so the lines of ordinary prose stay
 * apart.  Those of a log do because their ends and beginnings are no value
 * together, of `least` characters, letters among them where it is a format's.
 */
size_t scan_join_word(const uint8_t *p, size_t len, const uint8_t *out, size_t out_len,
    size_t least);
/* A line end between two literals that are one: "abc" + \n "def", with the
 * operator on either line or none at all. */
struct scan_step scan_join_literals(const uint8_t *p, size_t len, const uint8_t *out,
    size_t out_len);

/* ---- characters ---- */

extern const uint8_t scan_word_char[256];	/* 0: none of a word */

/* Of what tokens are made of. */
static inline bool
scan_in_word(uint8_t c)
{
	return scan_word_char[c] != 0;
}

static inline bool
scan_is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool
scan_is_quote(uint8_t c)
{
	return c == '"' || c == '\'';
}

/* A hexadecimal digit's value, or -1. */
static inline int
scan_nibble(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
