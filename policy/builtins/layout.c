#include <stdio.h>
#include <string.h>

#include "policy/builtins/layout.h"

enum piece {
	LITERAL, LONG_MONTH, MONTH, NUM_MONTH, ZERO_MONTH, LONG_WEEKDAY,
	WEEKDAY, DAY, UNDER_DAY, ZERO_DAY, UNDER_YEAR_DAY, ZERO_YEAR_DAY, HOUR,
	HOUR_12, ZERO_HOUR_12, MINUTE, ZERO_MINUTE, SECOND, ZERO_SECOND,
	LONG_YEAR, YEAR, UPPER_PM, LOWER_PM, ZONE_NAME, ISO_ZONE,
	ISO_ZONE_SECONDS, ISO_ZONE_SHORT, ISO_ZONE_COLON,
	ISO_ZONE_COLON_SECONDS, NUM_ZONE, NUM_ZONE_SECONDS, NUM_ZONE_SHORT,
	NUM_ZONE_COLON, NUM_ZONE_COLON_SECONDS, FRACTION_0, FRACTION_9
};

/* Longer ones first where one begins another. */
static const struct {
	const char *text;
	enum piece piece;
} pieces[] = {
	{ "January", LONG_MONTH }, { "Jan", MONTH },
	{ "Monday", LONG_WEEKDAY }, { "Mon", WEEKDAY }, { "MST", ZONE_NAME },
	{ "002", ZERO_YEAR_DAY }, { "01", ZERO_MONTH }, { "02", ZERO_DAY },
	{ "03", ZERO_HOUR_12 }, { "04", ZERO_MINUTE }, { "05", ZERO_SECOND },
	{ "06", YEAR }, { "15", HOUR }, { "1", NUM_MONTH },
	{ "2006", LONG_YEAR }, { "2", DAY }, { "__2", UNDER_YEAR_DAY },
	{ "_2006", LITERAL }, { "_2", UNDER_DAY }, { "3", HOUR_12 },
	{ "4", MINUTE }, { "5", SECOND }, { "PM", UPPER_PM },
	{ "pm", LOWER_PM }, { "-07:00:00", NUM_ZONE_COLON_SECONDS },
	{ "-07:00", NUM_ZONE_COLON }, { "-070000", NUM_ZONE_SECONDS },
	{ "-0700", NUM_ZONE }, { "-07", NUM_ZONE_SHORT },
	{ "Z07:00:00", ISO_ZONE_COLON_SECONDS },
	{ "Z07:00", ISO_ZONE_COLON }, { "Z070000", ISO_ZONE_SECONDS },
	{ "Z0700", ISO_ZONE }, { "Z07", ISO_ZONE_SHORT }
};

static const char *const months[] = {
	"January", "February", "March", "April", "May", "June", "July",
	"August", "September", "October", "November", "December"
};

static const char *const weekdays[] = {
	"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
	"Saturday"
};

static bool
digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ".000" or ",999", with no digit behind. */
static size_t
fraction_len(const char *p, const char *end, enum piece *piece)
{
	size_t n = 1;

	if (end - p < 2 || (*p != '.' && *p != ',') ||
	    (p[1] != '0' && p[1] != '9'))
		return 0;
	while (p + n < end && p[n] == p[1])
		n++;
	if (p + n < end && digit(p[n]))
		return 0;
	*piece = p[1] == '0' ? FRACTION_0 : FRACTION_9;
	return n;
}

