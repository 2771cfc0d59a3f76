/*
 * Case, and Go's fmt for the four types that OPA hands to it: int, *big.Int,
 * float64, string (anything else is printed as a term first).
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/builtin.h"
#include "policy/regex/regex.h"
#include "policy/unicode_case.h"
#include "policy/utf8.h"

static const struct value *
map_case(struct eval *eval, const struct value *const *args,
    uint32_t (*map)(uint32_t))
{
	struct buf out = { .arena = eval->arena };
	size_t i, used;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	arena_step(eval->arena, args[0]->str.n / 16);
	for (i = 0; i < args[0]->str.n; i += used)
		buf_rune(&out, map(utf8_decode(args[0]->str.p + i,
		    args[0]->str.n - i, &used)));
	return buf_value(&out);
}

static const struct value *
call_upper(struct eval *eval, const struct value *const *args)
{
	return map_case(eval, args, unicode_upper);
}

static const struct value *
call_lower(struct eval *eval, const struct value *const *args)
{
	return map_case(eval, args, unicode_lower);
}

/* --- sprintf ---------------------------------------------------------- */

#define WIDTH_MAX 1000000	/* as Go's */

struct verb {
	bool minus, plus, sharp, space, zero;
	int width, precision;	/* -1: not given */
	char verb[4];
	size_t verb_len;
};

enum arg_type { ARG_INT, ARG_BIG, ARG_FLOAT, ARG_STRING };

struct arg {
	enum arg_type type;
	int64_t i;
	double f;
	const char *p;		/* text of a string or of a big integer */
	size_t n;
};

static struct arg
arg_of(struct eval *eval, const struct value *v)
{
	struct buf text = { .arena = eval->arena };
	struct arg a = { .type = ARG_STRING };

	if (v->kind == VALUE_NUMBER && v->is_int) {
		a.type = ARG_INT;
		a.i = v->num.i;
	} else if (v->kind == VALUE_NUMBER) {
		a.p = v->num.p;
		a.n = v->num.n;
		a.type = memchr(a.p, '.', a.n) == NULL &&
		    memchr(a.p, 'e', a.n) == NULL &&
		    memchr(a.p, 'E', a.n) == NULL ? ARG_BIG : ARG_FLOAT;
		a.f = num_to_double(v);
		if (a.type == ARG_FLOAT && isinf(a.f))
			a.type = ARG_STRING;
	} else if (v->kind == VALUE_STRING) {
		a.p = v->str.p;
		a.n = v->str.n;
	} else {
		value_to_json(&text, v, VALUE_JSON_REGO);
		a.p = text.p;
		a.n = text.n;
	}
	return a;
}

static const char *
type_of(const struct arg *a)
{
	switch (a->type) {
	case ARG_INT:
		return "int";
	case ARG_BIG:
		return "*big.Int";
	case ARG_FLOAT:
		return "float64";
	default:
		return "string";
	}
}

static void
pad(struct buf *out, const struct verb *v, const char *p, size_t n)
{
	size_t have = utf8_count(p, n), want = v->width > 0 ?
	    (size_t)v->width : 0;
	char fill = v->zero && !v->minus ? '0' : ' ';

	for (; !v->minus && have < want; have++)
		buf_putc(out, fill);
	buf_put(out, p, n);
	for (; v->minus && have < want; have++)
		buf_putc(out, ' ');
}

/* Sign and prefix stay in front of padding zeros. */
static void
put_number(struct buf *out, const struct verb *v, const char *prefix,
    const char *digits, size_t n)
{
	struct buf text = { .arena = out->arena };
	size_t have = strlen(prefix) + n;
	struct verb plain = *v;

	buf_puts(&text, prefix);
	if (v->zero && !v->minus && v->precision < 0)
		for (; v->width > 0 && have < (size_t)v->width; have++)
			buf_putc(&text, '0');
	buf_put(&text, digits, n);
	plain.zero = false;
	pad(out, &plain, text.p, text.n);
}

static size_t
print_base(char *out, uint64_t u, unsigned base, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char reversed[64];
	size_t n = 0, i;

	do {
		reversed[n++] = digits[u % base];
		u /= base;
	} while (u > 0);
	for (i = 0; i < n; i++)
		out[i] = reversed[n - 1 - i];
	return n;
}

