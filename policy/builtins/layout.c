#include <string.h>

#include "policy/builtins/layout_impl.h"

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

const char *const layout_months[12] = {
	"January", "February", "March", "April", "May", "June", "July",
	"August", "September", "October", "November", "December"
};

const char *const layout_weekdays[7] = {
	"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
	"Saturday"
};

size_t
layout_fraction_len(const char *p, const char *end, enum piece *piece)
{
	size_t n = 1;

	if (end - p < 2 || (*p != '.' && *p != ',') ||
	    (p[1] != '0' && p[1] != '9'))
		return 0;
	while (p + n < end && p[n] == p[1])
		n++;
	if (p + n < end && layout_digit(p[n]))
		return 0;
	*piece = p[1] == '0' ? FRACTION_0 : FRACTION_9;
	return n;
}

enum piece
layout_piece(const char *p, const char *end, size_t *len)
{
	enum piece piece = LITERAL;
	size_t i, n;

	*len = 1;
	if ((n = layout_fraction_len(p, end, &piece)) > 0) {
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
