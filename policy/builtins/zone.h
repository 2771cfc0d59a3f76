/*
 * Civil time, and time zones from the system's compiled zone files (RFC 8536).
 */
#ifndef POLICY_BUILTINS_ZONE_H
#define POLICY_BUILTINS_ZONE_H

#include "policy/value/arena.h"

struct civil {
	int64_t year;
	int month, day;		/* from 1 */
	int hour, minute, second;
	int weekday;		/* 0: Sunday */
	int year_day;		/* from 1 */
};

/* Days since 1970-01-01 in the proleptic Gregorian calendar; month and day
 * may be out of range and carry over. */
int64_t civil_days(int64_t year, int64_t month, int64_t day);
struct civil civil_of(int64_t seconds);
int civil_month_days(int64_t year, int month);

struct zone_moment {
	int32_t offset;		/* seconds east of UTC */
	char abbreviation[8];
};

struct zone;

/* "" and "UTC" need no file.  NULL where there is no such zone. */
const struct zone *zone_load(struct arena *arena, const char *name,
    size_t len);
struct zone_moment zone_at(const struct zone *zone, int64_t seconds);
/* Seconds since the epoch of what a clock on the wall shows there. */
int64_t zone_seconds(const struct zone *zone, int64_t wall);

#endif
