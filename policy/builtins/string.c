#include <string.h>

#include "policy/plan/builtin.h"
#include "policy/value/utf8.h"

/* Work in proportion to the text. */
static bool
want_text(struct eval *eval, const struct value *const *args, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (!builtin_want(eval, args, i, VALUE_STRING))
			return false;
		arena_step(eval->arena, args[i]->str.n / 64);
	}
	return true;
}

static const char *
locate(const char *p, size_t n, const struct value *what)
{
	return what->str.n == 0 ? p :
	    memmem(p, n, what->str.p, what->str.n);
}

static bool
starts(const struct value *text, const struct value *prefix)
{
	return text->str.n >= prefix->str.n &&
	    memcmp(text->str.p, prefix->str.p, prefix->str.n) == 0;
}

static bool
ends(const struct value *text, const struct value *suffix)
{
	return text->str.n >= suffix->str.n && memcmp(text->str.p +
	    text->str.n - suffix->str.n, suffix->str.p, suffix->str.n) == 0;
}

static const struct value *
call_contains(struct eval *eval, const struct value *const *args)
{
	if (!want_text(eval, args, 2))
		return NULL;
	return value_bool(locate(args[0]->str.p, args[0]->str.n, args[1]) !=
	    NULL);
}

static const struct value *
call_startswith(struct eval *eval, const struct value *const *args)
{
	return want_text(eval, args, 2) ?
	    value_bool(starts(args[0], args[1])) : NULL;
}

static const struct value *
call_endswith(struct eval *eval, const struct value *const *args)
{
	return want_text(eval, args, 2) ?
	    value_bool(ends(args[0], args[1])) : NULL;
}

/* A string, or an array or set of them. */
static bool
want_texts(struct eval *eval, const struct value *const *args, unsigned at)
{
	const struct value *v = args[at];
	uint32_t i;

	if (v->kind == VALUE_STRING)
		return true;
	if (v->kind != VALUE_ARRAY && v->kind != VALUE_SET) {
		eval_type_error(eval, at + 1, "string, set, array", v);
		return false;
	}
	arena_step(eval->arena, v->col.n);
	for (i = 0; i < v->col.n; i++) {
		if (v->col.items[i]->kind == VALUE_STRING)
			continue;
		eval_error(eval, "operand %u must be %s of strings but got "
		    "%s containing %s", at + 1, value_type_name(v),
		    value_type_name(v), value_type_name(v->col.items[i]));
		eval->status = EVAL_TYPE_ERROR;
		return false;
	}
	return true;
}

static const struct value *
any_match(struct eval *eval, const struct value *const *args,
    bool (*match)(const struct value *, const struct value *))
{
	const struct value *const *texts = args[0]->col.items;
	const struct value *const *parts = args[1]->col.items;
	uint32_t n = args[0]->col.n, m = args[1]->col.n, i, j;

	if (args[0]->kind == VALUE_STRING) {
		texts = &args[0];
		n = 1;
	}
	if (args[1]->kind == VALUE_STRING) {
		parts = &args[1];
		m = 1;
	}
	for (i = 0; i < n; i++) {
		arena_step(eval->arena, m);
		for (j = 0; j < m; j++)
			if (match(texts[i], parts[j]))
				return &value_true;
	}
	return &value_false;
}

static const struct value *
call_any_prefix(struct eval *eval, const struct value *const *args)
{
	if (!want_texts(eval, args, 0) || !want_texts(eval, args, 1))
		return NULL;
	return any_match(eval, args, starts);
}

static const struct value *
call_any_suffix(struct eval *eval, const struct value *const *args)
{
	if (!want_texts(eval, args, 0) || !want_texts(eval, args, 1))
		return NULL;
	return any_match(eval, args, ends);
}

