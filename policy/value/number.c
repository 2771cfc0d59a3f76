#include <stdlib.h>
#include <string.h>

#include "policy/value/number.h"

static bool
digit(char c)
{
	return c >= '0' && c <= '9';
}

bool
num_text_int64(const char *p, size_t n, int64_t *out)
{
	bool negative = n > 0 && *p == '-';
	uint64_t u = 0;
	size_t i = negative;

	if (i == n || n > 20)
		return false;
	for (; i < n; i++) {
		if (!digit(p[i]) || __builtin_mul_overflow(u, 10u, &u) ||
		    __builtin_add_overflow(u, (uint64_t)(p[i] - '0'), &u))
			return false;
	}
	if (u > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)(0 - u) : (int64_t)u;
	return true;
}

static size_t
digits(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && digit(p[i]))
		i++;
	return i;
}

size_t
num_scan(const char *p, size_t n)
{
	size_t i = n > 0 && *p == '-', k;

	if ((k = digits(p + i, n - i)) == 0 || (k > 1 && p[i] == '0'))
		return 0;
	i += k;
	if (i < n && p[i] == '.') {
		if ((k = digits(p + i + 1, n - i - 1)) == 0)
			return 0;
		i += 1 + k;
	}
	if (i < n && (p[i] == 'e' || p[i] == 'E')) {
		i++;
		if (i < n && (p[i] == '+' || p[i] == '-'))
			i++;
		if ((k = digits(p + i, n - i)) == 0)
			return 0;
		i += k;
	}
	return i;
}

const char *
num_int64_text(int64_t i, char *buf, size_t *n)
{
	uint64_t left = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	char *p = buf + NUM_INT64_TEXT;

	do {
		*--p = (char)('0' + left % 10);
	} while ((left /= 10) != 0);
	if (i < 0)
		*--p = '-';
	*n = (size_t)(buf + NUM_INT64_TEXT - p);
	return p;
}

const char *
num_text(const struct value *v, char *buf, size_t *n)
{
	if (v->num.p != NULL) {
		*n = v->num.n;
		return v->num.p;
	}
	return num_int64_text(v->num.i, buf, n);
}

/* --- decimal text, exactly -------------------------------------------- */

/* 0.d1d2d3... * 10^point, the digits of p[at..end) with the point skipped. */
struct decimal {
	bool negative, zero;
	const char *p, *end;	/* from the first digit that is not 0 */
	int64_t point;
};

static int64_t
exponent(const char *p, const char *end)
{
	bool negative = false;
	int64_t e = 0;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	for (; p < end; p++)
		if (e < (int64_t)1 << 40)
			e = e * 10 + (*p - '0');
	return negative ? -e : e;
}

static struct decimal
decimal_of(const char *p, size_t n)
{
	const char *end = p + n, *e = p, *q, *last;
	struct decimal d = { .zero = true, .p = end };	/* zero: no digits */
	bool after = false;

	if (p < end && *p == '-') {
		d.negative = true;
		p++;
	}
	while (e < end && *e != 'e' && *e != 'E')
		e++;
	d.point = e < end ? exponent(e + 1, end) : 0;
	for (q = p; q < e; q++) {
		if (*q == '.') {
			after = true;
		} else if (d.zero && *q != '0') {
			d.zero = false;
			d.p = q;
		}
		if (*q != '.' && !d.zero && !after)
			d.point++;
		if (*q == '0' && d.zero && after)
			d.point--;
	}
	for (last = e; !d.zero && (last[-1] == '0' || last[-1] == '.'); last--)
		continue;
	d.end = last;
	return d;
}

static int
next_digit(struct decimal *d)
{
	if (d->p < d->end && *d->p == '.')
		d->p++;
	return d->p < d->end ? *d->p++ - '0' : -1;
}

