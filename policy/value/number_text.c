/*
 * Between decimal text and 64-bit mantissas, and arithmetic on values.
 * Large powers are exact.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/value/nat.h"
#include "policy/value/number.h"

__extension__ typedef unsigned __int128 u128;

/* The top 128 bits of x, its scale, and whether anything lies below. */
static u128
nat_top(const struct nat *x, int32_t *exp, bool *sticky)
{
	int bits = nat_bits(x), drop = bits > 128 ? bits - 128 : 0, i, at;
	u128 top = 0;

	*exp = drop;
	*sticky = false;
	for (i = 0; i < drop / 32; i++)
		*sticky = *sticky || x->limb[i] != 0;
	if (drop % 32 != 0)
		*sticky = *sticky ||
		    (x->limb[i] & ((1u << (drop % 32)) - 1)) != 0;
	for (i = drop / 32; i < x->n; i++) {
		at = 32 * i - drop;
		top |= at >= 0 ? (u128)x->limb[i] << at :
		    (u128)(x->limb[i] >> -at);
	}
	return top;
}

static struct flt
nat_to_flt(bool negative, const struct nat *x)
{
	int32_t exp;
	bool sticky;
	u128 top = nat_top(x, &exp, &sticky);

	return flt_round(negative, (uint64_t)(top >> 64), (uint64_t)top, exp,
	    sticky);
}

/* n / d, correctly rounded: 70 bits of quotient by shift and subtract.  Aligned
 * so that n / d lies between a half and two. */
static struct flt
nat_divide(bool negative, struct nat *n, struct nat *d)
{
	int shift = nat_bits(d) - nat_bits(n), i;
	u128 q = 0;

	if (n->n == 0)
		return (struct flt){ negative, 0, 0 };
	if (shift > 0)
		nat_shift_left(n, shift);
	else
		nat_shift_left(d, -shift);
	for (i = 0; i < 70; i++) {
		q <<= 1;
		if (nat_compare(n, d) >= 0) {
			nat_subtract(n, d);
			q |= 1;
		}
		nat_shift_left(n, 1);
	}
	return flt_round(negative, (uint64_t)(q >> 64), (uint64_t)q,
	    -shift - 69, n->n != 0);
}

/* The digits of text as one natural number and a power of ten. */
struct scaled {
	bool negative;
	const char *p, *end;	/* digits and perhaps a point */
	int64_t power;
};

static bool
scaled_of(const char *p, size_t n, struct scaled *out)
{
	const char *end = p + n, *e = p, *point;
	char tail[24];
	size_t k;

	out->negative = n > 0 && *p == '-';
	p += out->negative;
	while (e < end && *e != 'e' && *e != 'E')
		e++;
	out->p = p;
	out->end = e;
	out->power = 0;
	if (e < end) {
		k = (size_t)(end - e - 1);
		if (k >= sizeof(tail))
			return false;
		memcpy(tail, e + 1, k);
		tail[k] = '\0';
		out->power = strtoll(tail, NULL, 10);
	}
	point = memchr(p, '.', (size_t)(e - p));
	if (out->power > NUM_EXPONENT_MAX || out->power < -NUM_EXPONENT_MAX ||
	    e - p > NUM_EXPONENT_MAX)
		return false;
	if (point != NULL)
		out->power -= e - point - 1;
	return out->power >= -NUM_EXPONENT_MAX;
}

/* Up to 19 digits and 19 decimals need no large numbers. */
static bool
small_to_flt(const struct scaled *s, struct flt *out)
{
	static const uint64_t ten[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
		1000000000, 10000000000, 100000000000, 1000000000000,
		10000000000000, 100000000000000, 1000000000000000,
		10000000000000000, 100000000000000000, 1000000000000000000,
		10000000000000000000u
	};
	uint64_t u = 0;
	const char *p;

	if (s->end - s->p > 20 || s->power > 19 || s->power < -19)
		return false;
	for (p = s->p; p < s->end; p++)
		if (*p != '.' && (__builtin_mul_overflow(u, 10u, &u) ||
		    __builtin_add_overflow(u, (uint64_t)(*p - '0'), &u)))
			return false;
	*out = flt_round(s->negative, 0, u, 0, false);
	if (s->power > 0)
		*out = flt_mul(*out, flt_round(false, 0, ten[s->power], 0,
		    false));
	else if (s->power < 0)
		*out = flt_div(*out, flt_round(false, 0, ten[-s->power], 0,
		    false));
	return true;
}

