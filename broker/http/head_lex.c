#include "http/head_lex.h"

#include <endian.h>

const uint8_t head_lex_token[256] = {
	['!'] = 2, ['#'] = 2, ['$'] = 2, ['%'] = 2, ['&'] = 2, ['\''] = 2,
	['*'] = 2, ['+'] = 2, ['-'] = 1, ['.'] = 1, ['^'] = 2, ['_'] = 1,
	['`'] = 2, ['|'] = 2, ['~'] = 1,
	['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1,
	['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1,
	['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1,
	['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1,
	['M'] = 1, ['N'] = 1, ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1,
	['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1, ['W'] = 1, ['X'] = 1,
	['Y'] = 1, ['Z'] = 1,
	['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1,
	['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1, ['l'] = 1,
	['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1,
	['s'] = 1, ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1,
	['y'] = 1, ['z'] = 1,
};

enum head_result
head_lex_bad(struct head_error *err, unsigned status, const char *rule)
{
	err->status = status;
	err->rule = rule;
	return HEAD_BAD;
}

enum head_result
head_lex_crlf(struct head_cursor *c)
{
	if (c->p == c->end)
		return HEAD_MORE;
	if (*c->p == '\n')
		return head_lex_bad(c->err, 400, "bare LF");
	if (*c->p != '\r')
		return head_lex_bad(c->err, 400, "control byte");
	if (c->p + 1 == c->end)
		return HEAD_MORE;
	if (c->p[1] != '\n')
		return head_lex_bad(c->err, 400, "bare CR");
	c->p += 2;
	return HEAD_DONE;
}

static bool
is_control(unsigned char c)
{
	return (c < 0x20 && c != '\t') || c == 0x7f;
}

/*
 * The top bit of each of the eight bytes at p that is below 0x20, or 0x7f.  A
 * borrow can raise bits above the lowest such byte, never below it.
 */
static uint64_t
suspects(const char *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
	uint64_t word, del;

	memcpy(&word, p, sizeof(word));
	word = le64toh(word);
	del = word ^ (ones * 0x7f);
	return (((word - ones * 0x20) & ~word) | ((del - ones) & ~del)) & tops;
}

/* Most values are long and clean, so eight bytes at a time. */
static const char *
text_end(const char *p, const char *end)
{
	uint64_t found;

	while (end - p >= 8) {
		found = suspects(p);
		if (found == 0) {
			p += 8;
			continue;
		}
		p += __builtin_ctzll(found) / 8;
		if (*p != '\t')
			return p;
		p++;
	}
	while (p < end && !is_control((unsigned char)*p))
		p++;
	return p;
}

static struct slice
trimmed(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (p < end && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return (struct slice){ p, (size_t)(end - p) };
}

struct slice
head_lex_text(struct head_cursor *c)
{
	const char *begin = c->p;

	c->p = text_end(begin, c->end);
	return trimmed(begin, c->p);
}

enum head_result
head_lex_field(struct head_cursor *c, struct head_field *field)
{
	const char *name = c->p;

	while (c->p < c->end && head_lex_token[(unsigned char)*c->p])
		c->p++;
	if (c->p == c->end)
		return HEAD_MORE;
	field->name = (struct slice){ name, (size_t)(c->p - name) };
	if (*c->p != ':' || c->p == name) {
		if (*c->p == ' ' || *c->p == '\t')
			return head_lex_bad(c->err, 400, c->p == name ?
			    "folded line" : "white space before a colon");
		if (*c->p == '\n')
			return head_lex_bad(c->err, 400, "bare LF");
		return head_lex_bad(c->err, 400, "field name");
	}
	c->p++;
	field->value = head_lex_text(c);
	return head_lex_crlf(c);
}

bool
head_lex_element(struct slice *list, struct slice *element)
{
	const char *comma;
	size_t n;

	while (list->n > 0) {
		comma = memchr(list->p, ',', list->n);
		n = comma != NULL ? (size_t)(comma - list->p) : list->n;
		*element = trimmed(list->p, list->p + n);
		list->p += comma != NULL ? n + 1 : n;
		list->n -= comma != NULL ? n + 1 : n;
		if (element->n > 0)
			return true;
	}
	return false;
}

bool
head_lex_is_token(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!head_lex_token[(unsigned char)s.p[i]])
			return false;
	return s.n > 0;
}

bool
head_lex_looks_like(struct slice name, struct slice field)
{
	if (name.n != field.n)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i], small = (char)(c | 0x20);
		bool plain = (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9');

		if ((plain ? small : '-') != field.p[i])
			return false;
	}
	return true;
}
