/*
 * Numbers as OPA computes with them: decimal text on the outside; integers of
 * 64 bits where that is exact; else binary floating point with a mantissa of
 * 64 bits, rounded to nearest even and printed with the fewest digits that
 * read back the same (Go's big.Float at its default precision).
 *
 * Comparison and hashing work on the decimal text and are exact.
 */
#ifndef POLICY_VALUE_NUMBER_H
#define POLICY_VALUE_NUMBER_H

#include "policy/value/value.h"

/* Decimal exponents beyond this are compared but not computed with. */
#define NUM_EXPONENT_MAX 4000
#define NUM_TEXT_MAX 4200

/* value = (-1)^negative * mant * 2^exp; mant has its top bit set, or is 0. */
struct flt {
	bool negative;
	uint64_t mant;
	int32_t exp;
};

/* Is this text an integer without point, exponent or plus that fits? */
bool num_text_int64(const char *p, size_t n, int64_t *out);
/* The length of the JSON number at the start of p, 0 where there is none. */
size_t num_scan(const char *p, size_t n);

int num_compare(const struct value *a, const struct value *b);
uint64_t num_hash(const struct value *v);
/* Its value where it is integral and fits, whatever its spelling. */
bool num_to_int64(const struct value *v, int64_t *out);
double num_to_double(const struct value *v);

#define NUM_INT64_TEXT 20	/* bytes of the longest integer */
/* The decimal digits of i, at the end of NUM_INT64_TEXT bytes of buf. */
const char *num_int64_text(int64_t i, char *buf, size_t *n);
/* The spelling; buf of at least NUM_INT64_TEXT bytes is used for integers. */
const char *num_text(const struct value *v, char *buf, size_t *n);

bool num_to_flt(struct arena *arena, const struct value *v, struct flt *out);
bool num_text_to_flt(struct arena *arena, const char *p, size_t n,
    struct flt *out);
/* NULL where the exponent is beyond NUM_EXPONENT_MAX. */
const struct value *num_from_flt(struct arena *arena, struct flt f);
struct flt flt_from_int(int64_t i);
/* (high * 2^64 + low) * 2^exp, and a little more if sticky, rounded. */
struct flt flt_round(bool negative, uint64_t high, uint64_t low, int32_t exp,
    bool sticky);
struct flt flt_add(struct flt a, struct flt b);
struct flt flt_mul(struct flt a, struct flt b);
struct flt flt_div(struct flt a, struct flt b);	/* b is not 0 */
struct flt flt_negate(struct flt a);
struct flt flt_truncate(struct flt a);		/* towards zero */
int flt_compare(struct flt a, struct flt b);
bool flt_integral(struct flt a);

/* a op b for op in + - * /, and x, a product as one of many; NULL with *error set: a word for people. */
const struct value *num_arith(struct arena *arena, char op,
    const struct value *a, const struct value *b, const char **error);

/* --- integers of any size (number_big.c) ------------------------------ */

/* The value as OPA's functions of integers see it: rounded to a mantissa of 64
 * bits, false where a fraction is left (or the exponent is beyond). */
bool num_to_integer(struct arena *arena, const struct value *v,
    struct flt *out);
/* x is used up. */
struct nat;
const struct value *num_from_nat(struct arena *arena, bool negative,
    struct nat *x);
/* All digits of an integral f; NULL where the exponent is beyond. */
const struct value *num_from_integer(struct arena *arena, struct flt f);
/* a op b for op in & | ^, in two's complement of as many bits as it takes. */
const struct value *num_bits(struct arena *arena, char op, struct flt a,
    struct flt b);
/* Decimal digits (NUM_TEXT_MAX at most) in base 2, 8, 10 or 16. */
void num_text_base(struct buf *out, const char *p, size_t n, unsigned base,
    bool upper);
/* Truncated remainder, sign of a; NULL with *error set. */
const struct value *num_rem(struct arena *arena, const struct value *a,
    const struct value *b, const char **error);

#endif