/* The piece at p; a literal character where there is none. */
static enum piece
piece_at(const char *p, const char *end, size_t *len)
{
	enum piece piece = LITERAL;
	size_t i, n;

	*len = 1;
	if ((n = fraction_len(p, end, &piece)) > 0) {
		*len = n;
		return piece;
	}
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		n = strlen(pieces[i].text);
		if ((size_t)(end - p) < n || memcmp(p, pieces[i].text, n) != 0)
			continue;
		if (pieces[i].piece == LITERAL)	/* "_2006": a line and a year */
			return LITERAL;
		/* "Jan" and "Mon" not where a longer lower-case word goes on */
		if (n == 3 && (pieces[i].piece == MONTH ||
		    pieces[i].piece == WEEKDAY) && (size_t)(end - p) > n &&
		    p[3] >= 'a' && p[3] <= 'z')
			continue;
		*len = n;
		return pieces[i].piece;
	}
	return LITERAL;
}

const struct value *
layout_named(struct arena *arena, const struct value *layout)
{
	static const struct {
		const char *name, *layout;
	} named[] = {
		{ "ANSIC", "Mon Jan _2 15:04:05 2006" },
		{ "UnixDate", "Mon Jan _2 15:04:05 MST 2006" },
		{ "RubyDate", "Mon Jan 02 15:04:05 -0700 2006" },
		{ "RFC822", "02 Jan 06 15:04 MST" },
		{ "RFC822Z", "02 Jan 06 15:04 -0700" },
		{ "RFC850", "Monday, 02-Jan-06 15:04:05 MST" },
		{ "RFC1123", "Mon, 02 Jan 2006 15:04:05 MST" },
		{ "RFC1123Z", "Mon, 02 Jan 2006 15:04:05 -0700" },
		{ "RFC3339", "2006-01-02T15:04:05Z07:00" },
		{ "RFC3339Nano", "2006-01-02T15:04:05.999999999Z07:00" }
	};
	size_t i;

	for (i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (strlen(named[i].name) == layout->str.n &&
		    memcmp(named[i].name, layout->str.p, layout->str.n) == 0)
			return value_string(arena, named[i].layout,
			    strlen(named[i].layout));
	return layout;
}

/* --- writing ---------------------------------------------------------- */

static void
put_number(struct buf *out, int64_t n, int width, char fill)
{
	char text[24];
	int len;

	if (n < 0) {
		buf_putc(out, '-');
		n = -n;
	}
	len = snprintf(text, sizeof(text), "%lld", (long long)n);
	for (; width > len; width--)
		buf_putc(out, fill);
	buf_put(out, text, (size_t)len);
}

static void
put_zone(struct buf *out, enum piece piece, int32_t offset)
{
	bool iso = piece >= ISO_ZONE && piece <= ISO_ZONE_COLON_SECONDS;
	enum piece form = iso ? piece - ISO_ZONE + NUM_ZONE : piece;
	bool colon = form == NUM_ZONE_COLON || form == NUM_ZONE_COLON_SECONDS;

	if (iso && offset == 0) {
		buf_putc(out, 'Z');
		return;
	}
	buf_putc(out, offset < 0 ? '-' : '+');
	if (offset < 0)
		offset = -offset;
	put_number(out, offset / 3600, 2, '0');
	if (form == NUM_ZONE_SHORT)
		return;
	if (colon)
		buf_putc(out, ':');
	put_number(out, offset / 60 % 60, 2, '0');
	if (form != NUM_ZONE_SECONDS && form != NUM_ZONE_COLON_SECONDS)
		return;
	if (colon)
		buf_putc(out, ':');
	put_number(out, offset % 60, 2, '0');
}

static void
put_fraction(struct buf *out, const char *p, size_t len, int32_t ns)
{
	char text[16];
	size_t n = len - 1 > 9 ? 9 : len - 1;

	snprintf(text, sizeof(text), "%09d", ns);
	if (p[1] == '9')
		while (n > 0 && text[n - 1] == '0')
			n--;
	if (n == 0)
		return;
	buf_putc(out, *p);
	buf_put(out, text, n);
}

static void
put_zone_name(struct buf *out, const struct zone_moment *zone)
{
	if (zone->abbreviation[0] != '\0')
		buf_puts(out, zone->abbreviation);
	else
		put_zone(out, NUM_ZONE, zone->offset);
}

static void
put_piece(struct buf *out, enum piece piece, const char *p, size_t len,
    const struct civil *c, const struct moment *m)
{
	int hour12 = c->hour % 12 == 0 ? 12 : c->hour % 12;

	switch (piece) {
	case LITERAL:
		buf_put(out, p, len);
		break;
	case LONG_MONTH:
		buf_puts(out, months[c->month - 1]);
		break;
	case MONTH:
		buf_put(out, months[c->month - 1], 3);
		break;
	case LONG_WEEKDAY:
		buf_puts(out, weekdays[c->weekday]);
		break;
	case WEEKDAY:
		buf_put(out, weekdays[c->weekday], 3);
		break;
	case NUM_MONTH:
	case ZERO_MONTH:
		put_number(out, c->month, piece == ZERO_MONTH ? 2 : 0, '0');
		break;
	case DAY:
	case ZERO_DAY:
	case UNDER_DAY:
		put_number(out, c->day, piece == DAY ? 0 : 2,
		    piece == ZERO_DAY ? '0' : ' ');
		break;
	case UNDER_YEAR_DAY:
	case ZERO_YEAR_DAY:
		put_number(out, c->year_day, 3,
		    piece == ZERO_YEAR_DAY ? '0' : ' ');
		break;
	case HOUR:
		put_number(out, c->hour, 2, '0');
		break;
	case HOUR_12:
	case ZERO_HOUR_12:
		put_number(out, hour12, piece == HOUR_12 ? 0 : 2, '0');
		break;
	case MINUTE:
	case ZERO_MINUTE:
		put_number(out, c->minute, piece == MINUTE ? 0 : 2, '0');
		break;
	case SECOND:
	case ZERO_SECOND:
		put_number(out, c->second, piece == SECOND ? 0 : 2, '0');
		break;
	case LONG_YEAR:
		put_number(out, c->year, 4, '0');
		break;
	case YEAR:
		put_number(out, (c->year % 100 + 100) % 100, 2, '0');
		break;
	case UPPER_PM:
		buf_puts(out, c->hour >= 12 ? "PM" : "AM");
		break;
	case LOWER_PM:
		buf_puts(out, c->hour >= 12 ? "pm" : "am");
		break;
	case ZONE_NAME:
		put_zone_name(out, &m->zone);
		break;
	case FRACTION_0:
	case FRACTION_9:
		put_fraction(out, p, len, m->nanoseconds);
		break;
	default:
		put_zone(out, piece, m->zone.offset);
		break;
	}
}

void
layout_format(struct buf *out, const struct value *layout,
    const struct moment *moment)
{
	struct civil c = civil_of(moment->seconds + moment->zone.offset);
	const char *p = layout->str.p, *end = p + layout->str.n;
	size_t len;

	for (; p < end; p += len) {
		enum piece piece = piece_at(p, end, &len);

		put_piece(out, piece, p, len, &c, moment);
	}
}

/* --- reading ---------------------------------------------------------- */

struct reading {
	const char *p, *end;
	int64_t year;
	int month, day, year_day;	/* 0: not given */
	int hour, minute, second;
	int32_t nanoseconds;
	bool pm, am, has_zone;
	int32_t offset;
};

static bool
read_digits(struct reading *r, int min, int max, int *out)
{
	int n = 0;

	*out = 0;
	while (n < max && r->p < r->end && digit(*r->p)) {
		*out = *out * 10 + (*r->p++ - '0');
		n++;
	}
	return n >= min;
}

/* One of the names, without regard to case; short ones by three letters. */
static bool
read_name(struct reading *r, const char *const *names, int count,
    bool is_short, int *out)
{
	size_t n;
	int i;

	for (i = 0; i < count; i++) {
		n = is_short ? 3 : strlen(names[i]);
		if ((size_t)(r->end - r->p) < n ||
		    strncasecmp(r->p, names[i], n) != 0)
			continue;
		r->p += n;
		*out = i;
		return true;
	}
	return false;
}

static bool
read_fraction(struct reading *r, size_t max)
{
	int32_t scale = 100000000;
	size_t n = 0;

	if (r->end - r->p < 2 || (*r->p != '.' && *r->p != ',') ||
	    !digit(r->p[1]))
		return false;
	r->nanoseconds = 0;
	for (r->p++; r->p < r->end && digit(*r->p) && n < max; r->p++, n++) {
		r->nanoseconds += (*r->p - '0') * scale;
		scale /= 10;
	}
	return true;
}

static bool
read_zone(struct reading *r, enum piece piece)
{
	bool iso = piece >= ISO_ZONE && piece <= ISO_ZONE_COLON_SECONDS;
	enum piece form = iso ? piece - ISO_ZONE + NUM_ZONE : piece;
	bool colon = form == NUM_ZONE_COLON || form == NUM_ZONE_COLON_SECONDS;
	bool seconds = form == NUM_ZONE_SECONDS ||
	    form == NUM_ZONE_COLON_SECONDS;
	int sign, h, m = 0, s = 0;

	r->has_zone = true;
	if (iso && r->p < r->end && *r->p == 'Z') {
		r->p++;
		r->offset = 0;
		return true;
	}
	if (r->p == r->end || (*r->p != '+' && *r->p != '-'))
		return false;
	sign = *r->p++ == '-' ? -1 : 1;
	if (!read_digits(r, 2, 2, &h) || h > 24)
		return false;
	if (form != NUM_ZONE_SHORT) {
		if (colon && (r->p == r->end || *r->p++ != ':'))
			return false;
		if (!read_digits(r, 2, 2, &m) || m >= 60)
			return false;
	}
	if (seconds) {
		if (colon && (r->p == r->end || *r->p++ != ':'))
			return false;
		if (!read_digits(r, 2, 2, &s) || s >= 60)
			return false;
	}
	r->offset = sign * (h * 3600 + m * 60 + s);
	return true;
}

/* An abbreviation says nothing about the offset, except UTC and GMT+3. */
static bool
read_zone_name(struct reading *r)
{
	const char *start = r->p;
	int sign, hours;

	while (r->p < r->end && *r->p >= 'A' && *r->p <= 'Z' &&
	    r->p - start < 5)
		r->p++;
	if (r->p - start < 3)
		return false;
	if (r->p - start == 3 && memcmp(start, "GMT", 3) == 0 &&
	    r->p < r->end && (*r->p == '+' || *r->p == '-')) {
		sign = *r->p++ == '-' ? -1 : 1;
		if (!read_digits(r, 1, 2, &hours) || hours > 23)
			return false;
		r->offset = sign * hours * 3600;
	}
	return true;
}

static bool
read_pm(struct reading *r, bool upper)
{
	if (r->end - r->p < 2)
		return false;
	r->pm = memcmp(r->p, upper ? "PM" : "pm", 2) == 0;
	r->am = memcmp(r->p, upper ? "AM" : "am", 2) == 0;
	r->p += 2;
	return r->pm || r->am;
}

static bool
read_day(struct reading *r, enum piece piece)
{
	if (piece == UNDER_DAY && r->p < r->end && *r->p == ' ')
		r->p++;
	return read_digits(r, piece == ZERO_DAY ? 2 : 1, 2, &r->day);
}

static bool
read_second(struct reading *r, enum piece piece, const char *rest,
    const char *layout_end)
{
	enum piece next;

	if (!read_digits(r, piece == ZERO_SECOND ? 2 : 1, 2, &r->second) ||
	    r->second >= 60)
		return false;
	/* A fraction may follow even where the layout has none. */
	if (fraction_len(rest, layout_end, &next) == 0)
		read_fraction(r, SIZE_MAX);
	return true;
}

static bool
read_year(struct reading *r, bool full)
{
	int year;

	if (!read_digits(r, full ? 4 : 2, full ? 4 : 2, &year))
		return false;
	r->year = full ? year : year + (year >= 69 ? 1900 : 2000);
	return true;
}

static bool
read_piece(struct reading *r, enum piece piece, const char *p, size_t len,
    const char *layout_end)
{
	int ignored;

	switch (piece) {
	case LITERAL:
		if (r->p == r->end || *r->p != *p)
			return false;
		r->p++;
		return true;
	case LONG_MONTH:
	case MONTH:
		return read_name(r, months, 12, piece == MONTH, &r->month) &&
		    ++r->month > 0;
	case NUM_MONTH:
	case ZERO_MONTH:
		return read_digits(r, piece == ZERO_MONTH ? 2 : 1, 2,
		    &r->month) && r->month >= 1 && r->month <= 12;
	case LONG_WEEKDAY:
	case WEEKDAY:
		return read_name(r, weekdays, 7, piece == WEEKDAY, &ignored);
	case DAY:
	case UNDER_DAY:
	case ZERO_DAY:
		return read_day(r, piece) && r->day > 0;
	case UNDER_YEAR_DAY:
	case ZERO_YEAR_DAY:
		while (piece == UNDER_YEAR_DAY && r->p < r->end &&
		    *r->p == ' ')
			r->p++;
		return read_digits(r, piece == ZERO_YEAR_DAY ? 3 : 1, 3,
		    &r->year_day) && r->year_day > 0;
	case HOUR:
		return read_digits(r, 1, 2, &r->hour) && r->hour < 24;
	case HOUR_12:
	case ZERO_HOUR_12:
		return read_digits(r, piece == HOUR_12 ? 1 : 2, 2, &r->hour) &&
		    r->hour <= 12;
	case MINUTE:
	case ZERO_MINUTE:
		return read_digits(r, piece == MINUTE ? 1 : 2, 2,
		    &r->minute) && r->minute < 60;
	case SECOND:
	case ZERO_SECOND:
		return read_second(r, piece, p + len, layout_end);
	case LONG_YEAR:
	case YEAR:
		return read_year(r, piece == LONG_YEAR);
	case UPPER_PM:
	case LOWER_PM:
		return read_pm(r, piece == UPPER_PM);
	case ZONE_NAME:
		return read_zone_name(r);
	case FRACTION_0:
		return read_fraction(r, len - 1);
	case FRACTION_9:
		read_fraction(r, SIZE_MAX);
		return true;
	default:
		return read_zone(r, piece);
	}
}

static bool
reading_done(struct reading *r, struct moment *out)
{
	int64_t days;

	if (r->year_day > 0) {
		days = civil_days(r->year, 1, r->year_day);
		if (civil_of(days * 86400).year != r->year)
			return false;
	} else {
		if (r->month == 0)
			r->month = 1;
		if (r->day == 0)
			r->day = 1;
		if (r->day > civil_month_days(r->year, r->month))
			return false;
		days = civil_days(r->year, r->month, r->day);
	}
	if (r->pm && r->hour < 12)
		r->hour += 12;
	if (r->am && r->hour == 12)
		r->hour = 0;
	out->seconds = days * 86400 + r->hour * 3600 + r->minute * 60 +
	    r->second - r->offset;
	out->nanoseconds = r->nanoseconds;
	out->zone.offset = r->offset;
	out->zone.abbreviation[0] = '\0';
	return true;
}

bool
layout_parse(const struct value *layout, const struct value *text,
    struct moment *out)
{
	struct reading r = { .p = text->str.p, .end = text->str.p +
	    text->str.n };
	const char *p = layout->str.p, *end = p + layout->str.n;
	size_t len;

	for (; p < end; p += len) {
		enum piece piece = piece_at(p, end, &len);

		if (!read_piece(&r, piece, p, len, end))
			return false;
	}
	return r.p == r.end && reading_done(&r, out);
}
