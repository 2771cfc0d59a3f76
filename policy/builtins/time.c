/* The clock stands still for the length of a decision. */
#include <string.h>

#include "policy/builtins/layout.h"
#include "policy/builtins/zone.h"
#include "policy/plan/builtin.h"

#define NS 1000000000

static const struct value *
call_now_ns(struct eval *eval, const struct value *const *args)
{
	return value_int(eval->arena, eval->now_ns);
}

/* A moment: nanoseconds, or [nanoseconds, zone, layout]. */
struct instant {
	struct moment moment;
	const struct zone *zone;
	const struct value *layout;
};

static bool
moment_parts(struct eval *eval, const struct value *v, struct instant *out)
{
	const struct value *name;

	out->zone = zone_load(eval->arena, "UTC", 3);
	out->layout = &value_empty_string;
	if (v->kind != VALUE_ARRAY)
		return true;
	if (v->col.n > 1) {
		name = v->col.items[1];
		if (name->kind != VALUE_STRING) {
			eval_type_error(eval, 1, "string", name);
			return false;
		}
		out->zone = zone_load(eval->arena, name->str.p, name->str.n);
		if (out->zone == NULL) {
			eval_error(eval, "unknown time zone");
			return false;
		}
	}
	if (v->col.n > 2) {
		out->layout = v->col.items[2];
		if (out->layout->kind != VALUE_STRING) {
			eval_type_error(eval, 1, "string", out->layout);
			return false;
		}
	}
	return true;
}

static bool
moment_of(struct eval *eval, const struct value *v, struct instant *out)
{
	const struct value *ns = v;
	int64_t n;

	if (v->kind == VALUE_ARRAY && v->col.n > 0)
		ns = v->col.items[0];
	else if (v->kind != VALUE_NUMBER) {
		eval_type_error(eval, 1, "either number (ns) or [number (ns), "
		    "string (tz)]", v);
		return false;
	}
	if (ns->kind != VALUE_NUMBER) {
		eval_type_error(eval, 1, "number", ns);
		return false;
	}
	if (!moment_parts(eval, v, out))
		return false;
	if (!num_to_int64(ns, &n)) {
		eval_error(eval, "timestamp too big");
		return false;
	}
	out->moment.seconds = n / NS - (n % NS < 0);
	out->moment.nanoseconds = (int32_t)((n % NS + NS) % NS);
	out->moment.zone = zone_at(out->zone, out->moment.seconds);
	return true;
}

static const struct value *
nanoseconds(struct eval *eval, int64_t seconds, int32_t ns)
{
	int64_t n;

	/* Towards zero first: the smallest number has a fraction. */
	if (seconds < 0 && ns > 0) {
		seconds++;
		ns -= NS;
	}
	if (__builtin_mul_overflow(seconds, NS, &n) ||
	    __builtin_add_overflow(n, ns, &n))
		return eval_error(eval, "time outside of valid range");
	return value_int(eval->arena, n);
}

static struct civil
civil_in(const struct moment *m)
{
	return civil_of(m->seconds + m->zone.offset);
}

static const struct value *
numbers(struct eval *eval, const int64_t *n, size_t count)
{
	struct value *out = value_array(eval->arena, count);
	size_t i;

	for (i = 0; i < count; i++)
		value_append(eval->arena, out, value_int(eval->arena, n[i]));
	return out;
}

static const struct value *
call_date(struct eval *eval, const struct value *const *args)
{
	struct instant o;
	struct civil c;

	if (!moment_of(eval, args[0], &o))
		return NULL;
	c = civil_in(&o.moment);
	return numbers(eval, (int64_t[]){ c.year, c.month, c.day }, 3);
}

static const struct value *
call_clock(struct eval *eval, const struct value *const *args)
{
	struct instant o;
	struct civil c;

	if (!moment_of(eval, args[0], &o))
		return NULL;
	c = civil_in(&o.moment);
	return numbers(eval, (int64_t[]){ c.hour, c.minute, c.second }, 3);
}

static const struct value *
call_weekday(struct eval *eval, const struct value *const *args)
{
	static const struct value layout = VALUE_STRING_LITERAL("Monday");
	struct buf out = { .arena = eval->arena };
	struct instant o;

	if (!moment_of(eval, args[0], &o))
		return NULL;
	layout_format(&out, &layout, &o.moment);
	return buf_value(&out);
}

static const struct value *
call_format(struct eval *eval, const struct value *const *args)
{
	static const struct value nano = VALUE_STRING_LITERAL("RFC3339Nano");
	struct buf out = { .arena = eval->arena };
	struct instant o;

	if (!moment_of(eval, args[0], &o))
		return NULL;
	layout_format(&out, layout_named(eval->arena, o.layout->str.n == 0 ?
	    &nano : o.layout), &o.moment);
	return buf_value(&out);
}

static const struct value *
parse(struct eval *eval, const struct value *layout, const struct value *text)
{
	struct moment m;

	arena_step(eval->arena, (layout->str.n + text->str.n) / 16);
	if (!layout_parse(layout_named(eval->arena, layout), text, &m))
		return eval_error(eval, "the time does not have its layout");
	return nanoseconds(eval, m.seconds, m.nanoseconds);
}

static const struct value *
call_parse_ns(struct eval *eval, const struct value *const *args)
{
	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_STRING))
		return NULL;
	return parse(eval, args[0], args[1]);
}

static const struct value *
call_parse_rfc3339_ns(struct eval *eval, const struct value *const *args)
{
	static const struct value layout = VALUE_STRING_LITERAL("RFC3339");

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	return parse(eval, &layout, args[0]);
}

