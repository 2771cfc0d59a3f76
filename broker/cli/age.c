#include "cli/age.h"

#include <stdio.h>
#include <time.h>

const char *
age_text(const json_t *since, char *buf, size_t cap)
{
	struct tm tm = { 0 };
	long long seconds;
	time_t then = 0;

	if (json_is_integer(since))
		then = (time_t)json_integer_value(since);
	else if (json_is_string(since) && strptime(json_string_value(since),
	    "%Y-%m-%dT%H:%M:%S", &tm) != NULL)
		then = timegm(&tm);
	if (then == 0)
		return "?";
	seconds = (long long)difftime(time(NULL), then);
	if (seconds < 120)
		snprintf(buf, cap, "%lld s", seconds < 0 ? 0 : seconds);
	else if (seconds < 7200)
		snprintf(buf, cap, "%lld min", seconds / 60);
	else if (seconds < 172800)
		snprintf(buf, cap, "%lld h", seconds / 3600);
	else
		snprintf(buf, cap, "%lld d", seconds / 86400);
	return buf;
}