static int
decimal_compare(struct decimal a, struct decimal b)
{
	int sign, x, y;

	if (a.zero || b.zero) {
		if (a.zero && b.zero)
			return 0;
		return a.zero ? (b.negative ? 1 : -1) : (a.negative ? -1 : 1);
	}
	if (a.negative != b.negative)
		return a.negative ? -1 : 1;
	sign = a.negative ? -1 : 1;
	if (a.point != b.point)
		return a.point < b.point ? -sign : sign;
	do {
		x = next_digit(&a);
		y = next_digit(&b);
	} while (x == y && x >= 0);
	return x == y ? 0 : x < y ? -sign : sign;
}

int
num_compare(const struct value *a, const struct value *b)
{
	char abuf[24], bbuf[24];
	const char *ap, *bp;
	size_t an, bn;

	if (a->is_int && b->is_int)
		return a->num.i < b->num.i ? -1 : a->num.i > b->num.i;
	ap = num_text(a, abuf, &an);
	bp = num_text(b, bbuf, &bn);
	return decimal_compare(decimal_of(ap, an), decimal_of(bp, bn));
}

uint64_t
num_hash(const struct value *v)
{
	char buf[24];
	size_t n;
	const char *p = num_text(v, buf, &n);
	struct decimal d = decimal_of(p, n);
	uint64_t h = 0xcbf29ce484222325u;
	int c;

	if (d.zero)
		return h;
	h ^= (uint64_t)d.point * 2 + d.negative;
	while ((c = next_digit(&d)) >= 0)
		h = (h ^ (uint64_t)c) * 0x100000001b3u;
	return h;
}

static int64_t
significant(struct decimal d)
{
	int64_t n = 0;

	while (next_digit(&d) >= 0)
		n++;
	return n;
}

bool
num_to_int64(const struct value *v, int64_t *out)
{
	struct decimal d;
	char text[24];
	size_t n = 0;
	int c;

	if (v->is_int) {
		*out = v->num.i;
		return true;
	}
	d = decimal_of(v->num.p, v->num.n);
	if (d.zero) {
		*out = 0;
		return true;
	}
	if (d.point < 1 || d.point > 19 || significant(d) > d.point)
		return false;
	if (d.negative)
		text[n++] = '-';
	for (; d.point > 0; d.point--)
		text[n++] = (char)((c = next_digit(&d)) < 0 ? '0' : '0' + c);
	return num_text_int64(text, n, out);
}

double
num_to_double(const struct value *v)
{
	char buf[512];
	size_t n;
	const char *p;

	if (v->num.p == NULL)
		return (double)v->num.i;
	p = v->num.p;
	n = v->num.n < sizeof(buf) - 1 ? v->num.n : sizeof(buf) - 1;
	memcpy(buf, p, n);
	buf[n] = '\0';
	return strtod(buf, NULL);
}

/* --- 64-bit mantissa -------------------------------------------------- */

__extension__ typedef unsigned __int128 u128;

static int
top_bit(u128 x)
{
	uint64_t high = (uint64_t)(x >> 64);

	return high != 0 ? 127 - __builtin_clzll(high) :
	    63 - __builtin_clzll((uint64_t)x);
}

/* Round x * 2^exp (and a little more, if sticky) to 64 bits, to even. */
static struct flt
round_to_flt(bool negative, u128 x, int32_t exp, bool sticky)
{
	struct flt f = { negative, 0, 0 };
	int shift;
	u128 rest, half;

	if (x == 0)
		return f;
	shift = top_bit(x) - 63;
	if (shift <= 0) {
		f.mant = (uint64_t)(x << -shift);
		f.exp = exp + shift;
		return f;
	}
	f.mant = (uint64_t)(x >> shift);
	f.exp = exp + shift;
	rest = x & (((u128)1 << shift) - 1);
	half = (u128)1 << (shift - 1);
	if (rest > half || (rest == half && (sticky || (f.mant & 1)))) {
		if (++f.mant == 0) {
			f.mant = (uint64_t)1 << 63;
			f.exp++;
		}
	}
	return f;
}