/* --- durations -------------------------------------------------------- */

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
	{ "ns", 1 }, { "us", 1000 }, { "\xc2\xb5s", 1000 },
	{ "\xce\xbcs", 1000 }, { "ms", 1000000 }, { "s", NS },
	{ "m", 60 * (int64_t)NS }, { "h", 3600 * (int64_t)NS }
};

static bool
unit_of(const char *p, size_t n, int64_t *ns)
{
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == n &&
		    memcmp(units[i].name, p, n) == 0) {
			*ns = units[i].ns;
			return true;
		}
	}
	return false;
}

/* Digits behind the point as *out / *scale, as many as fit. */
static const char *
fraction_of(const char *p, const char *end, uint64_t *out, double *scale)
{
	bool full = false;
	uint64_t next;

	*out = 0;
	*scale = 1;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		next = *out * 10 + (uint64_t)(*p - '0');
		full = full || *out > INT64_MAX / 10 ||
		    next > (uint64_t)1 << 63;
		if (full)
			continue;
		*out = next;
		*scale *= 10;
	}
	return p;
}

/* digits [. digits] unit, added to *total, which may reach 2^63. */
static const char *
duration_part(const char *p, const char *end, uint64_t *total)
{
	const uint64_t most = (uint64_t)1 << 63;
	uint64_t whole = 0, fraction = 0;
	int64_t ns;
	double scale = 1;
	const char *unit, *digits;
	bool any = false;

	for (; p < end && *p >= '0' && *p <= '9'; p++, any = true)
		if (__builtin_mul_overflow(whole, 10u, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*p - '0'),
		    &whole) || whole > most)
			return NULL;
	if (p < end && *p == '.') {
		digits = p + 1;
		p = fraction_of(digits, end, &fraction, &scale);
		any = any || p > digits;
	}
	for (unit = p; p < end && *p != '.' && !(*p >= '0' && *p <= '9');)
		p++;
	if (!any || !unit_of(unit, (size_t)(p - unit), &ns) ||
	    whole > most / (uint64_t)ns)
		return NULL;
	whole *= (uint64_t)ns;
	whole += (uint64_t)((double)fraction * ((double)ns / scale));
	if (whole > most || (*total += whole) > most)
		return NULL;
	return p;
}

static const struct value *
call_parse_duration_ns(struct eval *eval, const struct value *const *args)
{
	const char *p, *end;
	bool negative = false;
	uint64_t total = 0;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	p = args[0]->str.p;
	end = p + args[0]->str.n;
	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (end - p == 1 && *p == '0')
		return value_int(eval->arena, 0);
	if (p == end)
		return eval_error(eval, "invalid duration");
	while (p < end)
		if ((p = duration_part(p, end, &total)) == NULL)
			return eval_error(eval, "invalid duration");
	if (total > (uint64_t)INT64_MAX + negative)
		return eval_error(eval, "invalid duration");
	return value_int(eval->arena, (int64_t)(negative ? 0 - total : total));
}

/* --- calendars -------------------------------------------------------- */

static const struct value *
call_add_date(struct eval *eval, const struct value *const *args)
{
	int64_t years, months, days, wall;
	struct instant o;
	struct civil c;

	if (!moment_of(eval, args[0], &o) ||
	    !builtin_want_int(eval, args, 1, &years) ||
	    !builtin_want_int(eval, args, 2, &months) ||
	    !builtin_want_int(eval, args, 3, &days))
		return NULL;
	if (years > 100000 || years < -100000 || months > 1000000 ||
	    months < -1000000 || days > 100000000 || days < -100000000)
		return eval_error(eval, "time outside of valid range");
	c = civil_in(&o.moment);
	wall = civil_days(c.year + years, c.month + months, c.day + days) *
	    86400 + c.hour * 3600 + c.minute * 60 + c.second;
	return nanoseconds(eval, zone_seconds(o.zone, wall),
	    o.moment.nanoseconds);
}

/* Whole years, months, ... seconds between two moments, in the first's zone. */
static const struct value *
call_diff(struct eval *eval, const struct value *const *args)
{
	static const int carry[] = { 0, 12, 0, 24, 60, 60 };
	struct instant a, b;
	struct civil from, to;
	int64_t n[6];
	int i;

	if (!moment_of(eval, args[0], &a) || !moment_of(eval, args[1], &b))
		return NULL;
	b.moment.zone = zone_at(a.zone, b.moment.seconds);
	from = civil_in(&a.moment);
	to = civil_in(&b.moment);
	if (a.moment.seconds > b.moment.seconds) {
		struct civil swap = from;

		from = to;
		to = swap;
	}
	n[0] = to.year - from.year;
	n[1] = to.month - from.month;
	n[2] = to.day - from.day;
	n[3] = to.hour - from.hour;
	n[4] = to.minute - from.minute;
	n[5] = to.second - from.second;
	for (i = 5; i > 0; i--) {
		if (n[i] >= 0)
			continue;
		n[i] += i == 2 ? civil_month_days(from.year, from.month) :
		    carry[i];
		n[i - 1]--;
	}
	return numbers(eval, n, 6);
}

const struct builtin builtins_time[] = {
	{ "time.now_ns", 0, 0, call_now_ns, true },
	{ "time.date", 1, 1, call_date, false },
	{ "time.clock", 1, 1, call_clock, false },
	{ "time.weekday", 1, 1, call_weekday, false },
	{ "time.format", 1, 1, call_format, false },
	{ "time.parse_ns", 2, 2, call_parse_ns, false },
	{ "time.parse_rfc3339_ns", 1, 1, call_parse_rfc3339_ns, false },
	{ "time.parse_duration_ns", 1, 1, call_parse_duration_ns, false },
	{ "time.add_date", 4, 4, call_add_date, false },
	{ "time.diff", 2, 2, call_diff, false },
	{ NULL, 0, 0, NULL, false }
};
