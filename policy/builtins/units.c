/* units.parse, units.parse_bytes, semver, uuid.parse. */
#include <stdio.h>
#include <string.h>

#include "policy/builtins/codec.h"
#include "policy/plan/builtin.h"
#include "policy/value/nat.h"
#include "policy/value/unicode_case.h"
#include "policy/value/utf8.h"

#define AMOUNT_EXPONENT_MAX 3000

/* --- amounts ---------------------------------------------------------- */

static bool
digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Without quotation marks; lower case where asked. */
static const struct value *
cleaned(struct eval *eval, const struct value *v, bool lower)
{
	struct buf out = { .arena = eval->arena };
	uint32_t rune;
	size_t i, used;

	arena_step(eval->arena, v->str.n / 16);
	for (i = 0; i < v->str.n; i += used) {
		rune = utf8_decode(v->str.p + i, v->str.n - i, &used);
		if (rune != '"')
			buf_rune(&out, lower ? unicode_lower(rune) : rune);
	}
	return buf_value(&out);
}

/* Where the unit begins: an exponent belongs to the amount. */
static size_t
unit_at(const char *p, size_t n)
{
	size_t i;
	char next;

	for (i = 0; i < n; i++) {
		if (digit(p[i]) || p[i] == '.' || p[i] == '+' || p[i] == '-')
			continue;
		if (p[i] != 'e' && p[i] != 'E')
			return i;
		next = i + 1 < n ? p[i + 1] : ' ';
		if (!digit(next) && next != '+' && next != '-')
			return i;
		if (next == '+' || next == '-')
			i++;
	}
	return n;
}

/* [sign] digits [. digits] [e [sign] digits], more freely than JSON: the digits
 * without their point, and the power of ten. */
struct amount {
	bool negative;
	struct buf digits;
	int64_t power;
};

static bool
amount_of(struct arena *arena, const char *p, size_t n, struct amount *out)
{
	bool point = false;
	int64_t exp;
	size_t i = 0;

	memset(out, 0, sizeof(*out));
	out->digits.arena = arena;
	if (n > 0 && (*p == '+' || *p == '-'))
		out->negative = p[i++] == '-';
	for (; i < n && (digit(p[i]) || (p[i] == '.' && !point)); i++) {
		if (p[i] == '.') {
			point = true;
			continue;
		}
		buf_putc(&out->digits, p[i]);
		out->power -= point;
	}
	if (out->digits.n == 0)
		return false;
	if (i == n)
		return true;
	if (p[i] != 'e' && p[i] != 'E')
		return false;
	i++;
	if (i < n && p[i] == '+')
		i++;
	if (!num_text_int64(p + i, n - i, &exp) || exp > AMOUNT_EXPONENT_MAX ||
	    exp < -AMOUNT_EXPONENT_MAX)
		return false;
	out->power += exp;
	return true;
}

static bool
split_amount(struct eval *eval, const struct value *text, size_t *unit)
{
	if (memchr(text->str.p, ' ', text->str.n) != NULL) {
		eval_error(eval, "spaces not allowed in resource strings");
		return false;
	}
	*unit = unit_at(text->str.p, text->str.n);
	if (*unit > 0)
		return true;
	eval_error(eval, "no amount provided");
	return false;
}

/* k, m, g, ... to 1000 or 1024 to the power of 1, 2, 3, ...; 0: unknown. */
static uint64_t
scale(char letter, bool binary)
{
	static const char letters[] = "kmgtpe";
	const char *at = letter != '\0' ? strchr(letters, letter) : NULL;
	uint64_t x = 1;
	const char *l;

	if (at == NULL)
		return 0;
	for (l = letters; l <= at; l++)
		x *= binary ? 1024 : 1000;
	return x;
}

static uint64_t
bytes_unit(const char *p, size_t n)
{
	if (n == 0)
		return 1;
	if (n == 1 || (n == 2 && p[1] == 'b'))
		return scale(p[0], false);
	if ((n == 2 && p[1] == 'i') || (n == 3 && p[1] == 'i' && p[2] == 'b'))
		return scale(p[0], true);
	return 0;
}