bool
num_text_to_flt(struct arena *arena, const char *p, size_t n, struct flt *out)
{
	struct nat *x, *d;
	struct scaled s;

	if (!scaled_of(p, n, &s))
		return false;
	if (small_to_flt(&s, out))
		return true;
	x = arena_alloc(arena, 2 * sizeof(*x));
	d = x + 1;
	x->n = 0;
	for (p = s.p; p < s.end; p++)
		if (*p != '.')
			nat_mul_add(x, 10, (uint32_t)(*p - '0'));
	arena_step(arena, (uint64_t)x->n + 1);
	if (s.power >= 0) {
		nat_mul_pow10(x, s.power);
		*out = nat_to_flt(s.negative, x);
		return true;
	}
	d->n = 1;
	d->limb[0] = 1;
	nat_mul_pow10(d, -s.power);
	*out = nat_divide(s.negative, x, d);
	return true;
}

/* -0 is spelled so. */
static bool
num_negative(const struct value *v)
{
	return v->num.i < 0 || (v->num.p != NULL && v->num.p[0] == '-');
}

bool
num_to_flt(struct arena *arena, const struct value *v, struct flt *out)
{
	if (v->is_int) {
		*out = flt_from_int(v->num.i);
		out->negative = num_negative(v);
		return true;
	}
	return num_text_to_flt(arena, v->num.p, v->num.n, out);
}

/* --- printing --------------------------------------------------------- */

/* 0.digits * 10^point, no zeros at either end. */
struct printed {
	char *digits;
	int n, point;
};

/* All digits of f: m * 2^e, or m * 5^k / 10^k where e = -k. */
static bool
print_exact(struct arena *arena, struct flt f, struct printed *out)
{
	struct nat *x = arena_alloc(arena, sizeof(*x));
	int k = f.exp < 0 ? -f.exp : 0, at, i;
	uint32_t part;

	if (f.exp > 3 * NUM_EXPONENT_MAX || k > 3 * NUM_EXPONENT_MAX)
		return false;
	while (k > 0 && (f.mant & 1) == 0) {
		f.mant >>= 1;
		k--;
	}
	x->n = 2;
	x->limb[0] = (uint32_t)f.mant;
	x->limb[1] = (uint32_t)(f.mant >> 32);
	nat_trim(x);
	if (f.exp > 0)
		nat_shift_left(x, f.exp);
	for (i = k; i >= 13; i -= 13)
		nat_mul_add(x, 1220703125, 0);
	for (; i > 0; i--)
		nat_mul_add(x, 5, 0);
	arena_step(arena, (uint64_t)x->n);
	at = x->n * 10 + 10;
	out->digits = arena_alloc(arena, (size_t)at + 1);
	out->digits += at;
	out->n = 0;
	while (x->n > 0)
		for (part = nat_div_billion(x), i = 0; i < 9; i++, part /= 10) {
			*--out->digits = (char)('0' + part % 10);
			out->n++;
		}
	for (; out->n > 0 && *out->digits == '0'; out->n--)
		out->digits++;
	out->point = out->n - k;
	while (out->n > 0 && out->digits[out->n - 1] == '0')
		out->n--;
	return true;
}

/* The first n digits of exact, rounded to nearest (ties to even). */
static struct printed
print_rounded(struct arena *arena, const struct printed *exact, int n)
{
	struct printed r = { NULL, n, exact->point };
	bool up;
	int i;

	if (n > exact->n)
		r.n = n = exact->n;
	r.digits = arena_copy(arena, exact->digits, (size_t)n);
	if (n == exact->n)
		return r;
	up = exact->digits[n] > '5' || (exact->digits[n] == '5' &&
	    (exact->n > n + 1 || ((exact->digits[n - 1] - '0') & 1)));
	for (i = n - 1; up && i >= 0; i--) {
		up = r.digits[i] == '9';
		r.digits[i] = (char)(up ? '0' : r.digits[i] + 1);
	}
	if (up) {
		r.digits[0] = '1';
		r.point++;
	}
	while (r.n > 1 && r.digits[r.n - 1] == '0')
		r.n--;
	return r;
}

/* Are these digits not below those? */
static bool
not_below(const struct printed *a, const struct printed *b)
{
	int n = a->n < b->n ? a->n : b->n, c;

	if (a->point != b->point)
		return a->point > b->point;
	c = memcmp(a->digits, b->digits, (size_t)n);
	return c > 0 || (c == 0 && a->n >= b->n);
}

/* Go takes half a unit on either side of f for its own, also where f is a power
 * of two and the numbers below it lie closer together. */
static bool
half_below(struct arena *arena, const struct printed *d, struct flt f)
{
	struct flt below = { f.negative, UINT64_MAX, f.exp - 1 };
	struct printed exact;

	return f.mant == (uint64_t)1 << 63 &&
	    print_exact(arena, below, &exact) && not_below(d, &exact);
}

