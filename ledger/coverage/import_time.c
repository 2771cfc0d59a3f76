#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ledger/coverage/import_impl.h"
#include "ledger/record/record.h"

bool
import_digits(const char *text, size_t n, int *value)
{
	*value = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*value = 10 * *value + (text[i] - '0');
	}
	return true;
}

static int64_t
utc(int year, int month, int day, int hour, int minute, int second)
{
	struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day,
	    .tm_hour = hour, .tm_min = minute, .tm_sec = second };

	return (int64_t)timegm(&tm) * 1000000;
}

/* "+0130" or "+01:30" or "Z"; how much to take off. */
static bool
zone_of(const char *text, int64_t *offset_us)
{
	const size_t len = strlen(text);
	int hours, minutes;

	*offset_us = 0;
	if (strcmp(text, "Z") == 0)
		return true;
	if ((len != 5 && !(len == 6 && text[3] == ':')) ||
	    (text[0] != '+' && text[0] != '-') || !import_digits(text + 1, 2, &hours) ||
	    !import_digits(text + len - 2, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*offset_us = (hours * INT64_C(60) + minutes) * 60000000 * (text[0] == '-' ? -1 : 1);
	return true;
}

bool
import_in_range(int64_t time_us)
{
	return time_us >= 0 && time_us <= RECORD_TIME_MAX;
}

static bool
is_day(int year, int month, int day)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month >= 1 && month <= 12 && day >= 1 &&
	    day <= days[month - 1] + (month == 2 && leap);
}

bool
import_rfc3339(const char *text, int64_t *time_us)
{
	int v[6], width = 100000;
	int64_t offset, part = 0;
	const size_t len = strlen(text);

	if (len < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != ' ') ||
	    text[13] != ':' || text[16] != ':' || !import_digits(text, 4, &v[0]) ||
	    !import_digits(text + 5, 2, &v[1]) || !import_digits(text + 8, 2, &v[2]) ||
	    !import_digits(text + 11, 2, &v[3]) || !import_digits(text + 14, 2, &v[4]) ||
	    !import_digits(text + 17, 2, &v[5]) || !is_day(v[0], v[1], v[2]) ||
	    v[3] > 23 || v[4] > 59 || v[5] > 60)
		return false;
	text += 19;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++, width /= 10)
			part += (*text - '0') * width;
	if (!zone_of(text, &offset))
		return false;
	*time_us = utc(v[0], v[1], v[2], v[3], v[4], v[5]) + part - offset;
	return import_in_range(*time_us);
}

bool
import_seconds(const char *text, int64_t *time_us)
{
	char *end;
	double value = strtod(text, &end);

	if (*text < '0' || *text > '9' || *end != '\0' || !isfinite(value) || value > 253402300799.0)
		return false;
	*time_us = (int64_t)(value * 1e6 + 0.5);
	return import_in_range(*time_us);
}

/* From 1; 0: none. */
static int
month_of(const char *text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char name[4];
	const char *month;

	snprintf(name, sizeof(name), "%.3s", text);
	month = strlen(name) == 3 ? strstr(months, name) : NULL;
	return month != NULL && (month - months) % 3 == 0 ? (int)(month - months) / 3 + 1 : 0;
}

/* "01:02:21" */
static bool
clock_of(const char *text, int v[3])
{
	return text[2] == ':' && text[5] == ':' && import_digits(text, 2, &v[0]) &&
	    import_digits(text + 3, 2, &v[1]) && import_digits(text + 6, 2, &v[2]) &&
	    v[0] <= 23 && v[1] <= 59 && v[2] <= 60;
}

bool
import_clf_time(const char *text, int64_t *time_us)
{
	int day, year, v[3];
	int64_t offset;

	if (strlen(text) != 26 || text[2] != '/' || text[6] != '/' || text[11] != ':' ||
	    text[20] != ' ' || !import_digits(text, 2, &day) ||
	    !import_digits(text + 7, 4, &year) || !clock_of(text + 12, v) ||
	    !is_day(year, month_of(text + 3), day) || !zone_of(text + 21, &offset))
		return false;
	*time_us = utc(year, month_of(text + 3), day, v[0], v[1], v[2]) - offset;
	return import_in_range(*time_us);
}

bool
import_ctime(const char *text, int64_t *time_us)
{
	int day, year, v[3];
	char padded[3];

	if (strlen(text) != 24 || text[3] != ' ' || text[7] != ' ' || text[10] != ' ' ||
	    text[19] != ' ')
		return false;
	snprintf(padded, sizeof(padded), "%c%c", text[8] == ' ' ? '0' : text[8], text[9]);
	if (!import_digits(padded, 2, &day) || !import_digits(text + 20, 4, &year) ||
	    !clock_of(text + 11, v) || !is_day(year, month_of(text + 4), day))
		return false;
	*time_us = utc(year, month_of(text + 4), day, v[0], v[1], v[2]);
	return import_in_range(*time_us);
}
