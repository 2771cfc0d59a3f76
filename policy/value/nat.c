#include <string.h>

#include "policy/value/nat.h"

__extension__ typedef unsigned __int128 u128;

void
nat_mul_add(struct nat *x, uint32_t by, uint32_t add)
{
	uint64_t carry = add;
	int i;

	for (i = 0; i < x->n; i++) {
		carry += (uint64_t)x->limb[i] * by;
		x->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry != 0 && x->n < NAT_LIMBS)
		x->limb[x->n++] = (uint32_t)carry;
}

void
nat_mul(struct nat *x, uint64_t by)
{
	u128 carry = 0;
	int i;

	for (i = 0; i < x->n; i++) {
		carry += (u128)x->limb[i] * by;
		x->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	for (; carry != 0 && x->n < NAT_LIMBS; carry >>= 32)
		x->limb[x->n++] = (uint32_t)carry;
}

void
nat_mul_pow10(struct nat *x, int64_t power)
{
	for (; power >= 9; power -= 9)
		nat_mul_add(x, 1000000000, 0);
	for (; power > 0; power--)
		nat_mul_add(x, 10, 0);
}

int
nat_bits(const struct nat *x)
{
	return x->n == 0 ? 0 :
	    32 * x->n - __builtin_clz(x->limb[x->n - 1]);
}

void
nat_shift_left(struct nat *x, int bits)
{
	int words = bits / 32, i;

	for (; bits % 32 != 0; bits--)
		nat_mul_add(x, 2, 0);
	if (words == 0 || x->n == 0 || x->n + words > NAT_LIMBS)
		return;
	for (i = x->n - 1; i >= 0; i--)
		x->limb[i + words] = x->limb[i];
	memset(x->limb, 0, (size_t)words * sizeof(x->limb[0]));
	x->n += words;
}

uint32_t
nat_div_billion(struct nat *x)
{
	uint64_t rest = 0;
	int i;

	for (i = x->n - 1; i >= 0; i--) {
		rest = (rest << 32) | x->limb[i];
		x->limb[i] = (uint32_t)(rest / 1000000000);
		rest %= 1000000000;
	}
	nat_trim(x);
	return (uint32_t)rest;
}

int
nat_compare(const struct nat *a, const struct nat *b)
{
	int i;

	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	for (i = a->n - 1; i >= 0; i--)
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

void
nat_subtract(struct nat *a, const struct nat *b)
{
	int64_t borrow = 0;
	int i;

	for (i = 0; i < a->n; i++) {
		borrow += (int64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0);
		a->limb[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
	nat_trim(a);
}

void
nat_trim(struct nat *x)
{
	while (x->n > 0 && x->limb[x->n - 1] == 0)
		x->n--;
}
