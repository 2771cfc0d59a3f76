/*
 * What the parts of layouts share: pieces are told apart (layout.c), written
 * (layout_format.c) and read (layout_parse.c).
 */
#ifndef POLICY_BUILTINS_LAYOUT_IMPL_H
#define POLICY_BUILTINS_LAYOUT_IMPL_H

#include "policy/builtins/layout.h"

/* What a layout is made of.  Those of the date come first. */
enum piece {
	LITERAL, LONG_MONTH, MONTH, NUM_MONTH, ZERO_MONTH, LONG_WEEKDAY,
	WEEKDAY, DAY, UNDER_DAY, ZERO_DAY, UNDER_YEAR_DAY, ZERO_YEAR_DAY,
	LONG_YEAR, YEAR, LAST_OF_DATE = YEAR, HOUR,
	HOUR_12, ZERO_HOUR_12, MINUTE, ZERO_MINUTE, SECOND, ZERO_SECOND,
	UPPER_PM, LOWER_PM, ZONE_NAME, ISO_ZONE,
	ISO_ZONE_SECONDS, ISO_ZONE_SHORT, ISO_ZONE_COLON,
	ISO_ZONE_COLON_SECONDS, NUM_ZONE, NUM_ZONE_SECONDS, NUM_ZONE_SHORT,
	NUM_ZONE_COLON, NUM_ZONE_COLON_SECONDS, FRACTION_0, FRACTION_9
};

extern const char *const layout_months[12], *const layout_weekdays[7];

/* The piece at p; a literal character where there is none. */
enum piece layout_piece(const char *p, const char *end, size_t *len);

/* ".000" or ",999" at p, with no digit behind: its length, or 0. */
size_t layout_fraction_len(const char *p, const char *end, enum piece *piece);

static inline bool
layout_digit(char c)
{
	return c >= '0' && c <= '9';
}

#endif
