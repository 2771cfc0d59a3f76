/* A text in the form of a layout: which moment it is. */
#include <string.h>

#include "policy/builtins/layout_impl.h"

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
	while (n < max && r->p < r->end && layout_digit(*r->p)) {
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
	    !layout_digit(r->p[1]))
		return false;
	r->nanoseconds = 0;
	for (r->p++; r->p < r->end && layout_digit(*r->p) && n < max; r->p++, n++) {
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
	if (layout_fraction_len(rest, layout_end, &next) == 0)
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
read_month(struct reading *r, enum piece piece)
{
	if (piece == LONG_MONTH || piece == MONTH)
		return read_name(r, layout_months, 12, piece == MONTH, &r->month) &&
		    ++r->month > 0;
	return read_digits(r, piece == ZERO_MONTH ? 2 : 1, 2, &r->month) &&
	    r->month >= 1 && r->month <= 12;
}

static bool
read_year_day(struct reading *r, enum piece piece)
{
	while (piece == UNDER_YEAR_DAY && r->p < r->end && *r->p == ' ')
		r->p++;
	return read_digits(r, piece == ZERO_YEAR_DAY ? 3 : 1, 3, &r->year_day) &&
	    r->year_day > 0;
}

static bool
read_date(struct reading *r, enum piece piece)
{
	int ignored;

	switch (piece) {
	case LONG_MONTH:
	case MONTH:
	case NUM_MONTH:
	case ZERO_MONTH:
		return read_month(r, piece);
	case LONG_WEEKDAY:
	case WEEKDAY:
		return read_name(r, layout_weekdays, 7, piece == WEEKDAY, &ignored);
	case DAY:
	case UNDER_DAY:
	case ZERO_DAY:
		return read_day(r, piece) && r->day > 0;
	case UNDER_YEAR_DAY:
	case ZERO_YEAR_DAY:
		return read_year_day(r, piece);
	default:
		return read_year(r, piece == LONG_YEAR);
	}
}

/* Not seconds, whose fraction the layout need not name. */
static bool
read_time(struct reading *r, enum piece piece)
{
	switch (piece) {
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
	default:
		return read_pm(r, piece == UPPER_PM);
	}
}

static bool
read_piece(struct reading *r, enum piece piece, const char *p, size_t len,
    const char *layout_end)
{
	if (piece != LITERAL && piece <= LAST_OF_DATE)
		return read_date(r, piece);
	switch (piece) {
	case LITERAL:
		if (r->p == r->end || *r->p != *p)
			return false;
		r->p++;
		return true;
	case SECOND:
	case ZERO_SECOND:
		return read_second(r, piece, p + len, layout_end);
	case ZONE_NAME:
		return read_zone_name(r);
	case FRACTION_0:
		return read_fraction(r, len - 1);
	case FRACTION_9:
		read_fraction(r, SIZE_MAX);
		return true;
	default:
		return piece <= LOWER_PM ? read_time(r, piece) : read_zone(r, piece);
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
		enum piece piece = layout_piece(p, end, &len);

		if (!read_piece(&r, piece, p, len, end))
			return false;
	}
	return r.p == r.end && reading_done(&r, out);
}
