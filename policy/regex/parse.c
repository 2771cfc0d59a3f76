/*
 * A pattern becomes a tree, the tree a program: repetition copies parts of
 * the tree, so there is one.  Lists are bounded by the length of the pattern.
 */
#include <string.h>

#include "policy/regex/node.h"
#include "policy/regex/regex.h"
#include "policy/unicode_case.h"
#include "policy/utf8.h"

enum { FLAG_FOLD = 1, FLAG_MULTI = 2, FLAG_DOT_ALL = 4, FLAG_UNGREEDY = 8 };

struct parser {
	struct arena *arena;
	struct regex *regex;
	const char *p, *end;
	unsigned flags, depth;
	const char *why;
};

/* A growing set of ranges. */
struct set {
	struct arena *arena;
	struct prog_range *ranges;
	uint32_t n, cap;
};

static struct node *parse_alternatives(struct parser *);

static struct node *
bad(struct parser *r, const char *why)
{
	if (r->why == NULL)
		r->why = why;
	return NULL;
}

static struct node *
node_new(struct parser *r, enum node_kind kind, struct node *child)
{
	struct node *node = arena_alloc(r->arena, sizeof(*node));

	memset(node, 0, sizeof(*node));
	node->kind = kind;
	node->child = child;
	arena_step(r->arena, 1);
	return node;
}

/* --- sets of runes ---------------------------------------------------- */

static void
set_add(struct set *set, uint32_t low, uint32_t high)
{
	struct prog_range *grown;

	if (set->n == set->cap) {
		set->cap = set->cap < 8 ? 8 : set->cap * 2;
		grown = arena_array(set->arena, set->cap, sizeof(*grown));
		if (set->n > 0)
			memcpy(grown, set->ranges, set->n * sizeof(*grown));
		set->ranges = grown;
	}
	set->ranges[set->n++] = (struct prog_range){ low, high };
}

static void
set_add_rune(void *arg, uint32_t rune)
{
	set_add(arg, rune, rune);
}

/* All but these ranges. */
static void
set_add_inverted(struct set *set, const struct prog_range *r, uint32_t n)
{
	struct prog tmp = { .arena = set->arena };
	struct prog_range *copy = arena_copy(set->arena, r, n * sizeof(*r));
	uint32_t i;

	prog_emit_class(&tmp, copy, n, true);
	for (i = 0; i < tmp.n_ranges; i++)
		set_add(set, tmp.ranges[i].low, tmp.ranges[i].high);
}

static void
set_add_all(struct set *set, const struct prog_range *r, uint32_t n,
    bool inverted)
{
	uint32_t i;

	if (inverted) {
		set_add_inverted(set, r, n);
		return;
	}
	for (i = 0; i < n; i++)
		set_add(set, r[i].low, r[i].high);
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

static struct node *
class_node(struct parser *r, struct set *set, bool inverted)
{
	struct node *node = node_new(r, NODE_CLASS, NULL);

	if ((r->flags & FLAG_FOLD) != 0)
		set_fold(set);
	node->ranges = set->ranges;
	node->n = set->n;
	node->inverted = inverted;
	return node;
}

static struct node *
rune_node(struct parser *r, uint32_t rune)
{
	struct set set = { .arena = r->arena };

	set_add(&set, rune, rune);
	return class_node(r, &set, false);
}

static const struct {
	char letter;
	uint32_t n;
	struct prog_range ranges[4];
} perl_classes[] = {
	{ 'd', 1, { { '0', '9' } } },
	{ 's', 3, { { '\t', '\n' }, { '\f', '\r' }, { ' ', ' ' } } },
	{ 'w', 4, { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } } }
};

