/*
 * A pattern becomes a tree, the tree a program: repetition copies parts of
 * the tree, so there is one.  Lists are bounded by the length of the pattern.
 */
#include <string.h>

#include "policy/regex/parse.h"
#include "policy/value/utf8.h"

static struct node *parse_alternatives(struct parser *);

struct node *
parse_bad(struct parser *r, const char *why)
{
	if (r->why == NULL)
		r->why = why;
	return NULL;
}

struct node *
parse_node(struct parser *r, enum node_kind kind, struct node *child)
{
	struct node *node = arena_alloc(r->arena, sizeof(*node));

	memset(node, 0, sizeof(*node));
	node->kind = kind;
	node->child = child;
	arena_step(r->arena, 1);
	return node;
}
/* --- atoms ------------------------------------------------------------ */

static struct node *
assert_node(struct parser *r, enum prog_assert what)
{
	struct node *node = parse_node(r, NODE_ASSERT, NULL);

	node->assert = what;
	return node;
}

/* \Q...\E: p stands behind \Q. */
static struct node *
parse_literal(struct parser *r)
{
	const char *stop = memmem(r->p, (size_t)(r->end - r->p), "\\E", 2);
	struct node *node = parse_node(r, NODE_CAT, NULL);
	struct node **last = &node->child;
	const char *end = stop != NULL ? stop : r->end;
	size_t used;

	while (r->p < end) {
		uint32_t rune = utf8_decode(r->p, (size_t)(end - r->p),
		    &used);

		r->p += used;
		*last = parse_rune_node(r, rune);
		last = &(*last)->next;
	}
	if (stop != NULL)
		r->p += 2;
	return node;
}

/* Behind the backslash. */
static struct node *
parse_escape(struct parser *r)
{
	struct set set = { .arena = r->arena };
	uint32_t rune;

	if (r->p == r->end)
		return parse_bad(r, "trailing backslash at end of expression");
	switch (*r->p) {
	case 'A':
		r->p++;
		return assert_node(r, ASSERT_TEXT_START);
	case 'z':
		r->p++;
		return assert_node(r, ASSERT_TEXT_END);
	case 'b':
		r->p++;
		return assert_node(r, ASSERT_WORD);
	case 'B':
		r->p++;
		return assert_node(r, ASSERT_NOT_WORD);
	case 'Q':
		r->p++;
		return parse_literal(r);
	case 'p':
	case 'P':
		return parse_unicode_property(r, &set) ?
		    parse_class_node(r, &set, false) : NULL;
	default:
		break;
	}
	if (parse_perl_class(r, &set))
		return parse_class_node(r, &set, false);
	return parse_escaped_rune(r, &rune) ? parse_rune_node(r, rune) : NULL;
}

static bool
name_rune(char c)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' ||
	    (c >= '0' && c <= '9');
}

/* (?P<name> or (?<name>: p stands at the name. */
static bool
parse_name(struct parser *r, uint32_t group)
{
	const char *start = r->p;

	while (r->p < r->end && name_rune(*r->p))
		r->p++;
	if (r->p == start || r->p == r->end || *r->p != '>') {
		parse_bad(r, "invalid named capture");
		return false;
	}
	r->regex->names[group].p = start;
	r->regex->names[group].n = (size_t)(r->p - start);
	r->p++;
	return true;
}

/* (?i-s) or (?i-s:...): p stands behind the question mark.  open: a colon
 * followed. */
static bool
parse_flags(struct parser *r, bool *open)
{
	static const char letters[] = "imsU";
	unsigned flags = r->flags, bit;
	bool minus = false, any = false;
	const char *at;

	for (; r->p < r->end; r->p++) {
		if (*r->p == ':' || *r->p == ')') {
			if (minus && !any)
				break;
			*open = *r->p++ == ':';
			r->flags = flags;
			return true;
		}
		if (*r->p == '-' && !minus) {
			minus = true;
			any = false;
			continue;
		}
		if (*r->p == '\0' || (at = strchr(letters, *r->p)) == NULL)
			break;
		bit = 1u << (at - letters);
		flags = minus ? flags & ~bit : flags | bit;
		any = true;
	}
	parse_bad(r, "invalid or unsupported Perl syntax");
	return false;
}