static const struct value *
call_parse_bytes(struct eval *eval, const struct value *const *args)
{
	const struct value *text, *v;
	struct amount amount;
	uint64_t unit;
	size_t at;
	struct flt f;
	char tail[32];

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	text = cleaned(eval, args[0], true);
	if (!split_amount(eval, text, &at))
		return NULL;
	unit = bytes_unit(text->str.p + at, text->str.n - at);
	if (unit == 0)
		return eval_error(eval, "byte unit not recognized");
	if (!amount_of(eval->arena, text->str.p, at, &amount))
		return eval_error(eval,
		    "could not parse byte amount to a number");
	snprintf(tail, sizeof(tail), "e%lld", (long long)amount.power);
	buf_puts(&amount.digits, tail);
	if (!num_text_to_flt(eval->arena, amount.digits.p, amount.digits.n,
	    &f))
		return eval_error(eval, "number out of range");
	f.negative = amount.negative;
	f = flt_truncate(flt_mul(f, flt_round(false, 0, unit, 0, false)));
	v = num_from_integer(eval->arena, f);
	return v != NULL ? v : eval_error(eval, "number out of range");
}

/* Half a unit in the last place, away from zero: digits of p[0..n) plus one. */
static void
round_up(char *p, size_t n)
{
	while (n > 0 && ++p[--n] > '9')
		p[n] = '0';
}

/* digits * 10^power with ten decimals, or none where it is whole. */
static const struct value *
scaled_text(struct eval *eval, bool negative, const char *digits, size_t n,
    int64_t power)
{
	const size_t decimals = 10;
	size_t below = power < 0 ? (size_t)-power : 0, above, i;
	struct buf text = { .arena = eval->arena };
	bool whole = true, zero = true;

	/* As 0digits000, with at least one digit before the point. */
	buf_putc(&text, '0');
	for (i = n; i <= below + 1; i++)
		buf_putc(&text, '0');
	buf_put(&text, digits, n);
	for (; power > 0; power--)
		buf_putc(&text, '0');
	above = text.n - below;
	for (i = above; i < text.n; i++)
		whole = whole && text.p[i] == '0';
	for (i = text.n; i < above + decimals; i++)
		buf_putc(&text, '0');
	if (text.n > above + decimals && text.p[above + decimals] >= '5')
		round_up(text.p, above + decimals);
	text.n = whole ? above : above + decimals;
	for (i = 0; i < text.n; i++)
		zero = zero && text.p[i] == '0';
	for (i = 0; i + 1 < above && text.p[i] == '0'; i++)
		continue;
	digits = text.p;
	n = text.n;
	text = (struct buf){ .arena = eval->arena };
	if (negative && (!zero || !whole))
		buf_putc(&text, '-');
	buf_put(&text, digits + i, above - i);
	if (!whole) {
		buf_putc(&text, '.');
		buf_put(&text, digits + above, n - above);
	}
	return value_number(eval->arena, text.p, text.n);
}

/* The amount in units, exactly; or in thousandths, which OPA takes to be what
 * 0.001 is as a float64: 1152921504606847 * 5^60 / 10^60. */
static const struct value *
scaled_value(struct eval *eval, const struct amount *a, uint64_t unit,
    bool milli)
{
	const uint64_t five_20 = 95367431640625;
	struct nat *x = arena_alloc(eval->arena, sizeof(*x));
	char text[24], *digits;
	const char *product;
	size_t i, n;

	if (a->digits.n > NUM_EXPONENT_MAX)
		return eval_error(eval, "number out of range");
	x->n = 0;
	for (i = 0; i < a->digits.n; i++)
		nat_mul_add(x, 10, (uint32_t)(a->digits.p[i] - '0'));
	arena_step(eval->arena, (uint64_t)x->n);
	nat_mul(x, milli ? 1152921504606847 : unit);
	for (i = 0; milli && i < 3; i++)
		nat_mul(x, five_20);
	product = num_text(num_from_nat(eval->arena, false, x), text, &n);
	digits = arena_copy(eval->arena, product, n);
	return scaled_text(eval, a->negative, digits, n, a->power + (milli ? -60 : 0));
}

static const struct value *
call_parse(struct eval *eval, const struct value *const *args)
{
	const struct value *text;
	struct amount amount;
	uint64_t unit = 0;
	bool milli = false;
	const char *u;
	size_t at, n;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	text = cleaned(eval, args[0], false);
	if (!split_amount(eval, text, &at))
		return NULL;
	u = text->str.p + at;
	n = text->str.n - at;
	if (n == 0)
		unit = 1;
	else if (n == 1 && u[0] == 'm')
		milli = true;	/* the one unit whose case matters */
	else if (n == 1 || (n == 2 && (u[1] | 32) == 'i'))
		unit = scale((char)(u[0] | 32), n == 2);
	if (unit == 0 && !milli)
		return eval_error(eval, "unit not recognized");
	if (!amount_of(eval->arena, text->str.p, at, &amount))
		return eval_error(eval, "could not parse amount to a number");
	return scaled_value(eval, &amount, unit, milli);
}

