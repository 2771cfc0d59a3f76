#include <string.h>

#include "policy/builtins/codec.h"
#include "policy/plan/builtin.h"

static bool
want_text(struct eval *eval, const struct value *const *args, unsigned i)
{
	if (!builtin_want(eval, args, i, VALUE_STRING))
		return false;
	arena_step(eval->arena, args[i]->str.n / 32);
	return true;
}

/* --- base64, hex ------------------------------------------------------ */

static const struct value *
encode64(struct eval *eval, const struct value *const *args, unsigned flags)
{
	struct buf out = { .arena = eval->arena };

	if (!want_text(eval, args, 0))
		return NULL;
	codec_base64(&out, args[0]->str.p, args[0]->str.n, flags);
	return buf_value(&out);
}

static const struct value *
call_base64_encode(struct eval *eval, const struct value *const *args)
{
	return encode64(eval, args, CODEC_PAD);
}

static const struct value *
call_base64url_encode(struct eval *eval, const struct value *const *args)
{
	return encode64(eval, args, CODEC_URL | CODEC_PAD);
}

static const struct value *
call_base64url_encode_no_pad(struct eval *eval,
    const struct value *const *args)
{
	return encode64(eval, args, CODEC_URL);
}

static const struct value *
call_base64_decode(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };

	if (!want_text(eval, args, 0))
		return NULL;
	if (!codec_unbase64(&out, args[0]->str.p, args[0]->str.n, CODEC_PAD))
		return eval_error(eval, "illegal base64 data");
	return buf_value(&out);
}

static const struct value *
call_base64_is_valid(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };

	return value_bool(args[0]->kind == VALUE_STRING &&
	    codec_unbase64(&out, args[0]->str.p, args[0]->str.n, CODEC_PAD));
}

/* With padding or without. */
static const struct value *
call_base64url_decode(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };

	if (!want_text(eval, args, 0))
		return NULL;
	if (!codec_unbase64_lax(&out, args[0]->str.p, args[0]->str.n))
		return eval_error(eval, "illegal base64url string");
	return buf_value(&out);
}

static const struct value *
call_hex_encode(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };

	if (!want_text(eval, args, 0))
		return NULL;
	codec_hex(&out, args[0]->str.p, args[0]->str.n);
	return buf_value(&out);
}

static const struct value *
call_hex_decode(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };

	if (!want_text(eval, args, 0))
		return NULL;
	if (!codec_unhex(&out, args[0]->str.p, args[0]->str.n))
		return eval_error(eval, "not hexadecimal");
	return buf_value(&out);
}

/* --- queries ---------------------------------------------------------- */

static const struct value *
call_query_encode(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };

	if (!want_text(eval, args, 0))
		return NULL;
	codec_query(&out, args[0]->str.p, args[0]->str.n);
	return buf_value(&out);
}

static const struct value *
call_query_decode(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };

	if (!want_text(eval, args, 0))
		return NULL;
	if (!codec_unquery(&out, args[0]->str.p, args[0]->str.n))
		return eval_error(eval, "invalid URL escape");
	return buf_value(&out);
}

static bool
put_pair(struct eval *eval, struct buf *out, const struct value *key,
    const struct value *v)
{
	if (v->kind != VALUE_STRING) {
		eval_operand_error(eval, 1, "values must be string, "
		    "array[string], or set[string]");
		return false;
	}
	if (out->n > 0)
		buf_putc(out, '&');
	codec_query(out, key->str.p, key->str.n);
	buf_putc(out, '=');
	codec_query(out, v->str.p, v->str.n);
	return true;
}

/* The object as JSON has it: keys that are no strings become their text. */
static const struct value *
with_names(struct eval *eval, const struct value *v)
{
	struct value *out;
	uint32_t i;

	for (i = 0; i < v->col.n; i++)
		if (value_key_at(v, i)->kind != VALUE_STRING)
			break;
	if (i == v->col.n)
		return v;
	out = value_object(eval->arena, v->col.n);
	for (i = 0; i < v->col.n; i++) {
		const struct value *key = value_key_at(v, i);
		struct buf text = { .arena = eval->arena };

		arena_step(eval->arena, 1);
		if (key->kind != VALUE_STRING) {
			value_to_json(&text, key, VALUE_JSON_HTML);
			key = buf_value(&text);
		}
		value_put(eval->arena, out, key, value_at(v, i));
	}
	return out;
}