static const struct value *
call_concat(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	uint32_t i;

	if (!want_text(eval, args, 1))
		return NULL;
	if (args[1]->kind == VALUE_STRING)
		return eval_type_error(eval, 2, "set, array", args[1]);
	if (!want_texts(eval, args, 1))
		return NULL;
	value_sort(eval->arena, args[1]);
	for (i = 0; i < args[1]->col.n; i++) {
		if (i > 0)
			buf_put(&out, args[0]->str.p, args[0]->str.n);
		buf_put(&out, args[1]->col.items[i]->str.p,
		    args[1]->col.items[i]->str.n);
	}
	return buf_value(&out);
}

/* What Go makes of a string by way of its runes: U+FFFD for what is none. */
static const struct value *
through_runes(struct eval *eval, const char *p, size_t n)
{
	struct buf out = { .arena = eval->arena };
	size_t i, used;

	if (utf8_valid_prefix(p, n) == n)
		return value_string(eval->arena, p, n);
	arena_step(eval->arena, n / 16);
	for (i = 0; i < n; i += used)
		buf_rune(&out, utf8_decode(p + i, n - i, &used));
	return buf_value(&out);
}

/* Both texts by their runes. */
static bool
search_operands(struct eval *eval, const struct value *const *args,
    const struct value **text, const struct value **search)
{
	if (!want_text(eval, args, 2))
		return false;
	*text = through_runes(eval, args[0]->str.p, args[0]->str.n);
	*search = through_runes(eval, args[1]->str.p, args[1]->str.n);
	if (args[1]->str.n > 0)
		return true;
	eval_error(eval, "empty search character");
	return false;
}

static const struct value *
call_indexof(struct eval *eval, const struct value *const *args)
{
	const struct value *text, *search;
	const char *at;

	if (!search_operands(eval, args, &text, &search))
		return NULL;
	at = locate(text->str.p, text->str.n, search);
	return value_int(eval->arena, at == NULL ? -1 :
	    (int64_t)utf8_count(text->str.p, (size_t)(at - text->str.p)));
}

static const struct value *
call_indexof_n(struct eval *eval, const struct value *const *args)
{
	const struct value *text, *search;
	struct value *out;
	const char *p, *end, *at;
	int64_t index = 0;

	if (!search_operands(eval, args, &text, &search))
		return NULL;
	out = value_array(eval->arena, 0);
	p = text->str.p;
	end = p + text->str.n;
	while ((at = locate(p, (size_t)(end - p), search)) != NULL) {
		index += (int64_t)utf8_count(p, (size_t)(at - p));
		value_append(eval->arena, out,
		    value_int(eval->arena, index++));
		p = at + utf8_offset(at, (size_t)(end - at), 1);
		arena_step(eval->arena, 1);
	}
	return out;
}

static const struct value *
call_count(struct eval *eval, const struct value *const *args)
{
	const char *p, *end, *at;
	int64_t n = 0;

	if (!want_text(eval, args, 2))
		return NULL;
	if (args[1]->str.n == 0)
		return value_int(eval->arena, (int64_t)utf8_count(
		    args[0]->str.p, args[0]->str.n) + 1);
	p = args[0]->str.p;
	end = p + args[0]->str.n;
	for (; (at = locate(p, (size_t)(end - p), args[1])) != NULL; n++)
		p = at + args[1]->str.n;
	return value_int(eval->arena, n);
}

static const struct value *
call_substring(struct eval *eval, const struct value *const *args)
{
	const char *p;
	int64_t start, length;
	size_t n, from, to;

	if (!want_text(eval, args, 1) ||
	    !builtin_want_int(eval, args, 1, &start) ||
	    !builtin_want_int(eval, args, 2, &length))
		return NULL;
	if (start < 0)
		return eval_error(eval, "negative offset");
	p = args[0]->str.p;
	n = args[0]->str.n;
	from = utf8_offset(p, n, (size_t)start);
	to = length < 0 ? n :
	    from + utf8_offset(p + from, n - from, (size_t)length);
	if (start == 0 && to == n && length >= 0)
		return args[0];
	return through_runes(eval, p + from, to - from);
}

static void
append_piece(struct eval *eval, struct value *array, const char *p, size_t n)
{
	arena_step(eval->arena, 1);
	value_append(eval->arena, array, value_string(eval->arena, p, n));
}