/* --- semantic versions ------------------------------------------------ */

struct version {
	int64_t part[3];
	const char *pre;	/* pre-release, without its dash */
	size_t pre_len;
};

/* Nothing, or identifiers with a point between two of them. */
static bool
identifiers(const char *p, size_t n)
{
	bool point = true;	/* as if one stood before */
	size_t i;

	for (i = 0; i < n; i++) {
		if (!digit(p[i]) && !((p[i] | 32) >= 'a' &&
		    (p[i] | 32) <= 'z') && p[i] != '-' &&
		    (p[i] != '.' || point))
			return false;
		point = p[i] == '.';
	}
	return n == 0 || !point;
}

static bool
version_of(const struct value *v, struct version *out)
{
	const char *p = v->str.p, *end = p + v->str.n, *mark, *stop;
	int i;

	out->pre = NULL;
	out->pre_len = 0;
	mark = v->str.n > 0 ? memchr(p, '+', v->str.n) : NULL;
	if (mark != NULL) {
		if (!identifiers(mark + 1, (size_t)(end - mark - 1)))
			return false;
		end = mark;
	}
	mark = end > p ? memchr(p, '-', (size_t)(end - p)) : NULL;
	if (mark != NULL) {
		out->pre = mark + 1;
		out->pre_len = (size_t)(end - mark - 1);
		if (!identifiers(out->pre, out->pre_len))
			return false;
		end = mark;
	}
	for (i = 0; i < 3; i++) {
		stop = end > p ? memchr(p, '.', (size_t)(end - p)) : NULL;
		if ((stop == NULL) != (i == 2))
			return false;
		if (stop == NULL)
			stop = end;
		if (!num_text_int64(p, (size_t)(stop - p), &out->part[i]) ||
		    out->part[i] < 0 || *p == '-')
			return false;
		p = stop + 1;
	}
	return true;
}

static int
compare_identifier(const char *a, size_t na, const char *b, size_t nb)
{
	int64_t x, y;
	bool ia = num_text_int64(a, na, &x), ib = num_text_int64(b, nb, &y);
	int c;

	if (ia && ib)
		return x < y ? -1 : x > y;
	if (ia != ib)
		return ia ? -1 : 1;
	c = memcmp(a, b, na < nb ? na : nb);
	return c != 0 ? (c < 0 ? -1 : 1) : na < nb ? -1 : na > nb;
}

static size_t
to_dot(const char *p, size_t n)
{
	const char *dot = n > 0 ? memchr(p, '.', n) : NULL;

	return dot != NULL ? (size_t)(dot - p) : n;
}

static int
compare_pre(const struct version *a, const struct version *b)
{
	const char *p = a->pre, *q = b->pre;
	size_t n = a->pre_len, m = b->pre_len, i, k;
	int c;

	if (n == 0 || m == 0)
		return (n == 0) - (m == 0);
	for (;;) {
		i = to_dot(p, n);
		k = to_dot(q, m);
		if ((c = compare_identifier(p, i, q, k)) != 0)
			return c;
		if (i == n || k == m)
			return (i < n) - (k < m);
		p += i + 1;
		n -= i + 1;
		q += k + 1;
		m -= k + 1;
	}
}

static const struct value *
call_semver_compare(struct eval *eval, const struct value *const *args)
{
	struct version a, b;
	int i, c = 0;

	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_STRING))
		return NULL;
	if (!version_of(args[0], &a) || !version_of(args[1], &b))
		return eval_error(eval, "operand is not a valid SemVer");
	for (i = 0; i < 3 && c == 0; i++)
		c = (a.part[i] > b.part[i]) - (a.part[i] < b.part[i]);
	return value_int(eval->arena, c != 0 ? c : compare_pre(&a, &b));
}

static const struct value *
call_semver_is_valid(struct eval *eval, const struct value *const *args)
{
	struct version v;

	return value_bool(args[0]->kind == VALUE_STRING &&
	    version_of(args[0], &v));
}

