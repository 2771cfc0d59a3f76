#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/builtins/zone.h"

#define ZONE_DIR "/usr/share/zoneinfo/"
#define ZONE_FILE_MAX 65536

/* --- civil time ------------------------------------------------------- */

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

int64_t
civil_days(int64_t year, int64_t month, int64_t day)
{
	int64_t era, of_era, of_year;

	year += floor_div(month - 1, 12);
	month = month - 12 * floor_div(month - 1, 12);
	/* Years that begin in March put the leap day last. */
	year -= month <= 2;
	era = floor_div(year, 400);
	of_era = year - era * 400;
	of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
	    of_year + day - 1 - 719468;
}

struct civil
civil_of(int64_t seconds)
{
	int64_t days = floor_div(seconds, 86400), z = days + 719468;
	int64_t rest = seconds - days * 86400;
	int64_t era = floor_div(z, 146097), of_era = z - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 -
	    of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t m = (5 * of_year + 2) / 153;
	struct civil c;

	c.day = (int)(of_year - (153 * m + 2) / 5 + 1);
	c.month = (int)(m < 10 ? m + 3 : m - 9);
	c.year = year + era * 400 + (c.month <= 2);
	c.hour = (int)(rest / 3600);
	c.minute = (int)(rest / 60 % 60);
	c.second = (int)(rest % 60);
	c.weekday = (int)(((days + 4) % 7 + 7) % 7);
	c.year_day = (int)(days - civil_days(c.year, 1, 1)) + 1;
	return c;
}

int
civil_month_days(int64_t year, int month)
{
	return (int)(civil_days(year, month + 1, 1) -
	    civil_days(year, month, 1));
}

/* --- zone files ------------------------------------------------------- */

/* "second Sunday of March at 2:00": Mm.w.d/time of a POSIX rule. */
struct rule {
	int month, week, day;
	int32_t at;
};

struct zone {
	uint32_t n;
	const uint8_t *times;		/* n transitions, 8 bytes each */
	const uint8_t *types;		/* n indices of what begins then */
	const uint8_t *infos;		/* 6 bytes each: offset, dst, name */
	uint32_t n_infos;
	const char *names;
	uint32_t names_len;
	/* After the last transition. */
	struct zone_moment standard, summer;
	bool has_rules, has_summer;
	struct rule start, end;
};

static const struct zone utc = {
	.standard = { 0, "UTC" }, .has_rules = true
};

static int64_t
big_endian(const uint8_t *p, int n)
{
	uint64_t x = n == 4 && (p[0] & 0x80) != 0 ? ~(uint64_t)0 : 0;

	while (n-- > 0)
		x = x << 8 | *p++;
	return (int64_t)x;
}

static const char *
rule_name(const char *p, char out[8])
{
	size_t n = 0;
	bool quoted = *p == '<';

	p += quoted;
	while (*p != '\0' && (quoted ? *p != '>' : (*p | 32) >= 'a' &&
	    (*p | 32) <= 'z')) {
		if (n < 7)
			out[n++] = *p;
		p++;
	}
	out[n] = '\0';
	return p + (quoted && *p == '>');
}

/* [+-]hh[:mm[:ss]] in seconds. */
static const char *
rule_time(const char *p, int32_t *out)
{
	int sign = 1, part, scale = 3600;

	if (*p == '+' || *p == '-')
		sign = *p++ == '-' ? -1 : 1;
	*out = 0;
	for (; scale > 0; scale /= 60) {
		for (part = 0; *p >= '0' && *p <= '9' && part < 1000; p++)
			part = part * 10 + (*p - '0');
		*out += part * scale;
		if (*p != ':')
			break;
		p++;
	}
	*out *= sign;
	return p;
}

static const char *
rule_day(const char *p, struct rule *out)
{
	char *end;

	out->at = 7200;
	if (*p != ',' || p[1] != 'M')
		return NULL;
	out->month = (int)strtol(p + 2, &end, 10);
	if (*end != '.')
		return NULL;
	out->week = (int)strtol(end + 1, &end, 10);
	if (*end != '.')
		return NULL;
	out->day = (int)strtol(end + 1, &end, 10);
	if (out->month < 1 || out->month > 12 || out->week < 1 ||
	    out->week > 5 || out->day < 0 || out->day > 6)
		return NULL;
	return *end == '/' ? rule_time(end + 1, &out->at) : end;
}

/* The footer, such as EST5EDT,M3.2.0,M11.1.0; offsets count westwards. */
static void
read_rules(struct zone *zone, const char *p)
{
	int32_t west;

	p = rule_name(p, zone->standard.abbreviation);
	if (zone->standard.abbreviation[0] == '\0')
		return;
	p = rule_time(p, &west);
	zone->standard.offset = -west;
	zone->has_rules = true;
	if (*p == '\0' || *p == '\n')
		return;
	p = rule_name(p, zone->summer.abbreviation);
	zone->summer.offset = zone->standard.offset + 3600;
	if (*p != ',') {
		p = rule_time(p, &west);
		zone->summer.offset = -west;
	}
	zone->has_summer = (p = rule_day(p, &zone->start)) != NULL &&
	    rule_day(p, &zone->end) != NULL;
}

struct counts {
	int64_t isut, isstd, leap, time, type, names;
};

