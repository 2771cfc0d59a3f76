#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policy/builtins/format.h"
#include "policy/value/quote.h"
#include "policy/value/unicode.h"
#include "policy/value/utf8.h"

#define WIDTH_MAX 1000000	/* as Go's */

enum arg_type { ARG_INT, ARG_BIG, ARG_FLOAT, ARG_STRING };

struct arg {
	enum arg_type type;
	int64_t i;
	double f;
	const char *p;		/* text of a string or of a big integer */
	size_t n;
};

/* A format being worked through. */
struct printer {
	struct eval *eval;
	struct buf *out;
	const struct value *args;
	const char *p, *end;	/* what is left of the format */
	uint32_t next;		/* argument */
	bool reordered;		/* [n] was used somewhere */
	bool good;		/* and meant an argument, in this verb */
	bool after_index;	/* it is what was just read */
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

/* --- padding ---------------------------------------------------------- */

void
format_fill(struct buf *out, const struct format_spec *spec, int n)
{
	char fill = spec->zero && !spec->minus ? '0' : ' ';

	if (n > 0)
		arena_step(out->arena, (uint64_t)n / 16);
	for (; n > 0; n--)
		buf_putc(out, fill);
}

void
format_pad(struct buf *out, const struct format_spec *spec, const char *p,
    size_t n)
{
	size_t have = spec->wide ? utf8_count(p, n) : 0;
	int more = spec->wide && (size_t)spec->width > have ?
	    spec->width - (int)have : 0;

	if (!spec->minus)
		format_fill(out, spec, more);
	buf_put(out, p, n);
	if (spec->minus)
		format_fill(out, spec, more);
}

/* --- int, string ------------------------------------------------------ */

static void
put_unicode(struct buf *out, const struct format_spec *spec, int64_t i)
{
	struct buf text = { .arena = out->arena };
	struct format_spec blanks = *spec;
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%04llX",
	    (unsigned long long)i);

	buf_puts(&text, "U+");
	for (; spec->precise && n < spec->precision; n++)
		buf_putc(&text, '0');
	buf_puts(&text, digits);
	if (spec->sharp && i >= 0 && i <= 0x10ffff &&
	    unicode_printable((uint32_t)i)) {
		buf_puts(&text, " '");
		buf_rune(&text, (uint32_t)i);
		buf_putc(&text, '\'');
	}
	blanks.zero = false;
	format_pad(out, &blanks, text.p, text.n);
}

static bool
format_int(struct buf *out, const struct format_spec *spec, int64_t i)
{
	struct buf text = { .arena = out->arena };
	char digits[24];
	int n;

	switch (spec->verb) {
	case 'c':
		buf_rune(&text, i < 0 || i > 0x10ffff ? 0xfffd : (uint32_t)i);
		format_pad(out, spec, text.p, text.n);
		return true;
	case 'q':
		quote_rune(&text, i, spec->plus);
		format_pad(out, spec, text.p, text.n);
		return true;
	case 'U':
		put_unicode(out, spec, i);
		return true;
	default:
		n = snprintf(digits, sizeof(digits), "%llu",
		    i < 0 ? 0 - (unsigned long long)i : (unsigned long long)i);
		return format_digits(out, spec, i < 0, digits, (size_t)n,
		    false);
	}
}

static void
put_hex_text(struct buf *out, const struct format_spec *spec, const char *p,
    size_t n)
{
	bool upper = spec->verb == 'X';
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	struct buf text = { .arena = out->arena };
	size_t i;

	if (spec->precise && (size_t)spec->precision < n)
		n = (size_t)spec->precision;
	for (i = 0; i < n; i++) {
		if (spec->space && i > 0)
			buf_putc(&text, ' ');
		if (spec->sharp && (spec->space || i == 0))
			buf_puts(&text, upper ? "0X" : "0x");
		buf_putc(&text, digits[(unsigned char)p[i] >> 4]);
		buf_putc(&text, digits[(unsigned char)p[i] & 15]);
	}
	format_pad(out, spec, text.p, text.n);
}

/* Can it stand between back quotes? */
static bool
quotable_raw(const char *p, size_t n)
{
	uint32_t rune;
	size_t i, used;

	for (i = 0; i < n; i += used) {
		rune = utf8_decode(p + i, n - i, &used);
		if ((rune < ' ' && rune != '\t') || rune == '`' ||
		    rune == 0x7f || rune == 0xfeff ||
		    (rune == 0xfffd && used == 1))
			return false;
	}
	return true;
}

