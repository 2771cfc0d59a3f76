/*
 * Integers beyond 64 bits, as far as Rego's functions make them: a mantissa of
 * 64 bits and a power of two going in, any digits coming out.
 */
#include <string.h>

#include "policy/value/nat.h"
#include "policy/value/number.h"

__extension__ typedef unsigned __int128 u128;

#define BITS_MAX (3 * NUM_EXPONENT_MAX)	/* of a power of two */

bool
num_to_integer(struct arena *arena, const struct value *v, struct flt *out)
{
	return num_to_flt(arena, v, out) && flt_integral(*out);
}

/* mant and exp of f with the exponent not negative. */
static uint64_t
mantissa(struct flt f, int32_t *exp)
{
	if (f.mant == 0 || f.exp >= 0) {
		*exp = f.mant == 0 ? 0 : f.exp;
		return f.mant;
	}
	*exp = 0;
	return f.mant >> -f.exp;
}

static void
nat_of(struct nat *x, uint64_t mant, int32_t exp)
{
	x->n = 2;
	x->limb[0] = (uint32_t)mant;
	x->limb[1] = (uint32_t)(mant >> 32);
	nat_trim(x);
	nat_shift_left(x, exp);
}

const struct value *
num_from_nat(struct arena *arena, bool negative, struct nat *x)
{
	size_t at = (size_t)x->n * 10 + 11, end = at;
	char *text = arena_alloc(arena, at);
	uint32_t part;
	int i;

	arena_step(arena, (uint64_t)x->n);
	if (x->n == 0)
		return value_int(arena, 0);
	while (x->n > 0)
		for (part = nat_div_billion(x), i = 0; i < 9; i++, part /= 10)
			text[--at] = (char)('0' + part % 10);
	while (text[at] == '0')
		at++;
	if (negative)
		text[--at] = '-';
	return value_number(arena, text + at, end - at);
}

const struct value *
num_from_integer(struct arena *arena, struct flt f)
{
	struct nat *x;
	int32_t exp;
	uint64_t mant = mantissa(f, &exp);

	if (exp == 0 && mant <= INT64_MAX)
		return value_int(arena, f.negative ? -(int64_t)mant :
		    (int64_t)mant);
	if (exp > BITS_MAX)
		return NULL;
	x = arena_alloc(arena, sizeof(*x));
	nat_of(x, mant, exp);
	return num_from_nat(arena, f.negative, x);
}

static unsigned
bit(const struct nat *x, int at)
{
	return at / 32 < x->n ? x->limb[at / 32] >> (at % 32) & 1 : 0;
}

void
num_text_base(struct buf *out, const char *p, size_t n, unsigned base,
    bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	int width = base == 16 ? 4 : base == 8 ? 3 : 1, at, i;
	struct nat *x;
	unsigned d;

	if (base == 10) {
		buf_put(out, p, n);
		return;
	}
	x = arena_alloc(out->arena, sizeof(*x));
	x->n = 0;
	for (; n > 0; n--)
		nat_mul_add(x, 10, (uint32_t)(*p++ - '0'));
	arena_step(out->arena, (uint64_t)x->n);
	for (at = (nat_bits(x) + width - 1) / width - 1; at >= 0; at--) {
		for (d = 0, i = width - 1; i >= 0; i--)
			d = d * 2 + bit(x, at * width + i);
		buf_putc(out, digits[d]);
	}
	if (x->n == 0)
		buf_putc(out, '0');
}

/* --- two's complement ------------------------------------------------- */

/* Between a magnitude and its negative in n limbs, both ways. */
static void
complement(struct nat *x, int n)
{
	uint64_t carry = 1;
	int i;

	for (i = 0; i < n; i++) {
		carry += (uint32_t)~x->limb[i];
		x->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
}

static void
spread(struct nat *x, struct flt f, int n)
{
	int32_t exp;
	uint64_t mant = mantissa(f, &exp);

	nat_of(x, mant, exp);
	memset(x->limb + x->n, 0, (size_t)(n - x->n) * sizeof(x->limb[0]));
	if (f.negative)
		complement(x, n);
}

static int
limbs_of(struct flt f)
{
	int32_t exp;

	mantissa(f, &exp);
	return exp / 32 + 4;	/* mantissa, remainder of the shift, sign */
}

const struct value *
num_bits(struct arena *arena, char op, struct flt a, struct flt b)
{
	int n = limbs_of(a) > limbs_of(b) ? limbs_of(a) : limbs_of(b), i;
	struct nat *x, *y;
	bool negative;

	if (a.exp > BITS_MAX || b.exp > BITS_MAX)
		return NULL;
	x = arena_alloc(arena, 2 * sizeof(*x));
	y = x + 1;
	spread(x, a, n);
	spread(y, b, n);
	for (i = 0; i < n; i++)
		x->limb[i] = op == '&' ? x->limb[i] & y->limb[i] :
		    op == '|' ? x->limb[i] | y->limb[i] :
		    x->limb[i] ^ y->limb[i];
	negative = x->limb[n - 1] >> 31 != 0;
	if (negative)
		complement(x, n);
	x->n = n;
	nat_trim(x);
	return num_from_nat(arena, negative, x);
}

/* --- remainder -------------------------------------------------------- */

static uint64_t
power_of_two_mod(int32_t exp, uint64_t m)
{
	u128 r = 1, base = 2 % m;

	for (r %= m; exp > 0; exp >>= 1) {
		if (exp & 1)
			r = r * base % m;
		base = base * base % m;
	}
	return (uint64_t)r;
}

/* a mod b of magnitudes, b not 0. */
static struct flt
remainder_of(struct flt a, struct flt b)
{
	int32_t ea, eb, gap;
	uint64_t ma = mantissa(a, &ea), mb = mantissa(b, &eb), high, low;

	if (ea >= eb) {
		high = (uint64_t)((u128)(ma % mb) *
		    power_of_two_mod(ea - eb, mb) % mb);
		return flt_round(a.negative, 0, high, eb, false);
	}
	/* a = high * 2^eb + low; what is left is below a, and so of its
	 * mantissa's length. */
	gap = eb - ea;
	high = gap > 63 ? 0 : (ma >> gap) % mb;
	low = gap > 63 ? ma : ma & (((uint64_t)1 << gap) - 1);
	return flt_round(a.negative, 0, gap > 63 ? low : (high << gap) + low,
	    ea, false);
}

const struct value *
num_rem(struct arena *arena, const struct value *a, const struct value *b,
    const char **error)
{
	const struct value *v;
	struct flt x, y;

	*error = "modulo on floating-point number";
	if (!num_to_integer(arena, a, &x) || !num_to_integer(arena, b, &y))
		return NULL;
	/* OPA looks at the lowest 64 bits of b. */
	*error = "modulo by zero";
	if (y.mant == 0 || y.exp + __builtin_ctzll(y.mant) >= 64)
		return NULL;
	*error = "number out of range";
	if ((v = num_from_integer(arena, remainder_of(x, y))) != NULL)
		*error = NULL;
	return v;
}
