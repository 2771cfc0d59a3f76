#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "ledger/scan/format/pattern.h"
#include "ledger/scan/format/table.h"

bool
scan_set_has(const uint64_t set[4], uint8_t byte)
{
	return (set[byte >> 6] >> (byte & 63) & 1) != 0;
}

void
scan_set_add(uint64_t set[4], uint8_t byte)
{
	set[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static bool
is_word(uint8_t byte)
{
	return isalnum(byte) || byte == '_';
}

static void
add_shorthand(uint64_t set[4], char what)
{
	static const char space[] = " \t\r\n\f\v";
	int c;

	switch (what) {
	case 'w':
		for (c = 0; c < 256; c++)
			if (is_word((uint8_t)c))
				scan_set_add(set, (uint8_t)c);
		break;
	case 's':
		for (c = 0; space[c] != '\0'; c++)
			scan_set_add(set, (uint8_t)space[c]);
		break;
	case 'n':
		scan_set_add(set, '\n');
		break;
	case 'r':
		scan_set_add(set, '\r');
		break;
	default:
		scan_set_add(set, (uint8_t)what);
	}
}

/* "[...]" at p; returns what follows it. */
static const char *
compile_class(const char *p, uint64_t set[4])
{
	bool negated = *++p == '^';
	int c;

	for (p += negated; *p != ']'; p++) {
		assert(*p != '\0');
		if (*p == '\\') {
			add_shorthand(set, *++p);
		} else if (p[1] == '-' && p[2] != ']') {
			for (c = (uint8_t)p[0]; c <= (uint8_t)p[2]; c++)
				scan_set_add(set, (uint8_t)c);
			p += 2;
		} else {
			scan_set_add(set, (uint8_t)*p);
		}
	}
	for (c = 0; negated && c < 4; c++)
		set[c] = ~set[c];
	return p + 1;
}

static const char *
compile_number(const char *p, uint16_t *out)
{
	for (*out = 0; isdigit((uint8_t)*p); p++)
		*out = (uint16_t)(*out * 10 + (*p - '0'));
	return p;
}

/* A repetition, if one is there. */
static const char *
compile_repeat(const char *p, struct scan_piece *piece)
{
	piece->min = piece->max = 1;
	if (*p == '?' || *p == '*') {
		piece->min = 0;
		piece->max = *p == '?' ? 1 : SCAN_REPEAT_MAX;
		return p + 1;
	}
	if (*p != '{')
		return p;
	p = compile_number(p + 1, &piece->min);
	piece->max = piece->min;
	if (*p == ',') {
		p = compile_number(p + 1, &piece->max);
		if (piece->max == 0)
			piece->max = SCAN_REPEAT_MAX;
	}
	assert(*p == '}' && piece->min <= piece->max);
	return p + 1;
}

static void
fold(uint64_t set[4])
{
	int c;

	for (c = 'a'; c <= 'z'; c++) {
		if (scan_set_has(set, (uint8_t)c))
			scan_set_add(set, (uint8_t)toupper(c));
		else if (scan_set_has(set, (uint8_t)toupper(c)))
			scan_set_add(set, (uint8_t)c);
	}
}

void
scan_pattern_compile(const char *p, bool folded, struct scan_pattern *out)
{
	struct scan_piece *piece;

	while (*p != '\0') {
		assert(out->count < SCAN_PIECES_MAX);
		piece = &out->piece[out->count++];
		if (*p == '[')
			p = compile_class(p, piece->set);
		else if (*p == '\\')
			add_shorthand(piece->set, *++p), p++;
		else
			scan_set_add(piece->set, (uint8_t)*p++);
		if (folded)
			fold(piece->set);
		p = compile_repeat(p, piece);
	}
}

/* ---- matching ---- */

/* n digits of the base end at `at`. */
static bool
digits_before(const uint8_t *p, size_t at, size_t n, bool octal)
{
	size_t i;

	for (i = 1; i <= n && i <= at; i++)
		if (octal ? p[at - i] < '0' || p[at - i] > '7' : !isxdigit(p[at - i]))
			return false;
	return n <= at;
}

/* "\x1b[1;31m" and its like, whose beginning may be written in many ways. */
static bool
ends_colour(const uint8_t *p, size_t at)
{
	size_t i = at - 1;

	if (memchr("mKhlGH", p[i], 6) == NULL)
		return false;
	while (i > 0 && at - i < 16 && (isdigit(p[i - 1]) || p[i - 1] == ';' || p[i - 1] == '?'))
		i--;
	return i > 0 && p[i - 1] == '[';
}

/* A letter that ends an escape is part of the escape, not of a word; and what
 * a view dropped bytes in front of begins a word. */
static bool
word_start(const struct scan_text *text, size_t at)
{
	const uint8_t *p = text->p;

	if (at == 0 || !is_word(p[at - 1]))
		return true;
	if (text->map != NULL && scan_map_joint(text->map, at))
		return true;
	if (at >= 2 && p[at - 2] == '\\' && strchr("nrtbfave0", p[at - 1]) != NULL)
		return true;
	if (at >= 3 && p[at - 3] == '%' && digits_before(p, at, 2, false))
		return true;
	if (at >= 4 && p[at - 4] == '\\' && (digits_before(p, at, 3, true) ||
	    (p[at - 3] == 'x' && digits_before(p, at, 2, false))))
		return true;
	return ends_colour(p, at) || (at >= 6 && p[at - 6] == '\\' && p[at - 5] == 'u' &&
	    digits_before(p, at, 4, false));
}

static bool
starts_well(const struct scan_text *text, size_t at)
{
	if ((text->flags & F_TOKEN_START) != 0 && at > 0 &&
	    (text->p[at - 1] == '+' || text->p[at - 1] == '/'))
		return false;
	return (text->flags & F_WORD_START) == 0 || word_start(text, at);
}

static bool
ends_well(const struct scan_text *text, size_t at)
{
	uint8_t next;

	if (at >= text->len ||
	    (text->map != NULL && scan_map_joint(text->map, at)))
		return true;
	next = text->p[at];
	if ((text->flags & F_WORD_END) != 0 && is_word(next) &&
	    is_word(text->p[at - 1]))
		return false;
	return (text->flags & F_TOKEN_END) == 0 ||
	    !(isalnum(next) || next == '+' || next == '/' || next == '=');
}

/* The pieces are few and their repetitions bounded, and so is the depth. */
static ptrdiff_t
forward(const struct scan_pattern *pattern, unsigned i,
    const struct scan_text *text, size_t at)
{
	const struct scan_piece *piece = &pattern->piece[i];
	ptrdiff_t end;
	size_t run = 0;

	if (i == pattern->count)
		return ends_well(text, at) ? (ptrdiff_t)at : -1;
	while (run < piece->max && at + run < text->len &&
	    scan_set_has(piece->set, text->p[at + run]))
		run++;
	for (; run >= piece->min; run--) {
		end = forward(pattern, i + 1, text, at + run);
		if (end >= 0) {
			if (text->taken != NULL)
				text->taken[i] = (uint16_t)run;
			return end;
		}
		if (run == 0)
			break;
	}
	return -1;
}

static ptrdiff_t
backward(const struct scan_pattern *pattern, unsigned i,
    const struct scan_text *text, size_t at)
{
	const struct scan_piece *piece;
	ptrdiff_t start;
	size_t run = 0;

	if (i == 0)
		return starts_well(text, at) ? (ptrdiff_t)at : -1;
	piece = &pattern->piece[i - 1];
	while (run < piece->max && run < at &&
	    scan_set_has(piece->set, text->p[at - run - 1]))
		run++;
	for (; run >= piece->min; run--) {
		start = backward(pattern, i - 1, text, at - run);
		if (start >= 0) {
			if (text->taken != NULL)
				text->taken[i - 1] = (uint16_t)run;
			return start;
		}
		if (run == 0)
			break;
	}
	return -1;
}

ptrdiff_t
scan_pattern_forward(const struct scan_pattern *pattern,
    const struct scan_text *text, size_t at)
{
	return forward(pattern, 0, text, at);
}

ptrdiff_t
scan_pattern_backward(const struct scan_pattern *pattern,
    const struct scan_text *text, size_t at)
{
	return backward(pattern, pattern->count, text, at);
}
