/* A moment in the form of a layout. */
#include <stdio.h>
#include <string.h>

#include "policy/builtins/layout_impl.h"

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
put_date(struct buf *out, enum piece piece, const struct civil *c)
{
	switch (piece) {
	case LONG_MONTH:
		buf_puts(out, layout_months[c->month - 1]);
		break;
	case MONTH:
		buf_put(out, layout_months[c->month - 1], 3);
		break;
	case LONG_WEEKDAY:
		buf_puts(out, layout_weekdays[c->weekday]);
		break;
	case WEEKDAY:
		buf_put(out, layout_weekdays[c->weekday], 3);
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
	case LONG_YEAR:
		put_number(out, c->year, 4, '0');
		break;
	default:	/* YEAR */
		put_number(out, (c->year % 100 + 100) % 100, 2, '0');
		break;
	}
}

static void
put_time(struct buf *out, enum piece piece, const struct civil *c)
{
	int hour12 = c->hour % 12 == 0 ? 12 : c->hour % 12;

	switch (piece) {
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
	case UPPER_PM:
		buf_puts(out, c->hour >= 12 ? "PM" : "AM");
		break;
	default:	/* LOWER_PM */
		buf_puts(out, c->hour >= 12 ? "pm" : "am");
		break;
	}
}

static void
put_piece(struct buf *out, enum piece piece, const char *p, size_t len,
    const struct civil *c, const struct moment *m)
{
	if (piece == LITERAL)
		buf_put(out, p, len);
	else if (piece <= LAST_OF_DATE)
		put_date(out, piece, c);
	else if (piece <= LOWER_PM)
		put_time(out, piece, c);
	else if (piece == ZONE_NAME)
		put_zone_name(out, &m->zone);
	else if (piece == FRACTION_0 || piece == FRACTION_9)
		put_fraction(out, p, len, m->nanoseconds);
	else
		put_zone(out, piece, m->zone.offset);
}

void
layout_format(struct buf *out, const struct value *layout,
    const struct moment *moment)
{
	struct civil c = civil_of(moment->seconds + moment->zone.offset);
	const char *p = layout->str.p, *end = p + layout->str.n;
	size_t len;

	for (; p < end; p += len) {
		enum piece piece = layout_piece(p, end, &len);

		put_piece(out, piece, p, len, &c, moment);
	}
}
