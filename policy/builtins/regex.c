#include <string.h>

#include "policy/plan/builtin.h"
#include "policy/regex/intersect.h"
#include "policy/regex/pattern.h"
#include "policy/value/utf8.h"

static const struct pattern *
compile(struct eval *eval, const struct value *text)
{
	const struct pattern *pattern;
	const char *why = "";

	pattern = pattern_of(eval->patterns, eval->arena, text->str.p,
	    text->str.n, &why);
	if (pattern == NULL)
		eval_error(eval, "error parsing regexp: %s", why);
	return pattern;
}

static bool
want_texts(struct eval *eval, const struct value *const *args, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (!builtin_want(eval, args, i, VALUE_STRING))
			return false;
	return true;
}

static const struct value *
call_is_valid(struct eval *eval, const struct value *const *args)
{
	const char *why;

	return value_bool(args[0]->kind == VALUE_STRING &&
	    pattern_of(eval->patterns, eval->arena, args[0]->str.p,
	    args[0]->str.n, &why) != NULL);
}

static const struct value *
call_match(struct eval *eval, const struct value *const *args)
{
	const struct pattern *pattern;

	if (!want_texts(eval, args, 2) ||
	    (pattern = compile(eval, args[0])) == NULL)
		return NULL;
	return value_bool(pattern_matches(pattern, eval->arena,
	    args[1]->str.p, args[1]->str.n));
}

/* --- all matches ------------------------------------------------------ */

struct matches {
	struct eval *eval;
	const struct regex *regex;
	const char *p;
	size_t n, at;		/* where the next search starts */
	size_t last_end;	/* of the match before; SIZE_MAX: none */
	size_t *slots;
};

static bool
matches_init(struct matches *m, struct eval *eval,
    const struct value *regex, const struct value *text)
{
	const struct pattern *pattern;

	memset(m, 0, sizeof(*m));
	m->eval = eval;
	m->p = text->str.p;
	m->n = text->str.n;
	m->last_end = SIZE_MAX;
	if ((pattern = compile(eval, regex)) == NULL)
		return false;
	m->regex = &pattern->regex;
	m->slots = arena_array(eval->arena, m->regex->prog.n_slots,
	    sizeof(*m->slots));
	return true;
}

/* The next one from left to right; an empty match right behind another does
 * not count. */
static bool
matches_next(struct matches *m)
{
	size_t used = 1, start, end;

	while (m->at <= m->n) {
		arena_step(m->eval->arena, 1);
		if (!prog_run(m->eval->arena, &m->regex->prog, m->p, m->n,
		    m->at, false, m->slots))
			return false;
		start = m->slots[0];
		end = m->slots[1];
		m->at = end;
		if (start == end && end < m->n)
			utf8_decode(m->p + end, m->n - end, &used);
		if (start == end)
			m->at = end + used;
		if (start == end && end == m->last_end)
			continue;
		m->last_end = end;
		return true;
	}
	return false;
}

static const struct value *
piece(struct matches *m, size_t start, size_t end)
{
	return start == SIZE_MAX || end == SIZE_MAX ? &value_empty_string :
	    value_string(m->eval->arena, m->p + start, end - start);
}

/* The first *n of them, all where it is below 0. */
static bool
matches_limited(struct matches *m, struct eval *eval,
    const struct value *const *args, int64_t *n)
{
	return want_texts(eval, args, 2) &&
	    builtin_want_int(eval, args, 2, n) &&
	    matches_init(m, eval, args[0], args[1]);
}

static const struct value *
call_find_n(struct eval *eval, const struct value *const *args)
{
	struct matches m;
	struct value *out;
	int64_t n;

	if (!matches_limited(&m, eval, args, &n))
		return NULL;
	out = value_array(eval->arena, 0);
	while (n != 0 && matches_next(&m)) {
		value_append(eval->arena, out, piece(&m, m.slots[0],
		    m.slots[1]));
		n -= n > 0;
	}
	return out;
}

static const struct value *
call_find_submatch_n(struct eval *eval, const struct value *const *args)
{
	struct matches m;
	struct value *out, *groups;
	uint32_t i;
	int64_t n;

	if (!matches_limited(&m, eval, args, &n))
		return NULL;
	out = value_array(eval->arena, 0);
	while (n != 0 && matches_next(&m)) {
		groups = value_array(eval->arena, m.regex->n_groups);
		for (i = 0; i < m.regex->n_groups; i++)
			value_append(eval->arena, groups, piece(&m,
			    m.slots[2 * i], m.slots[2 * i + 1]));
		value_append(eval->arena, out, groups);
		n -= n > 0;
	}
	return out;
}

static const struct value *
call_split(struct eval *eval, const struct value *const *args)
{
	struct matches m;
	struct value *out;
	size_t from = 0, end = 0;

	if (!want_texts(eval, args, 2) ||
	    !matches_init(&m, eval, args[0], args[1]))
		return NULL;
	out = value_array(eval->arena, 0);
	if (args[0]->str.n > 0 && m.n == 0) {
		value_append(eval->arena, out, &value_empty_string);
		return out;
	}
	while (matches_next(&m)) {
		end = m.slots[0];
		if (m.slots[1] != 0)
			value_append(eval->arena, out, piece(&m, from, end));
		from = m.slots[1];
	}
	if (end != m.n)
		value_append(eval->arena, out, piece(&m, from, m.n));
	return out;
}

/* --- replacing -------------------------------------------------------- */

