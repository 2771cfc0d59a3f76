#include <string.h>

#include "policy/regex/glob.h"
#include "policy/value/utf8.h"

#define CLASS_MAX 256
#define BRACES_MAX 16

struct compiler {
	struct prog *prog;
	const char *p, *end;
	const uint32_t *delimiters;
	uint32_t n_delimiters;
	unsigned depth;
	const char *why;
};

static bool sequence(struct compiler *);

static bool
bad(struct compiler *c, const char *why)
{
	c->why = why;
	return false;
}

static uint32_t
next_rune(struct compiler *c)
{
	size_t used;
	uint32_t rune = utf8_decode(c->p, (size_t)(c->end - c->p), &used);

	c->p += used;
	return rune;
}

/* Any rune; but none of the delimiters unless over. */
static void
emit_any(struct compiler *c, bool over)
{
	struct rune_range *r;
	uint32_t i, n = over ? 0 : c->n_delimiters;

	r = arena_array(c->prog->arena, n, sizeof(*r));
	for (i = 0; i < n; i++)
		r[i] = (struct rune_range){ c->delimiters[i],
		    c->delimiters[i] };
	prog_emit_class(c->prog, r, n, true);
}

static void
emit_star(struct compiler *c)
{
	bool over = c->p < c->end && *c->p == '*';
	uint32_t split = prog_emit(c->prog, PROG_SPLIT, 0, 0);

	while (c->p < c->end && *c->p == '*')
		c->p++;
	c->prog->inst[split].x = c->prog->n;
	emit_any(c, over);
	prog_emit(c->prog, PROG_JUMP, split, 0);
	c->prog->inst[split].y = c->prog->n;
}

/* "x-y]": one range and nothing beside it; neither end can be escaped. */
static bool
range(struct compiler *c, bool inverted)
{
	struct rune_range r;

	r.low = next_rune(c);
	c->p++;
	if (c->p == c->end)
		return bad(c, "'[' without ']'");
	r.high = next_rune(c);
	if (c->p == c->end || *c->p != ']')
		return bad(c, "something else than ']' behind a range");
	c->p++;
	if (r.high < r.low)
		return bad(c, "a range in brackets runs backwards");
	if (r.low == 0)
		return bad(c, "a range in brackets from NUL");
	prog_emit_class(c->prog, &r, 1, inverted);
	return true;
}

static bool
is_range(const struct compiler *c)
{
	size_t used;

	if (c->p == c->end)
		return false;
	utf8_decode(c->p, (size_t)(c->end - c->p), &used);
	return c->p + used < c->end && c->p[used] == '-';
}

/* Behind the opening bracket: a range, or a list of runes, never both. */
static bool
class(struct compiler *c)
{
	struct rune_range r[CLASS_MAX];
	uint32_t n = 0;
	bool inverted = c->p < c->end && *c->p == '!';

	c->p += inverted;
	if (is_range(c))
		return range(c, inverted);
	for (; c->p < c->end && *c->p != ']'; n++) {
		if (*c->p == '\\' && ++c->p == c->end)
			break;
		if (n == CLASS_MAX)
			return bad(c, "too many characters in brackets");
		r[n].low = r[n].high = next_rune(c);
	}
	if (c->p == c->end)
		return bad(c, "'[' without ']'");
	if (n == 0)
		return bad(c, "nothing between '[' and ']'");
	c->p++;
	prog_emit_class(c->prog, r, n, inverted);
	return true;
}

/* Behind the opening brace: one alternative after the other. */
static bool
braces(struct compiler *c)
{
	uint32_t split, last = UINT32_MAX, jump;
	struct prog *prog = c->prog;

	if (++c->depth > BRACES_MAX)
		return bad(c, "braces nested too deeply");
	for (;;) {
		split = prog_emit(prog, PROG_SPLIT, prog->n + 1, 0);
		if (!sequence(c))
			return false;
		jump = prog_emit(prog, PROG_JUMP, last, 0);
		last = jump;
		prog->inst[split].y = prog->n;
		/* OPA takes the end for the brace that is missing. */
		if (c->p == c->end || *c->p++ == '}')
			break;
	}
	/* The last split has no other side: run straight through. */
	prog->inst[split].y = prog->inst[split].x;
	while (last != UINT32_MAX) {
		jump = prog->inst[last].x;
		prog->inst[last].x = prog->n;
		last = jump;
	}
	c->depth--;
	return true;
}

/* Up to the end, or to ',' or '}' inside braces. */
static bool
sequence(struct compiler *c)
{
	while (c->p < c->end) {
		if (c->depth > 0 && (*c->p == ',' || *c->p == '}'))
			return true;
		switch (*c->p) {
		case '*':
			c->p++;
			emit_star(c);
			break;
		case '?':
			c->p++;
			emit_any(c, false);
			break;
		case '[':
			c->p++;
			if (!class(c))
				return false;
			break;
		case '{':
			c->p++;
			if (!braces(c))
				return false;
			break;
		case '\\':
			if (++c->p == c->end)
				break;	/* OPA overlooks one at the end */
			/* FALLTHROUGH */
		default:
			prog_emit(c->prog, PROG_RUNE, next_rune(c), 0);
			break;
		}
	}
	return true;
}

bool
glob_compile(struct prog *prog, const char *pattern, size_t len,
    const uint32_t *delimiters, uint32_t n_delimiters, const char **why)
{
	struct compiler c = { .prog = prog, .p = pattern,
	    .end = pattern + len, .delimiters = delimiters,
	    .n_delimiters = n_delimiters };

	prog->anchored = true;
	if (!sequence(&c)) {
		*why = c.why;
		return false;
	}
	prog_emit(prog, PROG_MATCH, 0, 0);
	*why = "pattern too large";
	return !prog->overflow;
}