static const char *
sign_of(const struct verb *v, bool negative)
{
	return negative ? "-" : v->plus ? "+" : v->space ? " " : "";
}

static void
put_int(struct buf *out, const struct verb *v, int64_t i, unsigned base,
    bool upper, const char *base_prefix)
{
	uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	struct buf digits = { .arena = out->arena };
	char text[64], prefix[8];
	size_t n = print_base(text, u, base, upper), k;

	snprintf(prefix, sizeof(prefix), "%s%s", sign_of(v, i < 0),
	    base_prefix);
	for (k = n; v->precision > 0 && k < (size_t)v->precision; k++)
		buf_putc(&digits, '0');
	if (!(v->precision == 0 && u == 0))
		buf_put(&digits, text, n);
	put_number(out, v, prefix, digits.p, digits.n);
}

/* As in a Go string literal. */
static void
put_escaped(struct buf *out, uint32_t rune, char quote, bool valid, char byte)
{
	static const char from[] = "\a\b\f\n\r\t\v\\", to[] = "abfnrtv\\";
	char text[16];
	const char *at = rune != 0 && rune < 0x80 ?
	    strchr(from, (int)rune) : NULL;

	if (!valid) {
		snprintf(text, sizeof(text), "\\x%02x", (unsigned char)byte);
		buf_puts(out, text);
	} else if (at != NULL || rune == (uint32_t)quote) {
		buf_putc(out, '\\');
		buf_putc(out, at != NULL ? to[at - from] : quote);
	} else if (unicode_printable(rune)) {
		buf_rune(out, rune);
	} else {
		snprintf(text, sizeof(text), rune < 0x20 || rune == 0x7f ?
		    "\\x%02x" : rune < 0x10000 ? "\\u%04x" : "\\U%08x",
		    (unsigned)rune);
		buf_puts(out, text);
	}
}

static void
put_text_quoted(struct buf *out, const char *p, size_t n)
{
	uint32_t rune;
	size_t i, used;

	buf_putc(out, '"');
	for (i = 0; i < n; i += used) {
		rune = utf8_decode(p + i, n - i, &used);
		put_escaped(out, rune, '"', !(rune == 0xfffd && used == 1),
		    p[i]);
	}
	buf_putc(out, '"');
}

static void
put_rune_quoted(struct buf *out, const struct verb *v, int64_t i)
{
	struct buf text = { .arena = out->arena };

	buf_putc(&text, '\'');
	put_escaped(&text, i < 0 || i > 0x10ffff ? 0xfffd : (uint32_t)i, '\'',
	    true, 0);
	buf_putc(&text, '\'');
	pad(out, v, text.p, text.n);
}

static bool
format_int(struct buf *out, const struct verb *v, int64_t i)
{
	char rune[4], text[16];
	size_t n;

	switch (v->verb[0]) {
	case 'v':
	case 'd':
		put_int(out, v, i, 10, false, "");
		return true;
	case 'b':
		put_int(out, v, i, 2, false, v->sharp ? "0b" : "");
		return true;
	case 'o':
		put_int(out, v, i, 8, false, v->sharp ? "0" : "");
		return true;
	case 'O':
		put_int(out, v, i, 8, false, "0o");
		return true;
	case 'x':
		put_int(out, v, i, 16, false, v->sharp ? "0x" : "");
		return true;
	case 'X':
		put_int(out, v, i, 16, true, v->sharp ? "0X" : "");
		return true;
	case 'c':
		n = utf8_encode(i < 0 || i > 0x10ffff ? 0xfffd : (uint32_t)i,
		    rune);
		pad(out, v, rune, n);
		return true;
	case 'q':
		put_rune_quoted(out, v, i);
		return true;
	case 'U':
		n = (size_t)snprintf(text, sizeof(text), "U+%04X",
		    (unsigned)i);
		pad(out, v, text, n);
		return true;
	default:
		return false;
	}
}

/* The shortest text that reads back as f: exponent form as Go chooses it. */
static void
shortest(char *out, size_t size, double f, char verb)
{
	int precision;
	char *e;
	long exp;

	for (precision = 0; precision < 17; precision++) {
		snprintf(out, size, "%.*e", precision, f);
		if (strtod(out, NULL) == f)
			break;
	}
	if (verb == 'e')
		return;
	e = strchr(out, 'e');
	exp = e != NULL ? strtol(e + 1, NULL, 10) : 0;
	if (verb == 'f' || (exp >= -4 && exp < 21))
		snprintf(out, size, "%.*f", precision - (int)exp > 0 ?
		    precision - (int)exp : 0, f);
}