static const struct value *
call_split(struct eval *eval, const struct value *const *args)
{
	struct value *out;
	const char *p, *end, *at;
	size_t used;

	if (!want_text(eval, args, 2))
		return NULL;
	out = value_array(eval->arena, 4);
	p = args[0]->str.p;
	end = p + args[0]->str.n;
	if (args[1]->str.n == 0) {
		for (; p < end; p += used) {
			utf8_decode(p, (size_t)(end - p), &used);
			append_piece(eval, out, p, used);
		}
		return out;
	}
	while ((at = locate(p, (size_t)(end - p), args[1])) != NULL) {
		append_piece(eval, out, p, (size_t)(at - p));
		p = at + args[1]->str.n;
	}
	append_piece(eval, out, p, (size_t)(end - p));
	return out;
}

static const struct value *
call_replace(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	const char *p, *end, *at;
	size_t used;

	if (!want_text(eval, args, 3))
		return NULL;
	p = args[0]->str.p;
	end = p + args[0]->str.n;
	while ((at = locate(p, (size_t)(end - p), args[1])) != NULL) {
		arena_step(eval->arena, 1);
		buf_put(&out, p, (size_t)(at - p));
		buf_put(&out, args[2]->str.p, args[2]->str.n);
		p = at + args[1]->str.n;
		if (args[1]->str.n > 0)
			continue;
		/* Nothing is found before each rune, and at the end. */
		if (p == end)
			break;
		utf8_decode(p, (size_t)(end - p), &used);
		buf_put(&out, p, used);
		p += used;
	}
	buf_put(&out, p, (size_t)(end - p));
	return buf_value(&out);
}

/* At each place the first of the patterns, in order of the patterns. */
static const struct value *
call_replace_n(struct eval *eval, const struct value *const *args)
{
	const struct value *map = args[0], *key = NULL;
	struct buf out = { .arena = eval->arena };
	const char *p, *end;
	bool just_matched = false;
	uint32_t i;

	if (!builtin_want(eval, args, 0, VALUE_OBJECT) ||
	    !builtin_want(eval, args, 1, VALUE_STRING))
		return NULL;
	value_sort(eval->arena, map);
	for (i = 0; i < map->col.n; i++)
		if (value_key_at(map, i)->kind != VALUE_STRING ||
		    value_at(map, i)->kind != VALUE_STRING)
			return eval_operand_error(eval, 1,
			    "non-string %s found in pattern object",
			    value_key_at(map, i)->kind != VALUE_STRING ?
			    "key" : "value");
	p = args[1]->str.p;
	end = p + args[1]->str.n;
	while (p <= end) {
		arena_step(eval->arena, 1 + map->col.n);
		for (i = 0; i < map->col.n; i++) {
			key = value_key_at(map, i);
			if ((size_t)(end - p) >= key->str.n &&
			    memcmp(p, key->str.p, key->str.n) == 0 &&
			    !(key->str.n == 0 && just_matched))
				break;
		}
		if (i < map->col.n)
			buf_put(&out, value_at(map, i)->str.p,
			    value_at(map, i)->str.n);
		just_matched = i < map->col.n && key->str.n > 0;
		if (just_matched)
			p += key->str.n;
		else if (p < end)
			buf_putc(&out, *p++);
		else
			break;
	}
	return buf_value(&out);
}

static const struct value *
call_reverse(struct eval *eval, const struct value *const *args)
{
	size_t n, i, used;
	char *out;

	if (!want_text(eval, args, 1))
		return NULL;
	n = args[0]->str.n;
	out = arena_alloc(eval->arena, n);
	for (i = 0; i < n; i += used) {
		utf8_decode(args[0]->str.p + i, n - i, &used);
		memcpy(out + n - i - used, args[0]->str.p + i, used);
	}
	return value_string(eval->arena, out, n);
}

/* --- trimming --------------------------------------------------------- */

