/* Sets of runes: classes in brackets, of one letter, by name, and escapes. */
#include <string.h>

#include "policy/regex/parse.h"
#include "policy/value/unicode_case.h"
#include "policy/value/utf8.h"

/* --- sets of runes ---------------------------------------------------- */

void
parse_set_add(struct set *set, uint32_t low, uint32_t high)
{
	struct rune_range *grown;

	if (set->n == set->cap) {
		set->cap = set->cap < 8 ? 8 : set->cap * 2;
		grown = arena_array(set->arena, set->cap, sizeof(*grown));
		if (set->n > 0)
			memcpy(grown, set->ranges, set->n * sizeof(*grown));
		set->ranges = grown;
	}
	set->ranges[set->n++] = (struct rune_range){ low, high };
}

static void
set_add_rune(void *arg, uint32_t rune)
{
	parse_set_add(arg, rune, rune);
}

/* All but these ranges. */
static void
set_add_inverted(struct set *set, const struct rune_range *r, uint32_t n)
{
	struct prog tmp = { .arena = set->arena };
	struct rune_range *copy = arena_copy(set->arena, r, n * sizeof(*r));
	uint32_t i;

	prog_emit_class(&tmp, copy, n, true);
	for (i = 0; i < tmp.n_ranges; i++)
		parse_set_add(set, tmp.ranges[i].low, tmp.ranges[i].high);
}

static void
set_add_all(struct set *set, const struct rune_range *r, uint32_t n,
    bool inverted)
{
	uint32_t i;

	if (inverted) {
		set_add_inverted(set, r, n);
		return;
	}
	for (i = 0; i < n; i++)
		parse_set_add(set, r[i].low, r[i].high);
}

/* Everything that differs by case only: K, k and the Kelvin sign. */
static void
set_fold(struct set *set)
{
	uint32_t from = 0, to = set->n, i;
	int round;

	for (round = 0; round < 2; round++) {
		for (i = from; i < to; i++) {
			arena_step(set->arena, 400);
			unicode_case_variants(set->ranges[i].low,
			    set->ranges[i].high, set_add_rune, set);
		}
		from = to;
		to = set->n;
	}
}

struct node *
parse_class_node(struct parser *r, struct set *set, bool inverted)
{
	struct node *node = parse_node(r, NODE_CLASS, NULL);

	if ((r->flags & FLAG_FOLD) != 0)
		set_fold(set);
	node->ranges = set->ranges;
	node->n = set->n;
	node->inverted = inverted;
	return node;
}

struct node *
parse_rune_node(struct parser *r, uint32_t rune)
{
	struct set set = { .arena = r->arena };

	parse_set_add(&set, rune, rune);
	return parse_class_node(r, &set, false);
}

static const struct {
	char letter;
	uint32_t n;
	struct rune_range ranges[4];
} perl_classes[] = {
	{ 'd', 1, { { '0', '9' } } },
	{ 's', 3, { { '\t', '\n' }, { '\f', '\r' }, { ' ', ' ' } } },
	{ 'w', 4, { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } } }
};

static const struct {
	const char *name;
	uint32_t n;
	struct rune_range ranges[4];
} posix_classes[] = {
	{ "alnum", 3, { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } } },
	{ "alpha", 2, { { 'A', 'Z' }, { 'a', 'z' } } },
	{ "ascii", 1, { { 0, 0x7f } } },
	{ "blank", 2, { { '\t', '\t' }, { ' ', ' ' } } },
	{ "cntrl", 2, { { 0, 0x1f }, { 0x7f, 0x7f } } },
	{ "digit", 1, { { '0', '9' } } },
	{ "graph", 1, { { '!', '~' } } },
	{ "lower", 1, { { 'a', 'z' } } },
	{ "print", 1, { { ' ', '~' } } },
	{ "punct", 4, { { '!', '/' }, { ':', '@' }, { '[', '`' },
	    { '{', '~' } } },
	{ "space", 2, { { '\t', '\r' }, { ' ', ' ' } } },
	{ "upper", 1, { { 'A', 'Z' } } },
	{ "word", 4, { { '0', '9' }, { 'A', 'Z' }, { '_', '_' },
	    { 'a', 'z' } } },
	{ "xdigit", 3, { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } } }
};

/* \d, \W, ...: p stands at the letter.  false: not one of them. */
bool
parse_perl_class(struct parser *r, struct set *set)
{
	size_t i;

	for (i = 0; i < 3; i++) {
		if ((*r->p | 32) != perl_classes[i].letter)
			continue;
		set_add_all(set, perl_classes[i].ranges, perl_classes[i].n,
		    *r->p != perl_classes[i].letter);
		r->p++;
		return true;
	}
	return false;
}

/* \pL, \p{Greek}, \P{^Lu}: p stands at p or P. */
bool
parse_unicode_property(struct parser *r, struct set *set)
{
	enum { MAX = 1024 };
	struct rune_range *ranges;
	bool inverted = *r->p++ == 'P';
	const char *name, *close;
	size_t n, found;

	if (r->p == r->end) {
		parse_bad(r, "invalid character class range");
		return false;
	}
	name = r->p;
	n = 1;
	if (*r->p == '{') {
		name++;
		close = memchr(r->p, '}', (size_t)(r->end - r->p));
		if (close == NULL) {
			parse_bad(r, "invalid character class range");
			return false;
		}
		n = (size_t)(close - name);
		r->p = close;
	}
	r->p++;
	if (n > 0 && *name == '^') {
		inverted = !inverted;
		name++;
		n--;
	}
	ranges = arena_array(r->arena, MAX, sizeof(*ranges));
	arena_step(r->arena, 64);
	found = n > 0 ? unicode_class(name, n, ranges, MAX) : 0;
	if (found == 0) {
		parse_bad(r, "invalid character class range");
		return false;
	}
	set_add_all(set, ranges, (uint32_t)found, inverted);
	return true;
}

