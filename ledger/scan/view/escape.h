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
/* Bytes of a terminal's control sequence. */
size_t scan_escape_colour(const uint8_t *p, size_t len);
/* Bytes of HTML's <wbr>, which says where a word may be cut, and is not seen; 0: none. */
size_t scan_escape_break(const uint8_t *p, size_t len);
/* A character in UTF-8 that is not seen, or is another's wide form. */
struct scan_step scan_escape_utf8(const uint8_t *p, size_t len);
/* A NUL, as UTF-16 has beside each character, with what is not seen behind that one;
 * len is 6 at least. */
struct scan_step scan_escape_utf16(const uint8_t *p, size_t len);
/* Whether a unit of these two bytes may be such a one, or a half of it. */
static inline bool
scan_utf16_may(uint8_t high, uint8_t low)
{
	switch (high) {
	case 0x00:
		return low == 0xad || low <= 0x01 || low == 0x0e;
	case 0x01: case 0x03: case 0x06: case 0x0e: case 0x11: case 0x17: case 0x18: case 0x20:
	case 0x31: case 0xbc: case 0xd1: case 0xd8: case 0xdb: case 0xfe: case 0xff:
		return true;
	default:
		return false;
	}
}
/* Whether a code point is not seen, or joins and shapes what stands beside it (Unicode's
 * Default_Ignorable_Code_Point, as far as it is in use). */
bool scan_unseen(uint32_t c);

/* ---- what stands for nothing ---- */

/* Where a word or a literal may be cut: text[at].  What was decoded in front of it
 * ends at out. */
struct scan_joint {
	const uint8_t *text;
	size_t at, len;
	const uint8_t *out;
	size_t out_len;
	size_t least;	/* characters of the shortest thing that is looked for */
};

/*
 * At a line end: bytes of it inside a word, with the next line's indentation, and
 * with what both lines begin with where that is the mark of a letter's quotation
 * (">"), of a diff ("+", "-") or of a list ("- ").  Where a word was cut in two, one part is not short:
 * so the lines of ordinary prose stay apart.  Those of a log do because their ends
 * and beginnings are no value together, of `least` characters, letters among them
 * where it is a format's.
 */
size_t scan_join_word(const struct scan_joint *joint);
/* At a backslash in front of a line end: the same; the parts may be short. */
size_t scan_join_continued(const struct scan_joint *joint);
/* At a line end, or at the quote that ends a literal: what stands between two that
 * are one value: "abc" + "def", with one operator or none, in one line or two; or two
 * of one list: "abc", "def". */
struct scan_step scan_join_literals(const struct scan_joint *joint);
/* At a line end behind "|", or at the rule of a frame in front of one, "│": the word
 * that stands before it goes on behind the next line's frame. */
struct scan_step scan_join_framed(const struct scan_joint *joint);

/* ---- for join.c, marks.c and literals.c ---- */

/* Bytes at text + at, the beginning of a line with such a character, that the line before it, in which the
 * joint is, has as its mark, too. */
size_t scan_join_mark(const struct scan_joint *joint, size_t at);
/* The same of a list's item, "- abc", behind one that is one word, too. */
size_t scan_join_item(const struct scan_joint *joint, size_t at);
#define SCAN_INDENT_MAX 64
#define SCAN_ALONE_MIN 16	/* bytes of a value that is all that a log's line says */
/* Bytes at text + at, the beginning of a line, that the line before it has, too, whose last
 * word ends at `end`: a comment's mark or a frame; or, but for its numbers, what stands before a
 * value in a log. */
size_t scan_join_prefix(const struct scan_joint *joint, size_t end, size_t at);
/* Bytes of a frame's rule at p: "│", "┃" or "║"; 0: none. */
size_t scan_rule(const uint8_t *p, size_t len);
/* Whether what ends at out and goes on at text + at is a value of the length that is
 * looked for; glued: with quotes, marks and the like between its pieces. */
bool scan_join_enough(const struct scan_joint *joint, size_t at, bool glued);

/* ---- characters ---- */

#define SCAN_IN_WORD 1
#define SCAN_IN_VALUE 2		/* and no "=", behind which a value begins */
#define SCAN_IN_MARK 32		/* what lines begin with, beside their text */
#define SCAN_IS_DIGIT 64
#define SCAN_IS_UPPER 128
extern const uint8_t scan_char[256];	/* these bits, and others of join.c */

/* Of what tokens are made of. */
static inline bool
scan_in_word(uint8_t c)
{
	return (scan_char[c] & SCAN_IN_WORD) != 0;
}

static inline bool
scan_is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Blanks at p. */
static inline size_t
scan_join_indent(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (i < len && i < SCAN_INDENT_MAX && (p[i] == ' ' || p[i] == '\t'))
		i++;
	return i;
}

static inline bool
scan_is_end(uint8_t c)
{
	return c == '\n' || c == '\r';
}

static inline bool
scan_is_quote(uint8_t c)
{
	return c == '"' || c == '\'';
}

/* What may stand behind a literal, in front of the next: the classes' SCAN_JOIN. */
static inline bool
scan_glues(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '+' || c == '.' || c == '&' || c == '|' ||
	    c == ',' || c == '\\' || scan_is_quote(c);
}

/* What the lines of a diff, or of a letter that is answered, begin with. */
static inline bool
scan_is_mark(uint8_t c)
{
	return c == '>' || c == '+' || c == '-';
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