static bool
format_float(struct buf *out, const struct verb *v, double f)
{
	char text[800];
	char verb = v->verb[0] == 'v' ? 'g' : v->verb[0];
	int precision = v->precision < 0 ? 6 :
	    v->precision > 400 ? 400 : v->precision;
	bool negative = signbit(f);

	if (v->verb_len != 1 || strchr("eEfFgG", verb) == NULL)
		return false;
	if (v->precision < 0 && verb != 'e' && verb != 'E' && verb != 'f' &&
	    verb != 'F') {
		shortest(text, sizeof(text), fabs(f), 'g');
	} else if (verb == 'e' || verb == 'E') {
		snprintf(text, sizeof(text), verb == 'e' ? "%.*e" : "%.*E",
		    precision, fabs(f));
	} else if (verb == 'f' || verb == 'F') {
		snprintf(text, sizeof(text), "%.*f", precision, fabs(f));
	} else {
		snprintf(text, sizeof(text), verb == 'g' ? "%.*g" : "%.*G",
		    precision, fabs(f));
	}
	put_number(out, &(struct verb){ v->minus, v->plus, v->sharp, v->space,
	    v->zero, v->width, -1, { 0 }, 0 }, sign_of(v, negative), text,
	    strlen(text));
	return true;
}

static void
put_hex_text(struct buf *out, const struct verb *v, const char *p, size_t n)
{
	const char *digits = v->verb[0] == 'X' ? "0123456789ABCDEF" :
	    "0123456789abcdef";
	struct buf text = { .arena = out->arena };
	size_t i;

	if (v->sharp && n > 0)
		buf_puts(&text, v->verb[0] == 'X' ? "0X" : "0x");
	for (i = 0; i < n; i++) {
		buf_putc(&text, digits[(unsigned char)p[i] >> 4]);
		buf_putc(&text, digits[(unsigned char)p[i] & 15]);
	}
	pad(out, v, text.p, text.n);
}

static bool
format_text(struct buf *out, const struct verb *v, const char *p, size_t n)
{
	struct buf text = { .arena = out->arena };

	if (v->precision >= 0)
		n = utf8_offset(p, n, (size_t)v->precision);
	switch (v->verb[0]) {
	case 'v':
		if (v->sharp) {
			put_text_quoted(&text, p, n);
			pad(out, v, text.p, text.n);
			return true;
		}
		/* FALLTHROUGH */
	case 's':
		pad(out, v, p, n);
		return true;
	case 'q':
		put_text_quoted(&text, p, n);
		pad(out, v, text.p, text.n);
		return true;
	case 'x':
	case 'X':
		put_hex_text(out, v, p, n);
		return true;
	default:
		return false;
	}
}

static bool
format_big(struct buf *out, const struct verb *v, const struct arg *a)
{
	bool negative = a->n > 0 && *a->p == '-';

	if (v->verb[0] != 'd' && v->verb[0] != 'v' && v->verb[0] != 's')
		return false;
	put_number(out, v, sign_of(v, negative), a->p + negative,
	    a->n - negative);
	return true;
}

static bool
format_arg(struct buf *out, const struct verb *v, const struct arg *a)
{
	switch (a->type) {
	case ARG_INT:
		return format_int(out, v, a->i);
	case ARG_BIG:
		return format_big(out, v, a);
	case ARG_FLOAT:
		return format_float(out, v, a->f);
	default:
		return format_text(out, v, a->p, a->n);
	}
}

/* The argument as %!verb(type=...) shows it: as by %v, with the verb's flags. */
static void
put_plain(struct buf *out, const struct verb *flags, const struct arg *a)
{
	struct verb v = *flags;

	v.verb[0] = 'v';
	v.verb_len = 1;
	buf_puts(out, type_of(a));
	buf_putc(out, '=');
	format_arg(out, &v, a);
}

static const char *
read_int(const char *p, const char *end, int *out)
{
	*out = -1;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		*out = (*out < 0 ? 0 : *out) * 10 + (*p - '0');
		if (*out > WIDTH_MAX)
			*out = WIDTH_MAX;
	}
	return p;
}

