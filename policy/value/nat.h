/*
 * Natural numbers of any size that a number of Rego can have: 32-bit limbs,
 * least significant first, none of the n is a leading zero.
 */
#ifndef POLICY_VALUE_NAT_H
#define POLICY_VALUE_NAT_H

#include <stdbool.h>
#include <stdint.h>

/* 10^4000 and a mantissa have about 13,400 bits; the numerator of a division a
 * little more. */
#define NAT_LIMBS 1100

struct nat {
	uint32_t limb[NAT_LIMBS];
	int n;
};

void nat_mul_add(struct nat *x, uint32_t by, uint32_t add);
void nat_mul(struct nat *x, uint64_t by);
void nat_mul_pow10(struct nat *x, int64_t power);
int nat_bits(const struct nat *x);
void nat_shift_left(struct nat *x, int bits);
/* Divide by 10^9, in place; the remainder. */
uint32_t nat_div_billion(struct nat *x);
int nat_compare(const struct nat *a, const struct nat *b);
/* a - b, in place; b is not greater. */
void nat_subtract(struct nat *a, const struct nat *b);
/* Without leading zeros after limbs were set one by one. */
void nat_trim(struct nat *x);

#endif
