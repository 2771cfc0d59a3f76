/*
 * sprintf as Go's fmt.Sprintf prints the four types that OPA hands to it: int,
 * *big.Int, float64, string (anything else is printed as a term first).
 * Flags, width, precision, * for both, and explicit argument numbers.
 */
#ifndef POLICY_BUILTINS_FORMAT_H
#define POLICY_BUILTINS_FORMAT_H

#include <stdint.h>

#include "policy/plan/builtin.h"

/* One verb, read. */
struct format_spec {
	bool minus, plus, sharp, space, zero;
	bool sharp_v;			/* %#v: the flag meant Go's syntax */
	bool wide, precise;		/* are these given? */
	int width, precision;
	uint32_t verb;
};

/* What is printed, padded to its width. */
void format_pad(struct buf *out, const struct format_spec *spec,
    const char *p, size_t n);
void format_fill(struct buf *out, const struct format_spec *spec, int n);
/* A number of these decimal digits; big: with big.Int's rules, not int's.
 * False where there is no such verb. */
bool format_digits(struct buf *out, const struct format_spec *spec,
    bool negative, const char *p, size_t n, bool big);
/* False where there is no such verb for a float64. */
bool format_float(struct buf *out, const struct format_spec *spec, double f);

const struct value *text_sprintf(struct eval *eval,
    const struct value *const *args);

#endif
