#include "cli/run_bundle.h"
#include "cli/client.h"
#include "cli/cli.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int
run_bundle_write(const json_t *closed, char *path, size_t cap)
{
	char name[128];

	snprintf(name, sizeof(name), "runs/%.64s", client_str(closed, "id"));
	cli_home_path(name, path, cap);
	return -1;
}

static bool
newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec :
	    a->tv_nsec > b->tv_nsec;
}

int
run_bundle_last(char *path, size_t cap)
{
	struct timespec newest = { 0, 0 };
	char dir[PATH_MAX], one[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *runs;
	int n, rc = -1;

	cli_home_path("runs", dir, sizeof(dir));
	if ((runs = opendir(dir)) == NULL)
		return -1;
	while ((entry = readdir(runs)) != NULL) {
		n = snprintf(one, sizeof(one), "%s/%s", dir, entry->d_name);
		if (entry->d_name[0] == '.' || n < 0 || (size_t)n >= sizeof(one) ||
		    (size_t)n >= cap || lstat(one, &st) != 0 ||
		    !S_ISDIR(st.st_mode) || !newer(&st.st_mtim, &newest))
			continue;
		newest = st.st_mtim;
		memcpy(path, one, (size_t)n + 1);
		rc = 0;
	}
	closedir(runs);
	return rc;
}