static struct node *
group_node(struct parser *r, bool named)
{
	struct node *node = parse_node(r, NODE_GROUP, NULL);

	if (r->regex->n_groups > REGEX_GROUPS_MAX)
		return parse_bad(r, "too many groups");
	node->group = r->regex->n_groups++;
	return !named || parse_name(r, node->group) ? node : NULL;
}

/* Behind the opening parenthesis. */
static struct node *
parse_group(struct parser *r)
{
	unsigned flags = r->flags;
	struct node *group = NULL, *inner;
	bool open = true;

	if (r->end - r->p >= 1 && *r->p == '?') {
		r->p++;
		if (r->end - r->p >= 2 && r->p[0] == 'P' && r->p[1] == '<')
			r->p++;
		if (r->p < r->end && *r->p == '<') {
			r->p++;
			if ((group = group_node(r, true)) == NULL)
				return NULL;
		} else if (!parse_flags(r, &open)) {
			return NULL;
		}
		if (!open)	/* flags for the rest of the group around */
			return parse_node(r, NODE_EMPTY, NULL);
	} else if ((group = group_node(r, false)) == NULL) {
		return NULL;
	}
	if (++r->depth > REGEX_DEPTH_MAX)
		return parse_bad(r, "expression nests too deeply");
	if ((inner = parse_alternatives(r)) == NULL)
		return NULL;
	r->depth--;
	if (r->p == r->end)
		return parse_bad(r, "missing closing )");
	r->p++;
	r->flags = flags;
	if (group == NULL)
		return inner;
	group->child = inner;
	return group;
}

static struct node *
parse_dot(struct parser *r)
{
	struct set set = { .arena = r->arena };
	struct node *node = parse_node(r, NODE_CLASS, NULL);

	if ((r->flags & FLAG_DOT_ALL) == 0)
		parse_set_add(&set, '\n', '\n');
	node->ranges = set.ranges;
	node->n = set.n;
	node->inverted = true;
	return node;
}

static struct node *
parse_atom(struct parser *r)
{
	size_t used;
	uint32_t rune;

	switch (*r->p) {
	case '(':
		r->p++;
		return parse_group(r);
	case '[':
		r->p++;
		return parse_class(r);
	case '.':
		r->p++;
		return parse_dot(r);
	case '^':
		r->p++;
		return assert_node(r, (r->flags & FLAG_MULTI) != 0 ?
		    ASSERT_LINE_START : ASSERT_TEXT_START);
	case '$':
		r->p++;
		return assert_node(r, (r->flags & FLAG_MULTI) != 0 ?
		    ASSERT_LINE_END : ASSERT_TEXT_END);
	case '\\':
		r->p++;
		return parse_escape(r);
	case '*':
	case '+':
	case '?':
		return parse_bad(r, "missing argument to repetition operator");
	default:
		rune = utf8_decode(r->p, (size_t)(r->end - r->p), &used);
		r->p += used;
		return parse_rune_node(r, rune);
	}
}

/* --- repetition ------------------------------------------------------- */

static const char *
read_count(const char *p, const char *end, int32_t *out)
{
	*out = -1;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		*out = (*out < 0 ? 0 : *out) * 10 + (*p - '0');
		if (*out > REGEX_REPEAT_MAX)
			*out = REGEX_REPEAT_MAX + 1;
	}
	return p;
}

/* {n}, {n,}, {n,m}; anything else is literal text. */
static bool
read_braces(struct parser *r, int32_t *min, int32_t *max)
{
	const char *p = read_count(r->p + 1, r->end, min);

	if (*min < 0)
		return false;
	*max = *min;
	if (p < r->end && *p == ',')
		p = read_count(p + 1, r->end, max);
	if (p == r->end || *p != '}')
		return false;
	r->p = p + 1;
	return true;
}