static const struct value *
call_query_encode_object(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	const struct value *object, *key, *v;
	uint32_t i, k;

	if (!builtin_want(eval, args, 0, VALUE_OBJECT))
		return NULL;
	object = with_names(eval, args[0]);
	value_sort(eval->arena, object);
	for (i = 0; i < object->col.n; i++) {
		key = value_key_at(object, i);
		v = value_at(object, i);
		arena_step(eval->arena, 1);
		if (v->kind != VALUE_ARRAY && v->kind != VALUE_SET) {
			if (!put_pair(eval, &out, key, v))
				return NULL;
			continue;
		}
		value_sort(eval->arena, v);
		arena_step(eval->arena, v->col.n);
		for (k = 0; k < v->col.n; k++)
			if (!put_pair(eval, &out, key, v->col.items[k]))
				return NULL;
	}
	return buf_value(&out);
}

static const struct value *
decoded(struct eval *eval, const char *p, size_t n)
{
	struct buf out = { .arena = eval->arena };

	return codec_unquery(&out, p, n) ? buf_value(&out) :
	    eval_error(eval, "invalid URL escape");
}

static const struct value *
call_query_decode_object(struct eval *eval, const struct value *const *args)
{
	struct value *out = value_object(eval->arena, 0), *list;
	const struct value *key, *v;
	const char *p, *end, *stop, *eq;

	if (!want_text(eval, args, 0))
		return NULL;
	p = args[0]->str.p;
	end = p + args[0]->str.n;
	for (; p < end; p = stop + 1) {
		stop = memchr(p, '&', (size_t)(end - p));
		if (stop == NULL)
			stop = end;
		if (stop == p)
			continue;
		if (memchr(p, ';', (size_t)(stop - p)) != NULL)
			return eval_error(eval, "invalid semicolon separator");
		eq = memchr(p, '=', (size_t)(stop - p));
		if (eq == NULL)
			eq = stop;
		key = decoded(eval, p, (size_t)(eq - p));
		v = key == NULL ? NULL : eq == stop ? &value_empty_string :
		    decoded(eval, eq + 1, (size_t)(stop - eq - 1));
		if (v == NULL)
			return NULL;
		list = (struct value *)(uintptr_t)value_get(eval->arena, out,
		    key);
		if (list == NULL) {
			list = value_array(eval->arena, 1);
			value_put(eval->arena, out, key, list);
		}
		value_append(eval->arena, list, v);
	}
	return out;
}

/* --- JSON ------------------------------------------------------------- */

static const struct value_json_limits lenient = {
	.depth = VALUE_DEPTH_MAX, .last_wins = true, .lone_surrogates = true
};

static const struct value *
call_json_marshal(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };

	value_to_json(&out, args[0], VALUE_JSON_HTML);
	return buf_value(&out);
}

struct pretty {
	struct buf *out;
	const struct value *prefix, *indent;
};

static void
new_line(const struct pretty *p, unsigned depth)
{
	buf_putc(p->out, '\n');
	buf_put(p->out, p->prefix->str.p, p->prefix->str.n);
	for (; depth > 0; depth--)
		buf_put(p->out, p->indent->str.p, p->indent->str.n);
}

static void
write_pretty(const struct pretty *p, const struct value *v, unsigned depth)
{
	struct buf key = { .arena = p->out->arena };
	bool object = v->kind == VALUE_OBJECT;
	uint32_t i;

	if (!value_is_collection(v) || v->col.n == 0) {
		value_to_json(p->out, v, VALUE_JSON_HTML);
		return;
	}
	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(p->out->arena, "value nested too deeply");
	arena_step(p->out->arena, v->col.n);
	value_sort(p->out->arena, v);
	buf_putc(p->out, object ? '{' : '[');
	for (i = 0; i < v->col.n; i++) {
		if (i > 0)
			buf_putc(p->out, ',');
		new_line(p, depth + 1);
		if (object) {
			key.n = 0;
			value_to_json(&key, value_key_at(v, i),
			    VALUE_JSON_HTML);
			if (value_key_at(v, i)->kind == VALUE_STRING)
				buf_put(p->out, key.p, key.n);
			else
				value_json_string(p->out, key.p, key.n,
				    VALUE_JSON_HTML);
			buf_puts(p->out, ": ");
		}
		write_pretty(p, value_at(v, i), depth + 1);
	}
	new_line(p, depth);
	buf_putc(p->out, object ? '}' : ']');
}