static void
put_quoted(struct buf *out, const struct format_spec *spec, bool raw,
    const char *p, size_t n)
{
	struct buf text = { .arena = out->arena };

	if (raw && quotable_raw(p, n)) {
		buf_putc(&text, '`');
		buf_put(&text, p, n);
		buf_putc(&text, '`');
	} else if (spec->plus) {
		quote_ascii(&text, p, n);
	} else {
		quote_text(&text, p, n);
	}
	format_pad(out, spec, text.p, text.n);
}

static bool
format_text(struct buf *out, const struct format_spec *spec, const char *p,
    size_t n)
{
	size_t cut = spec->precise ?
	    utf8_offset(p, n, (size_t)spec->precision) : n;

	switch (spec->verb) {
	case 's':
		format_pad(out, spec, p, cut);
		return true;
	case 'v':
		if (spec->sharp_v)
			put_quoted(out, spec, false, p, cut);
		else
			format_pad(out, spec, p, cut);
		return true;
	case 'q':
		put_quoted(out, spec, spec->sharp, p, cut);
		return true;
	case 'x':
	case 'X':
		put_hex_text(out, spec, p, n);
		return true;
	default:
		return false;
	}
}

/* --- one argument ----------------------------------------------------- */

static bool
put_as(struct buf *out, const struct format_spec *spec, const struct arg *a)
{
	bool negative;

	switch (a->type) {
	case ARG_INT:
		return format_int(out, spec, a->i);
	case ARG_BIG:
		negative = *a->p == '-';
		return format_digits(out, spec, negative, a->p + negative,
		    a->n - negative, true);
	case ARG_FLOAT:
		return format_float(out, spec, a->f);
	default:
		return format_text(out, spec, a->p, a->n);
	}
}

/* %!d(string=hi): no such verb for this type.  The value is shown as by %v,
 * with the flags of the verb; a big integer shows itself. */
static void
put_bad_verb(struct buf *out, const struct format_spec *spec,
    const struct arg *a)
{
	struct format_spec as_v = *spec;

	as_v.verb = 'v';
	buf_puts(out, "%!");
	buf_rune(out, spec->verb);
	buf_putc(out, '(');
	buf_puts(out, a->type == ARG_BIG ? "big.Int" : type_of(a));
	buf_putc(out, '=');
	if (a->type == ARG_BIG)
		buf_put(out, a->p, a->n);
	else
		put_as(out, &as_v, a);
	buf_putc(out, ')');
}

static void
put_arg(struct printer *pr, struct format_spec *spec)
{
	struct arg a = arg_of(pr->eval, pr->args->col.items[pr->next++]);
	const char *type = type_of(&a);

	/* Before %v, # and + ask for Go's syntax of the value; big integers
	 * look at them all the same. */
	if (spec->verb == 'v' || spec->verb == 'w') {
		spec->sharp_v = spec->sharp;
		if (a.type != ARG_BIG)
			spec->sharp = spec->plus = false;
	}
	if (spec->verb == 'T')
		format_pad(pr->out, spec, type, spec->precise ?
		    utf8_offset(type, strlen(type), (size_t)spec->precision) :
		    strlen(type));
	else if (!put_as(pr->out, spec, &a))
		put_bad_verb(pr->out, spec, &a);
}

/* --- reading the format ----------------------------------------------- */

/* Digits at p->p; a number that is too long takes all the rest with it. */
static bool
read_number(struct printer *pr, int *out)
{
	bool found = false;

	*out = 0;
	for (; pr->p < pr->end && *pr->p >= '0' && *pr->p <= '9'; pr->p++) {
		if (*out > WIDTH_MAX) {
			*out = 0;
			pr->p = pr->end;
			return false;
		}
		*out = *out * 10 + (*pr->p - '0');
		found = true;
	}
	return found;
}

/* [n] as the number of the next argument. */
static void
read_index(struct printer *pr)
{
	const char *close, *open = pr->p;
	int number = 0;
	bool ok;

	pr->after_index = false;
	if (open >= pr->end || *open != '[')
		return;
	pr->reordered = true;
	close = pr->end - open < 3 ? NULL :
	    memchr(open, ']', (size_t)(pr->end - open));
	if (close == NULL) {
		pr->good = false;
		pr->p = open + 1;
		return;
	}
	pr->p = open + 1;
	ok = read_number(pr, &number) && pr->p == close;
	pr->p = close + 1;
	pr->after_index = ok;
	if (ok && number >= 1 && (uint32_t)number <= pr->args->col.n)
		pr->next = (uint32_t)number - 1;
	else
		pr->good = false;
}