struct flt
flt_round(bool negative, uint64_t high, uint64_t low, int32_t exp, bool sticky)
{
	return round_to_flt(negative, ((u128)high << 64) | low, exp, sticky);
}

struct flt
flt_from_int(int64_t i)
{
	bool negative = i < 0;

	return round_to_flt(negative,
	    negative ? 0 - (uint64_t)i : (uint64_t)i, 0, false);
}

struct flt
flt_negate(struct flt a)
{
	a.negative = !a.negative;
	return a;
}

static int
compare_magnitude(struct flt a, struct flt b)
{
	if (a.mant == 0 || b.mant == 0)
		return (a.mant != 0) - (b.mant != 0);
	if (a.exp != b.exp)
		return a.exp < b.exp ? -1 : 1;
	return a.mant < b.mant ? -1 : a.mant > b.mant;
}

int
flt_compare(struct flt a, struct flt b)
{
	int c;

	if (a.mant == 0)
		a.negative = false;
	if (b.mant == 0)
		b.negative = false;
	if (a.negative != b.negative)
		return a.negative ? -1 : 1;
	c = compare_magnitude(a, b);
	return a.negative ? -c : c;
}

struct flt
flt_add(struct flt a, struct flt b)
{
	struct flt swap;
	u128 x, y, lost;
	int64_t gap;
	bool sticky;

	if (a.mant == 0 && b.mant == 0)
		return (struct flt){ a.negative && b.negative, 0, 0 };
	if (b.mant == 0)
		return a;
	if (a.mant == 0)
		return b;
	if (compare_magnitude(a, b) < 0) {
		swap = a;
		a = b;
		b = swap;
	}
	/* Two spare bits above, 62 below: enough to round correctly. */
	gap = (int64_t)a.exp - b.exp;
	x = (u128)a.mant << 62;
	y = (u128)b.mant << 62;
	lost = gap >= 128 ? y : y & (((u128)1 << gap) - 1);
	sticky = lost != 0;
	y = gap >= 128 ? 0 : y >> gap;
	if (a.negative == b.negative)
		return round_to_flt(a.negative, x + y, a.exp - 62, sticky);
	if (x == y && !sticky)
		return (struct flt){ false, 0, 0 };
	/* What was lost makes the difference smaller: borrow one, stay sticky. */
	x = x - y - (sticky ? 1 : 0);
	return round_to_flt(a.negative, x, a.exp - 62, sticky);
}

struct flt
flt_mul(struct flt a, struct flt b)
{
	return round_to_flt(a.negative != b.negative,
	    (u128)a.mant * b.mant, a.exp + b.exp, false);
}

struct flt
flt_div(struct flt a, struct flt b)
{
	u128 n, q;
	uint64_t r;
	int32_t exp = a.exp - b.exp;

	if (a.mant == 0)
		return (struct flt){ a.negative != b.negative, 0, 0 };
	/* Long division in two halves: 64 bits, then 63 more. */
	n = a.mant;
	q = n / b.mant;
	r = (uint64_t)(n % b.mant);
	n = (u128)r << 64;
	q = (q << 64) | (n / b.mant);
	r = (uint64_t)(n % b.mant);
	exp -= 64;
	n = (u128)r << 32;
	if (top_bit(q) < 94) {
		q = (q << 32) | (n / b.mant);
		r = (uint64_t)(n % b.mant);
		exp -= 32;
	}
	return round_to_flt(a.negative != b.negative, q, exp, r != 0);
}

bool
flt_integral(struct flt a)
{
	if (a.mant == 0 || a.exp >= 0)
		return true;
	return a.exp > -64 && (a.mant & (((uint64_t)1 << -a.exp) - 1)) == 0;
}

struct flt
flt_truncate(struct flt a)
{
	if (a.exp >= 0 || a.mant == 0)
		return a;
	if (a.exp <= -64)
		return (struct flt){ a.negative, 0, 0 };
	a.mant &= ~(((uint64_t)1 << -a.exp) - 1);
	return a;
}
