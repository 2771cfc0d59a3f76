#include <string.h>

#include "policy/regex/intersect.h"
#include "policy/regex/prog.h"
#include "policy/value/utf8.h"

#define TOKENS_MAX 1000
#define RANGES_MAX 64

enum times { ONCE, STAR, PLUS };

struct token {
	struct rune_range range[RANGES_MAX];
	uint32_t n;
	enum times times;
};

struct tokens {
	struct token *token;
	uint32_t n;
};

/* NULL at the end, and for a backslash there. */
static const char *
read_rune(const char *p, const char *end, uint32_t *rune, bool *escaped)
{
	size_t used;

	*escaped = p < end && *p == '\\';
	p += *escaped;
	if (p >= end)
		return NULL;
	*rune = utf8_decode(p, (size_t)(end - p), &used);
	return p + used;
}

/* Behind the dash of a range that begins with low; what comes next must be
 * followed by something. */
static const char *
read_range(const char *p, const char *end, struct rune_range *r)
{
	bool escaped;
	size_t used;

	if (p >= end)
		return NULL;
	utf8_decode(p, (size_t)(end - p), &used);
	if (p + used >= end)
		return NULL;
	p = read_rune(p, end, &r->high, &escaped);
	if (p == NULL || r->high < r->low ||
	    (!escaped && (r->high == ']' || r->high == '-')))
		return NULL;
	return p;
}

/* Behind '['; NULL where it does not end. */
static const char *
read_class(const char *p, const char *end, struct token *t, const char **why)
{
	struct rune_range *r = NULL;	/* of the rune before, if one */
	uint32_t rune;
	bool escaped;

	*why = "the input provided is invalid: '[' without ']'";
	while ((p = read_rune(p, end, &rune, &escaped)) != NULL) {
		if (rune == ']' && !escaped)
			return p;
		if (rune == '-' && !escaped) {
			*why = "the input provided is invalid: bad range";
			if (r == NULL || (p = read_range(p, end, r)) == NULL)
				return NULL;
			r = NULL;
			continue;
		}
		if (t->n == RANGES_MAX) {
			*why = "too many characters between '[' and ']'";
			return NULL;
		}
		r = &t->range[t->n++];
		r->low = r->high = rune;
	}
	return NULL;
}

static bool
read_tokens(struct arena *arena, const char *p, size_t n, struct tokens *out,
    const char **why)
{
	const char *end = p + n;
	uint32_t rune;
	bool escaped;

	out->token = arena_array(arena, n < TOKENS_MAX ? n : TOKENS_MAX,
	    sizeof(*out->token));
	for (out->n = 0; p < end; out->n++) {
		struct token *t;

		if (out->n == TOKENS_MAX) {
			*why = "glob too long";
			return false;
		}
		t = &out->token[out->n];
		t->n = 0;
		t->times = ONCE;
		*why = "the input provided is invalid";
		if (*p == '*' || *p == '+' || *p == ']')
			return false;
		if (*p == '[') {
			if ((p = read_class(p + 1, end, t, why)) == NULL)
				return false;
		} else if (*p == '.') {
			t->range[t->n++] = (struct rune_range){ 0,
			    RUNE_MAX };
			p++;
		} else {
			if ((p = read_rune(p, end, &rune, &escaped)) == NULL)
				return false;
			t->range[t->n++] = (struct rune_range){ rune, rune };
		}
		if (p < end && (*p == '*' || *p == '+'))
			t->times = *p++ == '*' ? STAR : PLUS;
	}
	return true;
}

static bool
common(const struct token *a, const struct token *b)
{
	uint32_t i, k;

	for (i = 0; i < a->n; i++)
		for (k = 0; k < b->n; k++)
			if (a->range[i].low <= b->range[k].high &&
			    b->range[k].low <= a->range[i].high)
				return true;
	return false;
}

/*
 * Positions of the product automaton: (i, j) says that i tokens of a and j of
 * b are behind us.  A token that repeats may be used again once it was used,
 * so there is a second bit for each: "and the token before may go on".
 */
enum { ON_A = 1, ON_B = 2 };

struct walk {
	const struct tokens *a, *b;
	uint8_t *seen;		/* a bit for each combination of flags */
	uint32_t *todo, n;
};

static void
visit(struct walk *w, uint32_t i, uint32_t j, unsigned flags)
{
	uint32_t at = i * (w->b->n + 1) + j;

	if ((w->seen[at] & (1u << flags)) != 0)
		return;
	w->seen[at] |= (uint8_t)(1u << flags);
	w->todo[w->n++] = at * 4 + flags;
}

/* One common rune, read by token x of a and token y of b. */
static void
advance(struct walk *w, uint32_t x, uint32_t y)
{
	const struct token *a = &w->a->token[x], *b = &w->b->token[y];

	if (common(a, b))
		visit(w, x + 1, y + 1, (a->times != ONCE ? ON_A : 0) |
		    (b->times != ONCE ? ON_B : 0));
}

static void
expand(struct walk *w, uint32_t i, uint32_t j, unsigned flags)
{
	bool a = i < w->a->n, b = j < w->b->n;

	if (a && w->a->token[i].times == STAR)
		visit(w, i + 1, j, flags & ON_B);
	if (b && w->b->token[j].times == STAR)
		visit(w, i, j + 1, flags & ON_A);
	if (a && b)
		advance(w, i, j);
	if ((flags & ON_A) != 0 && b)
		advance(w, i - 1, j);
	if ((flags & ON_B) != 0 && a)
		advance(w, i, j - 1);
	if (flags == (ON_A | ON_B))
		advance(w, i - 1, j - 1);
}

int
glob_intersect(struct arena *arena, const char *a, size_t na, const char *b,
    size_t nb, const char **why)
{
	struct tokens x, y;
	struct walk w = { .a = &x, .b = &y };
	size_t size;

	if (!read_tokens(arena, a, na, &x, why) ||
	    !read_tokens(arena, b, nb, &y, why))
		return -1;
	size = (size_t)(x.n + 1) * (y.n + 1);
	arena_step(arena, size);
	w.seen = arena_alloc(arena, size);
	memset(w.seen, 0, size);
	w.todo = arena_array(arena, size * 4, sizeof(*w.todo));
	visit(&w, 0, 0, 0);
	while (w.n > 0) {
		uint32_t at = w.todo[--w.n], i = at / 4 / (y.n + 1);
		uint32_t j = at / 4 % (y.n + 1);

		arena_step(arena, 1);
		if (i == x.n && j == y.n)
			return 1;
		expand(&w, i, j, at % 4);
	}
	return 0;
}