static bool
reads_back(struct arena *arena, const struct printed *d, struct flt f)
{
	char text[64];
	struct flt g;
	int n = snprintf(text, sizeof(text), "%.*se%d", d->n, d->digits,
	    d->point - d->n);

	if (!num_text_to_flt(arena, text, (size_t)n, &g))
		return false;
	if (g.mant == f.mant && g.exp == f.exp)
		return true;
	return g.mant == UINT64_MAX && g.exp == f.exp - 1 &&
	    half_below(arena, d, f);
}

static const struct value *
print_integer(struct arena *arena, bool negative, const struct printed *d)
{
	size_t n = (size_t)d->point + negative;
	char *p = arena_alloc(arena, n);

	memset(p, '0', n);
	memcpy(p + negative, d->digits, (size_t)d->n);
	if (negative)
		p[0] = '-';
	return value_number(arena, p, n);
}

/* Go's %g: an exponent below -4 or above 5 is written as such. */
static const struct value *
print_fraction(struct arena *arena, bool negative, const struct printed *d)
{
	struct buf b = { .arena = arena };
	char e[16];
	int i, exp = d->point - 1;

	if (negative)
		buf_putc(&b, '-');
	if (exp < -4 || exp >= 6) {
		buf_put(&b, d->digits, 1);
		if (d->n > 1) {
			buf_putc(&b, '.');
			buf_put(&b, d->digits + 1, (size_t)d->n - 1);
		}
		snprintf(e, sizeof(e), "e%c%02d", exp < 0 ? '-' : '+',
		    abs(exp));
		buf_puts(&b, e);
	} else if (d->point <= 0) {
		buf_puts(&b, "0.");
		for (i = d->point; i < 0; i++)
			buf_putc(&b, '0');
		buf_put(&b, d->digits, (size_t)d->n);
	} else {
		buf_put(&b, d->digits, (size_t)d->point);
		buf_putc(&b, '.');
		buf_put(&b, d->digits + d->point, (size_t)(d->n - d->point));
	}
	return value_number(arena, b.p, b.n);
}

const struct value *
num_from_flt(struct arena *arena, struct flt f)
{
	struct printed exact, d;
	int n;

	if (f.mant == 0)
		return f.negative ? value_number(arena, "-0", 2) :
		    value_int(arena, 0);
	if (f.exp == 0 && f.mant <= INT64_MAX)
		return value_int(arena,
		    f.negative ? -(int64_t)f.mant : (int64_t)f.mant);
	if (!print_exact(arena, f, &exact) ||
	    exact.point > NUM_EXPONENT_MAX || exact.point < -NUM_EXPONENT_MAX)
		return NULL;
	for (n = 1; n < 22; n++) {
		d = print_rounded(arena, &exact, n);
		if (reads_back(arena, &d, f))
			break;
	}
	return flt_integral(f) ? print_integer(arena, f.negative, &d) :
	    print_fraction(arena, f.negative, &d);
}

/* --- arithmetic on values --------------------------------------------- */

static bool
int_arith(char op, int64_t a, int64_t b, int64_t *out)
{
	switch (op) {
	case '+':
		return !__builtin_add_overflow(a, b, out);
	case '-':
		return !__builtin_sub_overflow(a, b, out);
	case '*':
	case 'x':
		return !__builtin_mul_overflow(a, b, out);
	default:
		if (b == 0 || b == -1 || a % b != 0)
			return false;
		*out = a / b;
		return true;
	}
}

static bool
small(const struct value *v)
{
	return v->num.i > -1000 && v->num.i < 1000;
}

/* OPA multiplies small integers as such, anything else as floats, which have a
 * zero with a sign; and it shows. */
static bool
negative_zero(char op, const struct value *a, const struct value *b)
{
	if (op == '+' || op == '-' || (op == '*' && small(a) && small(b)))
		return false;
	return num_negative(a) != num_negative(b);
}

const struct value *
num_arith(struct arena *arena, char op, const struct value *a,
    const struct value *b, const char **error)
{
	const struct value *v;
	struct flt x, y;
	int64_t i;

	if (a->is_int && b->is_int && int_arith(op, a->num.i, b->num.i, &i))
		return i == 0 && negative_zero(op, a, b) ?
		    value_number(arena, "-0", 2) : value_int(arena, i);
	*error = "number out of range";
	if (!num_to_flt(arena, a, &x) || !num_to_flt(arena, b, &y))
		return NULL;
	if (op == '/' && y.mant == 0) {
		*error = "divide by zero";
		return NULL;
	}
	switch (op) {
	case '+':
		x = flt_add(x, y);
		break;
	case '-':
		x = flt_add(x, flt_negate(y));
		break;
	case '*':
	case 'x':
		x = flt_mul(x, y);
		break;
	default:
		x = flt_div(x, y);
		break;
	}
	if ((v = num_from_flt(arena, x)) != NULL)
		*error = NULL;
	return v;
}