/* p stands behind the percent sign. */
static const char *
read_verb(const char *p, const char *end, struct verb *v)
{
	size_t used;

	memset(v, 0, sizeof(*v));
	v->precision = -1;
	for (; p < end && strchr("+-# 0", *p) != NULL && *p != '\0'; p++) {
		v->plus |= *p == '+';
		v->minus |= *p == '-';
		v->sharp |= *p == '#';
		v->space |= *p == ' ';
		v->zero |= *p == '0';
	}
	p = read_int(p, end, &v->width);
	if (p < end && *p == '.') {
		p = read_int(p + 1, end, &v->precision);
		if (v->precision < 0)
			v->precision = 0;
	}
	if (p < end) {
		utf8_decode(p, (size_t)(end - p), &used);
		memcpy(v->verb, p, used);
		v->verb_len = used;
		p += used;
	}
	return p;
}

static void
put_one(struct eval *eval, struct buf *out, const struct verb *v,
    const struct value *arg)
{
	struct arg a = arg_of(eval, arg);

	if (v->width > 0)
		arena_step(eval->arena, (uint64_t)v->width / 16);
	if (v->verb_len == 1 && v->verb[0] == 'T') {
		buf_puts(out, type_of(&a));
	} else if (v->verb_len != 1 || !format_arg(out, v, &a)) {
		buf_puts(out, "%!");
		buf_put(out, v->verb, v->verb_len);
		buf_putc(out, '(');
		put_plain(out, v, &a);
		buf_putc(out, ')');
	}
}

static void
put_extra(struct eval *eval, struct buf *out, const struct value *args,
    uint32_t from)
{
	struct verb v = { .precision = -1, .verb = "v", .verb_len = 1 };
	uint32_t i;

	buf_puts(out, "%!(EXTRA ");
	for (i = from; i < args->col.n; i++) {
		struct arg a = arg_of(eval, args->col.items[i]);

		if (i > from)
			buf_puts(out, ", ");
		put_plain(out, &v, &a);
	}
	buf_putc(out, ')');
}

static const struct value *
call_sprintf(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	const char *p, *end;
	struct verb v;
	uint32_t next = 0;

	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_ARRAY))
		return NULL;
	p = args[0]->str.p;
	end = p + args[0]->str.n;
	arena_step(eval->arena, args[0]->str.n / 16);
	while (p < end) {
		if (*p != '%') {
			buf_putc(&out, *p++);
			continue;
		}
		p = read_verb(p + 1, end, &v);
		if (v.verb_len == 0) {
			buf_puts(&out, "%!(NOVERB)");
		} else if (v.verb[0] == '%') {
			buf_putc(&out, '%');
		} else if (next == args[1]->col.n) {
			buf_puts(&out, "%!");
			buf_put(&out, v.verb, v.verb_len);
			buf_puts(&out, "(MISSING)");
		} else {
			put_one(eval, &out, &v, args[1]->col.items[next++]);
		}
	}
	if (next < args[1]->col.n)
		put_extra(eval, &out, args[1], next);
	return buf_value(&out);
}

static const struct value *
call_format_int(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	struct verb v = { .precision = -1 };
	struct flt f;
	int64_t base, i;

	if (!builtin_want(eval, args, 0, VALUE_NUMBER) ||
	    !builtin_want(eval, args, 1, VALUE_NUMBER))
		return NULL;
	base = args[1]->is_int ? args[1]->num.i : 0;
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return eval_operand_error(eval, 2,
		    "must be one of {2, 8, 10, 16}");
	if (!num_to_flt(eval->arena, args[0], &f) ||
	    !num_to_int64(num_from_flt(eval->arena, flt_truncate(f)), &i))
		return eval_error(eval, "number out of range");
	put_int(&out, &v, i, (unsigned)base, false, "");
	return buf_value(&out);
}

const struct builtin builtins_text[] = {
	{ "upper", 1, 1, call_upper, false },
	{ "lower", 1, 1, call_lower, false },
	{ "sprintf", 2, 2, call_sprintf, false },
	{ "format_int", 2, 2, call_format_int, false },
	{ NULL, 0, 0, NULL, false }
};