/* --- escapes ---------------------------------------------------------- */

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Behind \x: two digits, or any number in braces. */
static bool
hex_rune(struct parser *r, uint32_t *rune)
{
	bool braces = r->p < r->end && *r->p == '{';
	unsigned n = 0;

	*rune = 0;
	r->p += braces;
	while (r->p < r->end && hex_digit(*r->p) >= 0 && (braces || n < 2)) {
		*rune = *rune * 16 + (unsigned)hex_digit(*r->p++);
		if (++n > 8 || *rune > RUNE_MAX)
			return false;
	}
	if (n == 0 || (!braces && n < 2))
		return false;
	if (!braces)
		return true;
	if (r->p == r->end || *r->p != '}')
		return false;
	r->p++;
	return true;
}

static bool
punctuation(char c)
{
	return c > ' ' && c < 0x7f && c != '_' && !(c >= '0' && c <= '9') &&
	    !((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Behind the backslash; one that stands for a single rune. */
bool
parse_escaped_rune(struct parser *r, uint32_t *rune)
{
	static const char from[] = "aftnrv", to[] = "\a\f\t\n\r\v";
	const char *at;
	char c;
	int n;

	if (r->p == r->end) {
		parse_bad(r, "trailing backslash at end of expression");
		return false;
	}
	c = *r->p;
	if (c >= '0' && c <= '7' && (c == '0' || (r->end - r->p > 1 &&
	    r->p[1] >= '0' && r->p[1] <= '7'))) {
		*rune = 0;
		for (n = 0; n < 3 && r->p < r->end && *r->p >= '0' &&
		    *r->p <= '7'; n++)
			*rune = *rune * 8 + (unsigned)(*r->p++ - '0');
		return true;
	}
	if (c == 'x') {
		r->p++;
		if (hex_rune(r, rune))
			return true;
	} else if (c != '\0' && (at = strchr(from, c)) != NULL) {
		r->p++;
		*rune = (unsigned char)to[at - from];
		return true;
	} else if (punctuation(c) || c == '_') {
		r->p++;
		*rune = (unsigned char)c;
		return true;
	}
	parse_bad(r, "invalid escape sequence");
	return false;
}

/* --- character classes ------------------------------------------------ */

/* [:name:] or [:^name:]; p stands at the bracket. */
static bool
posix_class(struct parser *r, struct set *set)
{
	const char *close, *name = r->p + 2;
	bool inverted;
	size_t n, i;

	close = memmem(name, (size_t)(r->end - name), ":]", 2);
	if (close == NULL)
		return false;
	inverted = *name == '^';
	name += inverted;
	n = (size_t)(close - name);
	for (i = 0; i < sizeof(posix_classes) / sizeof(posix_classes[0]);
	    i++) {
		if (strlen(posix_classes[i].name) != n ||
		    memcmp(posix_classes[i].name, name, n) != 0)
			continue;
		set_add_all(set, posix_classes[i].ranges, posix_classes[i].n,
		    inverted);
		r->p = close + 2;
		return true;
	}
	parse_bad(r, "invalid character class range");
	return false;
}

static bool
class_rune(struct parser *r, uint32_t *rune)
{
	size_t used;

	if (r->p == r->end) {
		parse_bad(r, "missing closing ]");
		return false;
	}
	if (*r->p == '\\') {
		r->p++;
		return parse_escaped_rune(r, rune);
	}
	*rune = utf8_decode(r->p, (size_t)(r->end - r->p), &used);
	r->p += used;
	return true;
}

/* One item of a class: 1 done, 0 not a class of its own, -1 an error. */
static int
class_in_class(struct parser *r, struct set *set)
{
	if (r->end - r->p >= 2 && r->p[0] == '[' && r->p[1] == ':') {
		if (posix_class(r, set))
			return 1;
		return r->why != NULL ? -1 : 0;
	}
	if (r->end - r->p < 2 || r->p[0] != '\\')
		return 0;
	r->p++;
	if (parse_perl_class(r, set))
		return 1;
	if (*r->p == 'p' || *r->p == 'P')
		return parse_unicode_property(r, set) ? 1 : -1;
	r->p--;
	return 0;
}

/* Behind the opening bracket. */
struct node *
parse_class(struct parser *r)
{
	struct set set = { .arena = r->arena };
	bool inverted = r->p < r->end && *r->p == '^', first = true;
	uint32_t low, high;
	int got;

	r->p += inverted;
	for (; r->p < r->end && (*r->p != ']' || first); first = false) {
		if (*r->p == '-' && !first && r->end - r->p > 1 &&
		    r->p[1] != ']')
			return parse_bad(r, "invalid character class range");
		if ((got = class_in_class(r, &set)) < 0)
			return NULL;
		if (got > 0)
			continue;
		if (!class_rune(r, &low))
			return NULL;
		high = low;
		if (r->end - r->p >= 2 && r->p[0] == '-' && r->p[1] != ']') {
			r->p++;
			if (!class_rune(r, &high))
				return NULL;
			if (high < low)
				return parse_bad(r, "invalid character class range");
		}
		parse_set_add(&set, low, high);
	}
	if (r->p == r->end)
		return parse_bad(r, "missing closing ]");
	r->p++;
	return parse_class_node(r, &set, inverted);
}