/* The argument for a '*'; false where it is no number that would do. */
static bool
read_star(struct printer *pr, int *out)
{
	const struct value *v;

	pr->p++;
	pr->after_index = false;
	*out = 0;
	if (pr->next >= pr->args->col.n)
		return false;
	v = pr->args->col.items[pr->next++];
	if (v->kind != VALUE_NUMBER || !v->is_int || v->num.i > WIDTH_MAX ||
	    v->num.i < -WIDTH_MAX)
		return false;
	*out = (int)v->num.i;
	return true;
}

static void
read_flags(struct printer *pr, struct format_spec *spec)
{
	for (; pr->p < pr->end; pr->p++) {
		switch (*pr->p) {
		case '+':
			spec->plus = true;
			break;
		case '-':
			spec->minus = true;
			break;
		case '#':
			spec->sharp = true;
			break;
		case ' ':
			spec->space = true;
			break;
		case '0':
			spec->zero = true;
			break;
		default:
			return;
		}
	}
}

static void
read_width(struct printer *pr, struct format_spec *spec)
{
	if (pr->p < pr->end && *pr->p == '*') {
		spec->wide = read_star(pr, &spec->width);
		if (!spec->wide)
			buf_puts(pr->out, "%!(BADWIDTH)");
		if (spec->width < 0) {
			spec->width = -spec->width;
			spec->minus = true;
			spec->zero = false;
		}
		return;
	}
	spec->wide = read_number(pr, &spec->width);
	if (pr->after_index && spec->wide)
		pr->good = false;
}

/* A point at the very end is a verb of its own. */
static void
read_precision(struct printer *pr, struct format_spec *spec)
{
	if (pr->end - pr->p < 2 || *pr->p != '.')
		return;
	pr->p++;
	if (pr->after_index)
		pr->good = false;
	read_index(pr);
	if (pr->p < pr->end && *pr->p == '*') {
		spec->precise = read_star(pr, &spec->precision);
		if (spec->precision < 0) {
			spec->precision = 0;
			spec->precise = false;
		}
		if (!spec->precise)
			buf_puts(pr->out, "%!(BADPREC)");
		return;
	}
	read_number(pr, &spec->precision);
	spec->precise = true;
}

/* pr->p stands behind the percent sign. */
static void
put_verb(struct printer *pr)
{
	struct format_spec spec = { 0 };
	size_t used;

	pr->good = true;
	read_flags(pr, &spec);
	read_index(pr);
	read_width(pr, &spec);
	read_precision(pr, &spec);
	if (!pr->after_index)
		read_index(pr);
	if (pr->p >= pr->end) {
		buf_puts(pr->out, "%!(NOVERB)");
		return;
	}
	spec.verb = utf8_decode(pr->p, (size_t)(pr->end - pr->p), &used);
	pr->p += used;
	if (spec.verb == '%') {
		buf_putc(pr->out, '%');
	} else if (!pr->good || pr->next >= pr->args->col.n) {
		buf_puts(pr->out, "%!");
		buf_rune(pr->out, spec.verb);
		buf_puts(pr->out, pr->good ? "(MISSING)" : "(BADINDEX)");
	} else {
		put_arg(pr, &spec);
	}
}

static void
put_extra(struct printer *pr)
{
	const struct format_spec spec = { .verb = 'v' };
	bool first = true;

	buf_puts(pr->out, "%!(EXTRA ");
	for (; pr->next < pr->args->col.n; pr->next++, first = false) {
		struct arg a = arg_of(pr->eval, pr->args->col.items[pr->next]);

		if (!first)
			buf_puts(pr->out, ", ");
		buf_puts(pr->out, type_of(&a));
		buf_putc(pr->out, '=');
		put_as(pr->out, &spec, &a);
	}
	buf_putc(pr->out, ')');
}

const struct value *
text_sprintf(struct eval *eval, const struct value *const *args)
{
	struct buf out = { .arena = eval->arena };
	struct printer pr = { .eval = eval, .out = &out, .args = args[1] };
	const char *percent;

	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_ARRAY))
		return NULL;
	pr.p = args[0]->str.p;
	pr.end = pr.p + args[0]->str.n;
	arena_step(eval->arena, args[0]->str.n / 16);
	while (pr.p < pr.end) {
		percent = memchr(pr.p, '%', (size_t)(pr.end - pr.p));
		if (percent == NULL)
			percent = pr.end;
		buf_put(&out, pr.p, (size_t)(percent - pr.p));
		pr.p = percent;
		if (pr.p < pr.end) {
			pr.p++;
			put_verb(&pr);
		}
	}
	if (!pr.reordered && pr.next < args[1]->col.n)
		put_extra(&pr);
	return buf_value(&out);
}