static bool
read_header(const uint8_t *p, size_t n, struct counts *c)
{
	if (n < 44 || memcmp(p, "TZif", 4) != 0)
		return false;
	c->isut = big_endian(p + 20, 4);
	c->isstd = big_endian(p + 24, 4);
	c->leap = big_endian(p + 28, 4);
	c->time = big_endian(p + 32, 4);
	c->type = big_endian(p + 36, 4);
	c->names = big_endian(p + 40, 4);
	return c->isut >= 0 && c->isstd >= 0 && c->leap >= 0 &&
	    c->time >= 0 && c->type > 0 && c->names > 0 &&
	    c->isut < 65536 && c->isstd < 65536 && c->leap < 65536 &&
	    c->time < 65536 && c->type < 256 && c->names < 65536;
}

static size_t
body_size(const struct counts *c, unsigned width)
{
	return (size_t)(c->time * (width + 1) + c->type * 6 + c->names +
	    c->leap * (width + 4) + c->isstd + c->isut);
}

/* A file of version 2 or later: the second half has 64-bit times. */
static bool
parse_file(struct zone *zone, const uint8_t *p, size_t n)
{
	struct counts c;
	size_t skip, i;

	if (!read_header(p, n, &c) || p[4] < '2')
		return false;
	skip = 44 + body_size(&c, 4);
	if (skip > n || !read_header(p + skip, n - skip, &c))
		return false;
	p += skip + 44;
	n -= skip + 44;
	if (body_size(&c, 8) > n)
		return false;
	zone->n = (uint32_t)c.time;
	zone->times = p;
	zone->types = p + c.time * 8;
	zone->infos = zone->types + c.time;
	zone->n_infos = (uint32_t)c.type;
	zone->names = (const char *)zone->infos + c.type * 6;
	zone->names_len = (uint32_t)c.names;
	for (i = 0; i < zone->n; i++)
		if (zone->types[i] >= zone->n_infos)
			return false;
	skip = body_size(&c, 8);
	if (skip < n && p[skip] == '\n')
		read_rules(zone, (const char *)p + skip + 1);
	return true;
}

static bool
name_ok(const char *name, size_t len)
{
	size_t i;

	if (len == 0 || len > 64 || name[0] == '/')
		return false;
	for (i = 0; i < len; i++)
		if (!((name[i] | 32) >= 'a' && (name[i] | 32) <= 'z') &&
		    !(name[i] >= '0' && name[i] <= '9') &&
		    strchr("/_+-", name[i]) == NULL)
			return false;
	return true;
}

const struct zone *
zone_load(struct arena *arena, const char *name, size_t len)
{
	struct zone *zone;
	uint8_t *bytes;
	char path[128];
	ssize_t n;
	int fd;

	if (len == 0 || (len == 3 && memcmp(name, "UTC", 3) == 0))
		return &utc;
	if (!name_ok(name, len))
		return NULL;
	zone = arena_alloc(arena, sizeof(*zone));
	bytes = arena_alloc(arena, ZONE_FILE_MAX + 1);
	memset(zone, 0, sizeof(*zone));
	snprintf(path, sizeof(path), ZONE_DIR "%.*s", (int)len, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		return NULL;
	n = read(fd, bytes, ZONE_FILE_MAX);
	close(fd);
	if (n <= 0)
		return NULL;
	bytes[n] = '\0';
	return parse_file(zone, bytes, (size_t)n) ? zone : NULL;
}

static int64_t
rule_seconds(const struct rule *rule, int64_t year)
{
	int64_t first = civil_days(year, rule->month, 1);
	int weekday = (int)(((first + 4) % 7 + 7) % 7);
	int day = (rule->day - weekday + 7) % 7 + 7 * (rule->week - 1);

	while (day >= civil_month_days(year, rule->month))
		day -= 7;
	return (first + day) * 86400 + rule->at;
}

static struct zone_moment
by_rules(const struct zone *zone, int64_t seconds)
{
	int64_t year = civil_of(seconds + zone->standard.offset).year;
	int64_t start, end;
	bool summer;

	if (!zone->has_summer)
		return zone->standard;
	start = rule_seconds(&zone->start, year) - zone->standard.offset;
	end = rule_seconds(&zone->end, year) - zone->summer.offset;
	summer = start < end ? seconds >= start && seconds < end :
	    seconds >= start || seconds < end;
	return summer ? zone->summer : zone->standard;
}

static struct zone_moment
info_at(const struct zone *zone, uint32_t index)
{
	const uint8_t *p = zone->infos + 6 * (size_t)index;
	struct zone_moment m = { (int32_t)big_endian(p, 4), "" };
	uint32_t at = p[5], n = 0;

	while (at < zone->names_len && zone->names[at] != '\0' && n < 7)
		m.abbreviation[n++] = zone->names[at++];
	m.abbreviation[n] = '\0';
	return m;
}

struct zone_moment
zone_at(const struct zone *zone, int64_t seconds)
{
	uint32_t low = 0, high = zone->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (big_endian(zone->times + 8 * (size_t)middle, 8) <= seconds)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == zone->n && zone->has_rules)
		return by_rules(zone, seconds);
	if (zone->n_infos == 0)
		return zone->standard;
	return info_at(zone, low == 0 ? 0 : zone->types[low - 1]);
}

int64_t
zone_seconds(const struct zone *zone, int64_t wall)
{
	int32_t offset = zone_at(zone, wall).offset;
	int32_t other = zone_at(zone, wall - offset).offset;

	return wall - other;
}
