/* Line ends inside a word, or between two literals that are one. */
#include "ledger/scan/view/escape.h"
#include "ledger/scan/view/view.h"

#define LETTERS 2	/* of any token: in its anchor alone, or in what is random */
#define PART_MIN 8	/* a part of a word that a line end cuts in two */

#define WORD 1		/* of what tokens are made of */
#define VALUE 2		/* and no "=", behind which a value begins */
#define LETTER 4

const uint8_t scan_word_char[256] = {
	['0' ... '9'] = WORD | VALUE, ['A' ... 'Z'] = WORD | VALUE | LETTER,
	['a' ... 'z'] = WORD | VALUE | LETTER, ['+'] = WORD | VALUE, ['/'] = WORD | VALUE,
	['_'] = WORD | VALUE, ['-'] = WORD | VALUE, ['.'] = WORD | VALUE,
	['~'] = WORD | VALUE, ['='] = WORD,
};

static bool
is(uint8_t c, unsigned what)
{
	return (scan_word_char[c] & what) != 0;
}

/* How much of a word ends, or begins, at p: no more than is asked for. */
static size_t
word_before(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && scan_in_word(p[-1 - (ptrdiff_t)i]))
		i++;
	return i;
}

static size_t
word_after(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && scan_in_word(p[i]))
		i++;
	return i;
}

/* How much of a value ends right in front of p, and goes on behind it in this
 * line and the next ones. */
static size_t
value_before(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && is(p[-1 - (ptrdiff_t)i], VALUE))
		i++;
	return i;
}

static size_t
value_after(const uint8_t *p, size_t len, size_t enough)
{
	size_t i, n = 0;

	for (i = 0; i < len && n < enough; i++) {
		if (is(p[i], VALUE))
			n++;
		else if (!scan_is_space(p[i]))
			break;
	}
	return n;
}

/* Whether the value that ends in front of out and goes on at p holds two letters:
 * "status=200" and the next line's "2026-11-29T12" are none together. */
static bool
has_letters(const uint8_t *p, size_t len, const uint8_t *out, size_t out_len)
{
	unsigned letters = 0;
	size_t i;

	for (i = 0; i < out_len && is(out[-1 - (ptrdiff_t)i], VALUE); i++)
		if (is(out[-1 - (ptrdiff_t)i], LETTER) && ++letters == LETTERS)
			return true;
	for (i = 0; i < len && (is(p[i], VALUE) || scan_is_space(p[i])); i++)
		if (is(p[i], LETTER) && ++letters == LETTERS)
			return true;
	return false;
}

size_t
scan_join_word(const uint8_t *p, size_t len, const uint8_t *out, size_t out_len, size_t least)
{
	size_t i = 0, ends = 0, n;

	if (out_len == 0 || !scan_in_word(out[-1]))
		return 0;
	while (i < len && (p[i] == '\r' || p[i] == '\n'))
		ends += p[i++] == '\n';
	while (i < len && i < 64 && (p[i] == ' ' || p[i] == '\t'))
		i++;
	if (i == len || ends > 2 || !scan_in_word(p[i]))
		return 0;
	if (word_after(p + i, len - i, PART_MIN) < PART_MIN &&
	    word_before(out, out_len, PART_MIN) < PART_MIN)
		return 0;
	n = value_before(out, out_len, least);
	return n + value_after(p + i, len - i, least - n) >= least && (least < SCAN_RUN_MIN ||
	    has_letters(p + i, len - i, out, out_len)) ? i : 0;
}

/* Spaces and at most one operator that puts literals together. */
static size_t
glue_after(const uint8_t *p, size_t len, unsigned *glues)
{
	size_t i = 0;

	for (; i < len && i < 64; i++) {
		if (p[i] == '+' || p[i] == '.')
			++*glues;
		else if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r' && p[i] != '\n')
			break;
	}
	return i;
}

static size_t
glue_before(const uint8_t *out, size_t len, unsigned *glues)
{
	size_t i = 0;
	uint8_t c;

	for (; i < len && i < 8; i++) {
		c = out[-1 - (ptrdiff_t)i];
		if (c == '+' || c == '.' || c == '\\')
			++*glues;
		else if (c != ' ' && c != '\t')
			break;
	}
	return i;
}

struct scan_step
scan_join_literals(const uint8_t *p, size_t len, const uint8_t *out, size_t out_len)
{
	struct scan_step none = SCAN_NO_STEP;
	unsigned glues = 0;
	size_t back = glue_before(out, out_len, &glues), ahead;

	if (back + 1 >= out_len || !scan_is_quote(out[-1 - (ptrdiff_t)back]) ||
	    !scan_in_word(out[-2 - (ptrdiff_t)back]))
		return none;
	ahead = glue_after(p, len, &glues);
	if (glues > 1 || ahead >= len || out[-1 - (ptrdiff_t)back] != p[ahead])
		return none;
	return (struct scan_step){ ahead + 1, 0, { 0 }, back + 1 };
}
