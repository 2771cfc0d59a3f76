#include "cli/aside.h"
#include "cli/cli.h"

#include <time.h>
#include <unistd.h>

int
aside_name(const char *what, struct aside *paths, char *err, size_t err_len)
{
	char name[64], at[32];
	time_t now = time(NULL);
	struct tm utc;

	if (gmtime_r(&now, &utc) == NULL ||
	    strftime(at, sizeof(at), "%Y%m%dT%H%M%SZ", &utc) == 0) {
		snprintf(err, err_len, "the clock tells no date");
		return -1;
	}
	cli_home_path(what, paths->old, sizeof(paths->old));
	snprintf(name, sizeof(name), "%s.new", what);
	cli_home_path(name, paths->next, sizeof(paths->next));
	snprintf(name, sizeof(name), "%s-%s", what, at);
	cli_home_path(name, paths->aside, sizeof(paths->aside));
	/* There may be one of the same second. */
	for (int i = 2; i < 10 && access(paths->aside, F_OK) == 0; i++) {
		snprintf(name, sizeof(name), "%s-%s-%d", what, at, i);
		cli_home_path(name, paths->aside, sizeof(paths->aside));
	}
	return 0;
}