static bool
among(const struct value *cutset, const char *rune, size_t n)
{
	size_t i, used;

	for (i = 0; i < cutset->str.n; i += used) {
		utf8_decode(cutset->str.p + i, cutset->str.n - i, &used);
		if (used == n && memcmp(cutset->str.p + i, rune, n) == 0)
			return true;
	}
	return false;
}

static bool
is_space(const char *p, size_t n)
{
	size_t used;
	uint32_t c = utf8_decode(p, n, &used);

	return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 ||
	    c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
	    c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool
cut(const struct value *cutset, const char *rune, size_t n)
{
	return cutset != NULL ? among(cutset, rune, n) : is_space(rune, n);
}

/* cutset NULL: white space. */
static const struct value *
trim(struct eval *eval, const struct value *text, const struct value *cutset,
    bool left, bool right)
{
	const char *p = text->str.p, *end = p + text->str.n, *q;
	size_t used;

	while (left && p < end) {
		utf8_decode(p, (size_t)(end - p), &used);
		if (!cut(cutset, p, used))
			break;
		p += used;
	}
	while (right && p < end) {
		for (q = end - 1; q > p && ((unsigned char)*q & 0xc0) == 0x80;
		    q--)
			continue;
		if (!cut(cutset, q, (size_t)(end - q)))
			break;
		end = q;
	}
	return value_string(eval->arena, p, (size_t)(end - p));
}

static const struct value *
call_trim(struct eval *eval, const struct value *const *args)
{
	return want_text(eval, args, 2) ?
	    trim(eval, args[0], args[1], true, true) : NULL;
}

static const struct value *
call_trim_left(struct eval *eval, const struct value *const *args)
{
	return want_text(eval, args, 2) ?
	    trim(eval, args[0], args[1], true, false) : NULL;
}

static const struct value *
call_trim_right(struct eval *eval, const struct value *const *args)
{
	return want_text(eval, args, 2) ?
	    trim(eval, args[0], args[1], false, true) : NULL;
}

static const struct value *
call_trim_space(struct eval *eval, const struct value *const *args)
{
	return want_text(eval, args, 1) ?
	    trim(eval, args[0], NULL, true, true) : NULL;
}

static const struct value *
call_trim_prefix(struct eval *eval, const struct value *const *args)
{
	if (!want_text(eval, args, 2))
		return NULL;
	if (!starts(args[0], args[1]))
		return args[0];
	return value_string(eval->arena, args[0]->str.p + args[1]->str.n,
	    args[0]->str.n - args[1]->str.n);
}

static const struct value *
call_trim_suffix(struct eval *eval, const struct value *const *args)
{
	if (!want_text(eval, args, 2))
		return NULL;
	if (!ends(args[0], args[1]))
		return args[0];
	return value_string(eval->arena, args[0]->str.p,
	    args[0]->str.n - args[1]->str.n);
}

const struct builtin builtins_string[] = {
	{ "contains", 2, 2, call_contains, false },
	{ "startswith", 2, 2, call_startswith, false },
	{ "endswith", 2, 2, call_endswith, false },
	{ "strings.any_prefix_match", 2, 2, call_any_prefix, false },
	{ "strings.any_suffix_match", 2, 2, call_any_suffix, false },
	{ "concat", 2, 2, call_concat, false },
	{ "indexof", 2, 2, call_indexof, false },
	{ "indexof_n", 2, 2, call_indexof_n, false },
	{ "strings.count", 2, 2, call_count, false },
	{ "substring", 3, 3, call_substring, false },
	{ "split", 2, 2, call_split, false },
	{ "replace", 3, 3, call_replace, false },
	{ "strings.replace_n", 2, 2, call_replace_n, false },
	{ "strings.reverse", 1, 1, call_reverse, false },
	{ "trim", 2, 2, call_trim, false },
	{ "trim_left", 2, 2, call_trim_left, false },
	{ "trim_right", 2, 2, call_trim_right, false },
	{ "trim_space", 1, 1, call_trim_space, false },
	{ "trim_prefix", 2, 2, call_trim_prefix, false },
	{ "trim_suffix", 2, 2, call_trim_suffix, false },
	{ NULL, 0, 0, NULL, false }
};
