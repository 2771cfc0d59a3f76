/* Numbers for sprintf, as Go's fmt and strconv write them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/builtins/format.h"

#define EXPONENT_SHORTEST 6	/* %g without precision: from here on as 1e+06 */

static const char *
sign_of(const struct format_spec *spec, bool negative)
{
	return negative ? "-" : spec->plus ? "+" : spec->space ? " " : "";
}

static void
put_zeros(struct buf *out, int n)
{
	for (; n > 0; n--)
		buf_putc(out, '0');
}

static bool
base_of(uint32_t verb, bool big, unsigned *base)
{
	switch (verb) {
	case 's':
		*base = 10;
		return big;
	case 'd':
	case 'v':
		*base = 10;
		return true;
	case 'b':
		*base = 2;
		return true;
	case 'o':
	case 'O':
		*base = 8;
		return true;
	case 'x':
	case 'X':
		*base = 16;
		return true;
	default:
		return false;
	}
}

static const char *
prefix_of(const struct format_spec *spec, unsigned base, bool leading_zero)
{
	if (spec->verb == 'O')
		return spec->sharp && !leading_zero ? "0o0" : "0o";
	if (!spec->sharp)
		return "";
	switch (base) {
	case 2:
		return "0b";
	case 8:
		return leading_zero ? "" : "0";
	case 16:
		return spec->verb == 'X' ? "0X" : "0x";
	default:
		return "";
	}
}

/* How many digits are wanted: int counts its padding zeros without a prefix,
 * big.Int with it. */
static int
digits_wanted(const struct format_spec *spec, const char *sign,
    const char *prefix, bool big)
{
	if (spec->precise)
		return spec->precision;
	if (!spec->zero || spec->minus || !spec->wide)
		return 0;
	return spec->width - (int)strlen(sign) -
	    (big ? (int)strlen(prefix) : 0);
}

bool
format_digits(struct buf *out, const struct format_spec *spec, bool negative,
    const char *p, size_t n, bool big)
{
	struct buf digits = { .arena = out->arena }, text = digits;
	struct format_spec blanks = *spec;
	const char *sign = sign_of(spec, negative), *prefix;
	bool leading_zero, zero = n == 1 && *p == '0';
	unsigned base;
	int want;

	if (!base_of(spec->verb, big, &base))
		return false;
	blanks.zero = false;
	if (spec->precise && spec->precision == 0 && zero) {
		if (!big && spec->wide)
			format_fill(out, &blanks, spec->width);
		return true;
	}
	num_text_base(&digits, p, n, base, spec->verb == 'X');
	want = digits_wanted(spec, sign, "", big);
	leading_zero = !big && (zero || want > (int)digits.n);
	prefix = prefix_of(spec, base, leading_zero);
	if (big && spec->verb == 'O')
		prefix = "0o";
	want = digits_wanted(spec, sign, prefix, big);
	buf_puts(&text, sign);
	buf_puts(&text, prefix);
	put_zeros(&text, want - (int)digits.n);
	buf_put(&text, digits.p, digits.n);
	format_pad(out, &blanks, text.p, text.n);
	return true;
}

/* --- floats, without their sign --------------------------------------- */

static void
put_printf(struct buf *out, char verb, int precision, double f)
{
	char format[] = "%.*e";
	char *text;
	int n;

	format[3] = verb;
	arena_step(out->arena, (uint64_t)precision / 16);
	text = arena_alloc(out->arena, (size_t)precision + 400);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = snprintf(text, (size_t)precision + 400, format, precision, f);
#pragma GCC diagnostic pop
	buf_put(out, text, (size_t)n);
}

/* The fewest digits that read back as f, in the verb's form. */
static void
put_shortest(struct buf *out, char verb, double f)
{
	char text[40];
	int precision;
	long exp;

	for (precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, f);
		if (strtod(text, NULL) == f)
			break;
	}
	exp = strtol(strchr(text, 'e') + 1, NULL, 10);
	if (exp < -4 || exp >= EXPONENT_SHORTEST)
		put_printf(out, verb == 'G' ? 'E' : 'e', precision, f);
	else
		put_printf(out, 'f', precision - exp > 0 ?
		    precision - (int)exp : 0, f);
}

/* %b: mantissa and exponent of two, both decimal. */
static void
put_binary(struct buf *out, double f)
{
	char text[40];
	uint64_t bits, mant;
	int exp;

	memcpy(&bits, &f, sizeof(bits));
	exp = (int)(bits >> 52 & 0x7ff);
	mant = bits & (((uint64_t)1 << 52) - 1);
	if (exp == 0)
		exp++;
	else
		mant |= (uint64_t)1 << 52;
	snprintf(text, sizeof(text), "%llup%+d", (unsigned long long)mant,
	    exp - 1023 - 52);
	buf_puts(out, text);
}

