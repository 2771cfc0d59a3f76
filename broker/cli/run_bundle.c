#include "cli/run_bundle.h"
#include "cli/client.h"
#include "cli/cli.h"
#include "cli/packs.h"
#include "ledger/bundle.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PACKS_MAX 32	/* packs that one run may have been decided by */

/* When the run was opened, less a little: RFC 3339, as the API says it. */
static time_t
opened_at(const json_t *run)
{
	struct tm tm = { 0 };

	if (strptime(client_str(run, "opened"), "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return 0;
	return timegm(&tm) - 2;
}

int
run_bundle_write(const json_t *run, char *path, size_t cap)
{
	char name[128], ledger[PATH_MAX], err[512] = "";
	struct bundle_options options = { .ledger = ledger, .out = path,
	    .run = client_str(run, "id") };
	struct bundle_pack packs[PACKS_MAX];
	struct packs_kept *kept = NULL;
	size_t i;
	int rc;

	snprintf(name, sizeof(name), "runs/%.64s", options.run);
	cli_home_path(name, path, cap);
	cli_home_path("ledger", ledger, sizeof(ledger));
	options.pack_count = packs_since(client_str(run, "policy"),
	    opened_at(run), PACKS_MAX, &kept);
	for (i = 0; i < options.pack_count; i++)
		packs[i] = (struct bundle_pack){ kept[i].digest, kept[i].dir };
	options.packs = packs;
	rc = bundle_write(&options, err, sizeof(err));
	if (rc != 0)
		cli_err("the run's evidence was not written: %s", cli_clean(err));
	free(kept);
	return rc;
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