static const struct {
	const char *name;
	uint32_t n;
	struct prog_range ranges[4];
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
static bool
perl_class(struct parser *r, struct set *set)
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
static bool
unicode_property(struct parser *r, struct set *set)
{
	enum { MAX = 1024 };
	struct prog_range *ranges;
	bool inverted = *r->p++ == 'P';
	const char *name, *close;
	size_t n, found;

	if (r->p == r->end) {
		bad(r, "invalid character class range");
		return false;
	}
	name = r->p;
	n = 1;
	if (*r->p == '{') {
		name++;
		close = memchr(r->p, '}', (size_t)(r->end - r->p));
		if (close == NULL) {
			bad(r, "invalid character class range");
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
		bad(r, "invalid character class range");
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
		if (++n > 8 || *rune > PROG_RUNE_MAX)
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
static bool
escaped_rune(struct parser *r, uint32_t *rune)
{
	static const char from[] = "aftnrv", to[] = "\a\f\t\n\r\v";
	const char *at;
	char c;
	int n;

	if (r->p == r->end) {
		bad(r, "trailing backslash at end of expression");
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
	} else if (punctuation(c)) {
		r->p++;
		*rune = (unsigned char)c;
		return true;
	}
	bad(r, "invalid escape sequence");
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
	bad(r, "invalid character class range");
	return false;
}

static bool
class_rune(struct parser *r, uint32_t *rune)
{
	size_t used;

	if (r->p == r->end) {
		bad(r, "missing closing ]");
		return false;
	}
	if (*r->p == '\\') {
		r->p++;
		return escaped_rune(r, rune);
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
	if (perl_class(r, set))
		return 1;
	if (*r->p == 'p' || *r->p == 'P')
		return unicode_property(r, set) ? 1 : -1;
	r->p--;
	return 0;
}

/* Behind the opening bracket. */
static struct node *
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
			return bad(r, "invalid character class range");
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
				return bad(r, "invalid character class range");
		}
		set_add(&set, low, high);
	}
	if (r->p == r->end)
		return bad(r, "missing closing ]");
	r->p++;
	return class_node(r, &set, inverted);
}

/* --- atoms ------------------------------------------------------------ */

static struct node *
assert_node(struct parser *r, enum prog_assert what)
{
	struct node *node = node_new(r, NODE_ASSERT, NULL);

	node->assert = what;
	return node;
}

/* \Q...\E: p stands behind \Q. */
static struct node *
parse_literal(struct parser *r)
{
	const char *stop = memmem(r->p, (size_t)(r->end - r->p), "\\E", 2);
	struct node *node = node_new(r, NODE_CAT, NULL);
	struct node **last = &node->child;
	const char *end = stop != NULL ? stop : r->end;
	size_t used;

	while (r->p < end) {
		uint32_t rune = utf8_decode(r->p, (size_t)(end - r->p),
		    &used);

		r->p += used;
		*last = rune_node(r, rune);
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
		return bad(r, "trailing backslash at end of expression");
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
		return unicode_property(r, &set) ?
		    class_node(r, &set, false) : NULL;
	default:
		break;
	}
	if (perl_class(r, &set))
		return class_node(r, &set, false);
	return escaped_rune(r, &rune) ? rune_node(r, rune) : NULL;
}

static bool
name_rune(char c, bool first)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' ||
	    (!first && c >= '0' && c <= '9');
}

/* (?P<name> or (?<name>: p stands at the name. */
static bool
parse_name(struct parser *r, uint32_t group)
{
	const char *start = r->p;
	uint32_t i;

	while (r->p < r->end && name_rune(*r->p, r->p == start))
		r->p++;
	if (r->p == start || r->p == r->end || *r->p != '>') {
		bad(r, "invalid named capture");
		return false;
	}
	r->regex->names[group].p = start;
	r->regex->names[group].n = (size_t)(r->p - start);
	for (i = 1; i < group; i++) {
		if (r->regex->names[i].p == NULL ||
		    r->regex->names[i].n != r->regex->names[group].n ||
		    memcmp(r->regex->names[i].p, start,
		    r->regex->names[i].n) != 0)
			continue;
		bad(r, "duplicate capture group name");
		return false;
	}
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
	bad(r, "invalid or unsupported Perl syntax");
	return false;
}

static struct node *
group_node(struct parser *r, bool named)
{
	struct node *node = node_new(r, NODE_GROUP, NULL);

	if (r->regex->n_groups > REGEX_GROUPS_MAX)
		return bad(r, "too many groups");
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
			return node_new(r, NODE_EMPTY, NULL);
	} else if ((group = group_node(r, false)) == NULL) {
		return NULL;
	}
	if (++r->depth > REGEX_DEPTH_MAX)
		return bad(r, "expression nests too deeply");
	if ((inner = parse_alternatives(r)) == NULL)
		return NULL;
	r->depth--;
	if (r->p == r->end)
		return bad(r, "missing closing )");
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
	struct node *node = node_new(r, NODE_CLASS, NULL);

	if ((r->flags & FLAG_DOT_ALL) == 0)
		set_add(&set, '\n', '\n');
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
		return bad(r, "missing argument to repetition operator");
	default:
		rune = utf8_decode(r->p, (size_t)(r->end - r->p), &used);
		r->p += used;
		return rune_node(r, rune);
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
			return bad(r, "invalid nested repetition operator");
		if (min > REGEX_REPEAT_MAX || max > REGEX_REPEAT_MAX ||
		    (max >= 0 && max < min))
			return bad(r, "invalid repeat count");
		repeat = node_new(r, NODE_REPEAT, node);
		repeat->min = min;
		repeat->max = max;
		repeat->lazy = (r->flags & FLAG_UNGREEDY) != 0;
		if (r->p < r->end && *r->p == '?') {
			repeat->lazy = !repeat->lazy;
			r->p++;
		}
		if ((min > 1 || max > 1) && copies(repeat) > REGEX_REPEAT_MAX)
			return bad(r, "invalid repeat count");
		node = repeat;
		again = true;
	}
	return node;
}

static struct node *
parse_sequence(struct parser *r)
{
	struct node *node = node_new(r, NODE_CAT, NULL);
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
		node = node_new(r, NODE_ALT, first);
		last = &first->next;
		while (r->p < r->end && *r->p == '|') {
			r->p++;
			if ((*last = parse_sequence(r)) == NULL)
				return NULL;
			last = &(*last)->next;
		}
	}
	if (node != NULL && r->p < r->end && r->depth == 0)
		return bad(r, "unexpected )");
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