/* false after an error; pretty as the options say it. */
static bool
marshal_options(struct eval *eval, const struct value *options,
    struct pretty *p, bool *pretty)
{
	bool asked = false, said = false, implied = false;
	uint32_t i;

	value_sort(eval->arena, options);
	for (i = 0; i < options->col.n; i++) {
		const struct value *key = value_key_at(options, i);
		const struct value *v = value_at(options, i);
		bool text = value_is_text(key, "prefix") || value_is_text(key, "indent");

		if ((!text && !value_is_text(key, "pretty")) || v->kind !=
		    (text ? VALUE_STRING : VALUE_BOOL)) {
			eval_operand_error(eval, 2, "key %.*s is unknown or of "
			    "the wrong type", key->kind == VALUE_STRING ?
			    (int)(key->str.n < 40 ? key->str.n : 40) : 0,
			    key->kind == VALUE_STRING ? key->str.p : "");
			return false;
		}
		if (value_is_text(key, "prefix"))
			p->prefix = v;
		if (value_is_text(key, "indent"))
			p->indent = v;
		implied = implied || text;
		said = said || !text;
		asked = asked || (!text && v->truth);
	}
	*pretty = said ? asked : implied;
	return true;
}

static const struct value *
call_json_marshal_with_options(struct eval *eval,
    const struct value *const *args)
{
	static const struct value tab = VALUE_STRING_LITERAL("\t");
	struct buf out = { .arena = eval->arena };
	struct pretty p = { &out, &value_empty_string, &tab };
	bool pretty;

	if (!builtin_want(eval, args, 1, VALUE_OBJECT) ||
	    !marshal_options(eval, args[1], &p, &pretty))
		return NULL;
	if (!pretty)
		return call_json_marshal(eval, args);
	buf_put(&out, p.prefix->str.p, p.prefix->str.n);
	write_pretty(&p, args[0], 0);
	return buf_value(&out);
}

static const struct value *
call_json_unmarshal(struct eval *eval, const struct value *const *args)
{
	const struct value *v;
	char why[120];

	if (!want_text(eval, args, 0))
		return NULL;
	v = value_from_json(eval->arena, args[0]->str.p, args[0]->str.n,
	    &lenient, why, sizeof(why));
	return v != NULL ? v : eval_error(eval, "%s", why);
}

static const struct value *
call_json_is_valid(struct eval *eval, const struct value *const *args)
{
	char why[120];

	return value_bool(args[0]->kind == VALUE_STRING &&
	    value_from_json(eval->arena, args[0]->str.p, args[0]->str.n,
	    &lenient, why, sizeof(why)) != NULL);
}

const struct builtin builtins_encoding[] = {
	{ "base64.encode", 1, 1, call_base64_encode, false },
	{ "base64.decode", 1, 1, call_base64_decode, false },
	{ "base64.is_valid", 1, 1, call_base64_is_valid, false },
	{ "base64url.encode", 1, 1, call_base64url_encode, false },
	{ "base64url.encode_no_pad", 1, 1, call_base64url_encode_no_pad, false },
	{ "base64url.decode", 1, 1, call_base64url_decode, false },
	{ "hex.encode", 1, 1, call_hex_encode, false },
	{ "hex.decode", 1, 1, call_hex_decode, false },
	{ "urlquery.encode", 1, 1, call_query_encode, false },
	{ "urlquery.decode", 1, 1, call_query_decode, false },
	{ "urlquery.encode_object", 1, 1, call_query_encode_object, false },
	{ "urlquery.decode_object", 1, 1, call_query_decode_object, false },
	{ "json.marshal", 1, 1, call_json_marshal, false },
	{ "json.marshal_with_options", 2, 2, call_json_marshal_with_options, false },
	{ "json.unmarshal", 1, 1, call_json_unmarshal, false },
	{ "json.is_valid", 1, 1, call_json_is_valid, false },
	{ NULL, 0, 0, NULL, false }
};