/* The group that a name or a number means; UINT32_MAX: none, so nothing. */
static uint32_t
group_of(const struct matches *m, const char *p, size_t n)
{
	const struct regex *regex = m->regex;
	int64_t number;
	uint32_t i;

	if (num_text_int64(p, n, &number))
		return number >= 0 && number < regex->n_groups ?
		    (uint32_t)number : UINT32_MAX;
	for (i = 1; i < regex->n_groups; i++)
		if (m->slots[2 * i] != SIZE_MAX &&
		    regex->names[i].p != NULL && regex->names[i].n == n &&
		    memcmp(regex->names[i].p, p, n) == 0)
			return i;
	return UINT32_MAX;
}

/* Behind a dollar sign: $1, $name, ${name}; returns where the rest begins,
 * or NULL where it is no reference. */
static bool
name_rune(uint32_t rune)
{
	return rune == '_' || unicode_alphanumeric(rune);
}

static size_t
name_length(const char *p, const char *end)
{
	const char *start = p;
	size_t used;

	for (; p < end; p += used)
		if (!name_rune(utf8_decode(p, (size_t)(end - p), &used)))
			break;
	return (size_t)(p - start);
}

static const char *
expand_one(struct matches *m, struct buf *out, const char *p, const char *end)
{
	bool braces = p < end && *p == '{';
	const char *name = p + braces;
	const char *stop = name + name_length(name, end);
	const struct value *v;
	uint32_t group;

	if (stop == name || (braces && (stop == end || *stop != '}')))
		return NULL;
	group = group_of(m, name, (size_t)(stop - name));
	if (group != UINT32_MAX) {
		v = piece(m, m->slots[2 * group], m->slots[2 * group + 1]);
		buf_put(out, v->str.p, v->str.n);
	}
	return stop + braces;
}

static void
expand(struct matches *m, struct buf *out, const struct value *template)
{
	const char *p = template->str.p, *end = p + template->str.n, *after;

	while (p < end) {
		if (*p != '$') {
			buf_putc(out, *p++);
		} else if (p + 1 < end && p[1] == '$') {
			buf_putc(out, '$');
			p += 2;
		} else if ((after = expand_one(m, out, p + 1, end)) != NULL) {
			p = after;
		} else {
			buf_putc(out, *p++);
		}
	}
}

static const struct value *
call_replace(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	struct matches m;
	size_t copied = 0;

	if (!want_texts(eval, args, 3) ||
	    !matches_init(&m, eval, args[1], args[0]))
		return NULL;
	while (matches_next(&m)) {
		buf_put(&out, m.p + copied, m.slots[0] - copied);
		expand(&m, &out, args[2]);
		copied = m.slots[1];
	}
	buf_put(&out, m.p + copied, m.n - copied);
	return buf_value(&out);
}

/* --- templates -------------------------------------------------------- */

static void
put_quoted(struct buf *out, const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] != '\0' && strchr("\\.+*?()|[]{}^$", p[i]) != NULL)
			buf_putc(out, '\\');
		buf_putc(out, p[i]);
	}
}

/* "urn:foo:{.*}" with { and } as delimiters becomes ^urn:foo:(.*)$. */
static bool
template_pattern(struct eval *eval, const struct value *const *args,
    struct buf *out)
{
	const struct value *t = args[0];
	char open = args[2]->str.p[0], close = args[3]->str.p[0];
	size_t i, from = 0;
	int level = 0;

	buf_putc(out, '^');
	for (i = 0; i < t->str.n && level >= 0; i++) {
		if (t->str.p[i] == open) {
			if (level++ == 0) {
				put_quoted(out, t->str.p + from, i - from);
				from = i + 1;
			}
		} else if (t->str.p[i] == close && --level == 0) {
			buf_putc(out, '(');
			buf_put(out, t->str.p + from, i - from);
			buf_putc(out, ')');
			from = i + 1;
		}
	}
	if (level != 0) {
		eval_error(eval, "unbalanced braces");
		return false;
	}
	put_quoted(out, t->str.p + from, t->str.n - from);
	buf_putc(out, '$');
	return true;
}

static const struct value *
call_template_match(struct eval *eval, const struct value *const *args)
{
	struct buf text = { .arena = eval->arena };
	const struct pattern *pattern;

	if (!want_texts(eval, args, 4))
		return NULL;
	if (args[2]->str.n != 1 || args[3]->str.n != 1)
		return eval_error(eval, "delimiters have to be exactly one "
		    "character long");
	if (!template_pattern(eval, args, &text) ||
	    (pattern = compile(eval, buf_value(&text))) == NULL)
		return NULL;
	return value_bool(pattern_matches(pattern, eval->arena,
	    args[1]->str.p, args[1]->str.n));
}

static const struct value *
call_globs_match(struct eval *eval, const struct value *const *args)
{
	const char *why = "";
	int meet;

	if (!want_texts(eval, args, 2))
		return NULL;
	meet = glob_intersect(eval->arena, args[0]->str.p, args[0]->str.n,
	    args[1]->str.p, args[1]->str.n, &why);
	return meet >= 0 ? value_bool(meet > 0) : eval_error(eval, "%s", why);
}

const struct builtin builtins_regex[] = {
	{ "regex.is_valid", 1, 1, call_is_valid, false },
	{ "regex.match", 2, 2, call_match, false },
	{ "re_match", 2, 2, call_match, false },
	{ "regex.find_n", 3, 3, call_find_n, false },
	{ "regex.find_all_string_submatch_n", 3, 3, call_find_submatch_n, false },
	{ "regex.split", 2, 2, call_split, false },
	{ "regex.replace", 3, 3, call_replace, false },
	{ "regex.template_match", 4, 4, call_template_match, false },
	{ "regex.globs_match", 2, 2, call_globs_match, false },
	{ NULL, 0, 0, NULL, false }
};