static bool
read_repeat(struct parser *r, int32_t *min, int32_t *max)
{
	if (r->p == r->end)
		return false;
	*min = 0;
	*max = -1;
	switch (*r->p) {
	case '*':
		break;
	case '+':
		*min = 1;
		break;
	case '?':
		*max = 1;
		break;
	case '{':
		return read_braces(r, min, max);
	default:
		return false;
	}
	r->p++;
	return true;
}

/* How often the innermost thing would be copied: RE2 bounds the product. */
static int32_t
copies(const struct node *node)
{
	const struct node *child;
	int32_t n = 1, inner;

	for (child = node->child; child != NULL; child = child->next) {
		inner = copies(child);
		n = inner > n ? inner : n;
	}
	if (node->kind == NODE_REPEAT) {
		int32_t most = node->max > node->min ? node->max : node->min;

		n *= most > 1 ? most : 1;
	}
	return n > REGEX_REPEAT_MAX ? REGEX_REPEAT_MAX + 1 : n;
}

static struct node *
parse_repeated(struct parser *r)
{
	struct node *node = parse_atom(r), *repeat;
	int32_t min, max;
	bool again = false;

	while (node != NULL && read_repeat(r, &min, &max)) {
		if (again)
			return parse_bad(r, "invalid nested repetition operator");
		if (min > REGEX_REPEAT_MAX || max > REGEX_REPEAT_MAX ||
		    (max >= 0 && max < min))
			return parse_bad(r, "invalid repeat count");
		repeat = parse_node(r, NODE_REPEAT, node);
		repeat->min = min;
		repeat->max = max;
		repeat->lazy = (r->flags & FLAG_UNGREEDY) != 0;
		if (r->p < r->end && *r->p == '?') {
			repeat->lazy = !repeat->lazy;
			r->p++;
		}
		if ((min > 1 || max > 1) && copies(repeat) > REGEX_REPEAT_MAX)
			return parse_bad(r, "invalid repeat count");
		node = repeat;
		again = true;
	}
	return node;
}

static struct node *
parse_sequence(struct parser *r)
{
	struct node *node = parse_node(r, NODE_CAT, NULL);
	struct node **last = &node->child;

	while (r->p < r->end && *r->p != '|' && *r->p != ')') {
		if ((*last = parse_repeated(r)) == NULL)
			return NULL;
		last = &(*last)->next;
	}
	return node;
}

static struct node *
parse_alternatives(struct parser *r)
{
	struct node *first = parse_sequence(r), *node = first;
	struct node **last;

	if (first != NULL && r->p < r->end && *r->p == '|') {
		node = parse_node(r, NODE_ALT, first);
		last = &first->next;
		while (r->p < r->end && *r->p == '|') {
			r->p++;
			if ((*last = parse_sequence(r)) == NULL)
				return NULL;
			last = &(*last)->next;
		}
	}
	if (node != NULL && r->p < r->end && r->depth == 0)
		return parse_bad(r, "unexpected )");
	return node;
}

bool
regex_compile(struct arena *arena, struct regex *regex, const char *pattern,
    size_t len, const char **why)
{
	struct parser r = { .arena = arena, .regex = regex, .p = pattern,
	    .end = pattern + len };
	struct node *root;

	memset(regex, 0, sizeof(*regex));
	regex->prog.arena = arena;
	regex->n_groups = 1;
	if (utf8_valid_prefix(pattern, len) != len) {
		*why = "invalid UTF-8";
		return false;
	}
	if ((root = parse_alternatives(&r)) == NULL) {
		*why = r.why;
		return false;
	}
	prog_emit(&regex->prog, PROG_SAVE, 0, 0);
	node_emit(&regex->prog, root);
	prog_emit(&regex->prog, PROG_SAVE, 1, 0);
	prog_emit(&regex->prog, PROG_MATCH, 0, 0);
	regex->prog.n_slots = 2 * regex->n_groups;
	regex->prog.anchored = regex->prog.n > 1 &&
	    regex->prog.inst[1].op == PROG_ASSERT &&
	    regex->prog.inst[1].x == ASSERT_TEXT_START;
	*why = "expression too large";
	return !regex->prog.overflow;
}