/* --- UUIDs ------------------------------------------------------------ */

static bool
uuid_bytes(struct eval *eval, const struct value *v, uint8_t out[16])
{
	static const char urn[] = "urn:uuid:";
	struct buf hex = { .arena = eval->arena };
	struct buf bytes = { .arena = eval->arena };
	const char *p = v->str.p;
	size_t n = v->str.n, i;

	if (n == 36 + 9 && strncasecmp(p, urn, 9) == 0) {
		p += 9;
		n -= 9;
	} else if (n == 38 && p[0] == '{' && p[37] == '}') {
		p++;
		n -= 2;
	}
	if (n != 36 && n != 32)
		return false;
	for (i = 0; i < n; i++) {
		if (n == 36 && (i == 8 || i == 13 || i == 18 || i == 23)) {
			if (p[i] != '-')
				return false;
			continue;
		}
		buf_putc(&hex, p[i]);
	}
	if (!codec_unhex(&bytes, hex.p, hex.n) || bytes.n != 16)
		return false;
	memcpy(out, bytes.p, 16);
	return true;
}

static void
put(struct eval *eval, struct value *to, const char *name,
    const struct value *v)
{
	value_put(eval->arena, to, value_text(eval->arena, name), v);
}

static const char *
variant_of(uint8_t byte)
{
	if ((byte & 0xc0) == 0x80)
		return "RFC4122";
	if ((byte & 0xe0) == 0xc0)
		return "Microsoft";
	return (byte & 0xe0) == 0xe0 ? "Future" : "Reserved";
}

/* Time and node of versions 1 and 2; 100 ns since the Gregorian calendar. */
static void
put_time(struct eval *eval, struct value *out, const uint8_t u[16],
    unsigned version)
{
	static const char *const domains[] = { "Person", "Group", "Org" };
	int64_t t = (int64_t)(u[6] & 0xf) << 56 | (int64_t)u[7] << 48 |
	    (int64_t)u[4] << 40 | (int64_t)u[5] << 32 |
	    (int64_t)u[0] << 24 | (int64_t)u[1] << 16 |
	    (int64_t)u[2] << 8 | u[3];
	char node[18], macvars[32];
	uint8_t m = u[10];

	snprintf(node, sizeof(node), "%02x-%02x-%02x-%02x-%02x-%02x", u[10],
	    u[11], u[12], u[13], u[14], u[15]);
	snprintf(macvars, sizeof(macvars), "%s:%s",
	    (m & 2) != 0 ? "local" : "global",
	    (m & 1) != 0 ? "multicast" : "unicast");
	put(eval, out, "clocksequence", value_int(eval->arena,
	    (u[8] & 0x3f) << 8 | u[9]));
	put(eval, out, "macvariables", value_text(eval->arena, macvars));
	put(eval, out, "nodeid", value_text(eval->arena, node));
	put(eval, out, "time", value_int(eval->arena,
	    (int64_t)((uint64_t)(t - 0x01b21dd213814000) * 100)));
	if (version != 2)
		return;
	put(eval, out, "id", value_int(eval->arena, (int64_t)u[0] << 24 |
	    u[1] << 16 | u[2] << 8 | u[3]));
	put(eval, out, "domain", value_text(eval->arena, u[9] < 3 ?
	    domains[u[9]] : "Unknown"));
}

static const struct value *
call_uuid_parse(struct eval *eval, const struct value *const *args)
{
	struct value *out;
	uint8_t u[16];
	unsigned version;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	if (!uuid_bytes(eval, args[0], u))
		return NULL;	/* undefined, as in OPA */
	out = value_object(eval->arena, 8);
	version = u[6] >> 4;
	put(eval, out, "version", value_int(eval->arena, version));
	put(eval, out, "variant", value_text(eval->arena, variant_of(u[8])));
	if (version == 1 || version == 2)
		put_time(eval, out, u, version);
	return out;
}

const struct builtin builtins_units[] = {
	{ "units.parse", 1, 1, call_parse, false },
	{ "units.parse_bytes", 1, 1, call_parse_bytes, false },
	{ "semver.compare", 2, 2, call_semver_compare, false },
	{ "semver.is_valid", 1, 1, call_semver_is_valid, false },
	{ "uuid.parse", 1, 1, call_uuid_parse, false },
	{ NULL, 0, 0, NULL, false }
};
