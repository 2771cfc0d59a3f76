#include <string.h>

#include "policy/regex/glob_simple.h"

#define ELEMENTS_MAX 63

/* One bit for each element of the pattern; the state "i elements are behind
 * us" is bit i. */
struct elements {
	unsigned char rune[ELEMENTS_MAX];
	uint64_t any, star, over;	/* ?, * or **, ** */
	unsigned n;
};

static bool
split(const char *p, size_t len, struct elements *e)
{
	const char *end = p + len;
	uint64_t bit;

	e->any = e->star = e->over = 0;
	for (e->n = 0; p < end; e->n++) {
		if (e->n == ELEMENTS_MAX || *p == '[' || *p == '{' ||
		    (unsigned char)*p >= 0x80)
			return false;
		bit = (uint64_t)1 << e->n;
		e->rune[e->n] = (unsigned char)*p;
		if (*p == '?') {
			e->any |= bit;
		} else if (*p == '*') {
			e->star |= bit;
			if (p + 1 < end && p[1] == '*')
				e->over |= bit;
			while (p + 1 < end && p[1] == '*')
				p++;
		} else if (*p == '\\') {
			if (++p == end || (unsigned char)*p >= 0x80)
				return false;
			e->rune[e->n] = (unsigned char)*p;
		}
		p++;
	}
	return true;
}

static bool
delimits(const uint32_t *delimiters, uint32_t n, unsigned char c)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (delimiters[i] == c)
			return true;
	return false;
}

/* Stars may match nothing: what stands before one stands behind it, too. */
static uint64_t
close_over(const struct elements *e, uint64_t states)
{
	/* Two stars never stand side by side, so once is enough. */
	return states | (states & e->star) << 1;
}

static uint64_t
step(const struct elements *e, uint64_t states, unsigned char c,
    bool delimiter)
{
	uint64_t next, rest, bit;
	unsigned i;

	/* Stars stay where they are, except at a delimiter. */
	next = states & (delimiter ? e->over : e->star);
	rest = states & ~e->star & (((uint64_t)1 << e->n) - 1);
	for (; rest != 0; rest &= rest - 1) {
		i = (unsigned)__builtin_ctzll(rest);
		bit = (uint64_t)1 << i;
		if ((e->any & bit) != 0 ? !delimiter : e->rune[i] == c)
			next |= bit << 1;
	}
	return next;
}

int
glob_simple(const char *pattern, size_t len, const uint32_t *delimiters,
    uint32_t n_delimiters, const char *text, size_t text_len)
{
	struct elements e;
	uint64_t states = 1;
	size_t i;

	if (!split(pattern, len, &e))
		return -1;
	states = close_over(&e, states);
	for (i = 0; i < text_len && states != 0; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x80 && (e.any != 0 || n_delimiters > 0))
			return -1;	/* runes count, not bytes */
		states = step(&e, states, c,
		    delimits(delimiters, n_delimiters, c));
		states = close_over(&e, states);
	}
	return (states >> e.n & 1) != 0;
}