/* %x: 0x1.8p+01; a leading 1 but for zero, and an exponent of two digits. */
static void
put_hex(struct buf *out, bool upper, bool precise, int precision, double f)
{
	const char *hex = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	uint64_t bits, mant;
	char tail[16];
	int exp, shift, i;

	memcpy(&bits, &f, sizeof(bits));
	exp = (int)(bits >> 52 & 0x7ff);
	mant = (bits & (((uint64_t)1 << 52) - 1)) << 8;
	if (exp == 0)
		exp = 1;
	else
		mant |= (uint64_t)1 << 60;
	exp = mant == 0 ? 0 : exp - 1023;
	for (; mant != 0 && mant >> 60 == 0; mant <<= 1)
		exp--;
	if (precise && precision < 15) {
		uint64_t low, half;

		shift = 60 - 4 * precision;
		low = mant & (((uint64_t)1 << shift) - 1);
		half = (uint64_t)1 << (shift - 1);
		mant = mant >> shift;
		mant += low > half || (low == half && (mant & 1) != 0);
		mant <<= shift;
		if (mant >> 61 != 0) {
			mant >>= 1;
			exp++;
		}
	}
	buf_puts(out, upper ? "0X" : "0x");
	buf_putc(out, hex[mant >> 60 & 15]);
	mant <<= 4;
	if (precise ? precision > 0 : mant != 0)
		buf_putc(out, '.');
	for (i = 0; precise ? i < precision : mant != 0; i++, mant <<= 4)
		buf_putc(out, hex[mant >> 60 & 15]);
	snprintf(tail, sizeof(tail), "%c%c%02d", upper ? 'P' : 'p',
	    exp < 0 ? '-' : '+', abs(exp));
	buf_puts(out, tail);
}

static bool
put_magnitude(struct buf *out, const struct format_spec *spec, char verb,
    double f)
{
	int precision = spec->precise ? spec->precision : 6;

	switch (verb) {
	case 'g':
	case 'G':
		if (!spec->precise)
			put_shortest(out, verb, f);
		else
			put_printf(out, verb, precision, f);
		return true;
	case 'e':
	case 'E':
	case 'f':
		put_printf(out, verb, precision, f);
		return true;
	case 'x':
	case 'X':
		arena_step(out->arena, (uint64_t)precision / 16);
		put_hex(out, verb == 'X', spec->precise, precision, f);
		return true;
	case 'b':
		put_binary(out, f);
		return true;
	default:
		return false;
	}
}

/* The flag '#': a point, and the zeros that %g would drop. */
static void
put_sharp(struct buf *out, const struct format_spec *spec, char verb,
    const struct buf *num)
{
	bool hex = verb == 'x' || verb == 'X', point = false, seen = false;
	int digits = 0;
	size_t i;
	char c;

	if (verb == 'g' || verb == 'G' || verb == 'x')
		digits = spec->precise ? spec->precision : 6;
	for (i = 0; i < num->n; i++) {
		c = num->p[i];
		if (c == 'p' || c == 'P' || (!hex && (c == 'e' || c == 'E')))
			break;
		if (c == '.') {
			point = true;
			continue;
		}
		seen = seen || c != '0';
		digits -= seen;
	}
	buf_put(out, num->p, i);
	if (!point) {
		digits -= i == 1 && num->p[0] == '0';
		buf_putc(out, '.');
	}
	put_zeros(out, digits);
	buf_put(out, num->p + i, num->n - i);
}

bool
format_float(struct buf *out, const struct format_spec *spec, double f)
{
	char verb = spec->verb == 'v' ? 'g' : spec->verb == 'F' ? 'f' :
	    spec->verb < 0x80 ? (char)spec->verb : '?';
	struct buf num = { .arena = out->arena }, text = num;
	const char *sign = sign_of(spec, signbit(f) != 0);
	size_t n = strlen(sign);

	if (!put_magnitude(&num, spec, verb, fabs(f)))
		return false;
	if (spec->sharp && verb != 'b') {
		put_sharp(&text, spec, verb, &num);
		num = text;
	}
	text = (struct buf){ .arena = out->arena };
	if (n > 0 && spec->zero && !spec->minus && spec->wide) {
		buf_puts(out, sign);
		if (spec->width > (int)(num.n + n))
			put_zeros(out, spec->width - (int)(num.n + n));
		buf_put(out, num.p, num.n);
		return true;
	}
	buf_puts(&text, sign);
	buf_put(&text, num.p, num.n);
	format_pad(out, spec, text.p, text.n);
	return true;
}
