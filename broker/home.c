#include "home.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[PATH_MAX];

/* An absolute directory from the environment with tail behind it.  1 where the
 * variable is not set, -1 where it is no good. */
static int
from_variable(const char *name, const char *tail, char *err, size_t err_len)
{
	const char *value = getenv(name);
	int n;

	if (value == NULL || *value == '\0')
		return 1;
	if (*value != '/') {
		snprintf(err, err_len, "%s must be an absolute path", name);
		return -1;
	}
	n = snprintf(home, sizeof(home), "%s%s", value, tail);
	if (n < 0 || (size_t)n >= sizeof(home)) {
		home[0] = '\0';
		snprintf(err, err_len, "%s is too long", name);
		return -1;
	}
	return 0;
}

const char *
home_dir(char *err, size_t err_len)
{
	static const struct { const char *name, *tail; } places[] = {
		{ "COUNTERSIGN_HOME", "" },
		{ "XDG_STATE_HOME", "/countersign" },
		{ "HOME", "/.local/state/countersign" },
	};
	size_t i;
	int found = 1;

	if (home[0] != '\0')
		return home;
	for (i = 0; i < sizeof(places) / sizeof(places[0]) && found == 1; i++)
		found = from_variable(places[i].name, places[i].tail, err,
		    err_len);
	if (found == 0)
		return home;
	if (found == 1)
		snprintf(err, err_len, "no home for countersign: set "
		    "COUNTERSIGN_HOME or HOME");
	return NULL;
}

/* mkdir -p; parents get the usual mode, the last directory 0700. */
static int
make_with_parents(const char *path)
{
	char part[PATH_MAX];
	char *slash;

	snprintf(part, sizeof(part), "%s", path);
	for (slash = part; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
		*slash = '\0';
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return -1;
	}
	return mkdir(path, 0700) != 0 && errno != EEXIST ? -1 : 0;
}

int
home_make(char *err, size_t err_len)
{
	const char *path;
	struct stat st;

	if ((path = home_dir(err, err_len)) == NULL)
		return -1;
	if (make_with_parents(path) != 0 || stat(path, &st) != 0) {
		snprintf(err, err_len, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(err, err_len, "%s is not a directory", path);
		return -1;
	}
	if (st.st_uid != geteuid()) {
		snprintf(err, err_len, "%s belongs to another user", path);
		return -1;
	}
	if ((st.st_mode & 077) != 0) {
		snprintf(err, err_len, "%s is open to other users (mode %04o): "
		    "chmod 700 it", path, (unsigned)(st.st_mode & 07777));
		return -1;
	}
	return 0;
}

int
home_path(const char *name, char *buf, size_t cap)
{
	char err[128];
	const char *dir = home_dir(err, sizeof(err));
	int n;

	if (dir == NULL)
		return -1;
	n = snprintf(buf, cap, "%s/%s", dir, name);
	return n < 0 || (size_t)n >= cap ? -1 : 0;
}
