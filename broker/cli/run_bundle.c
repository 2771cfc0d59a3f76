#include "cli/run_bundle.h"
#include "cli/client.h"
#include "cli/cli.h"
#include "cli/packs.h"
#include "home.h"
#include "ledger/bundle/bundle.h"
#include "private_file.h"
#include "trouble.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PACKS_MAX 32	/* packs that one run may have been decided by */
#define LAST_MAX 128	/* bytes of runs/last: an id and a newline */
#define PATIENCE 30	/* tries, 0.1 s apart: longer than a close drains */

/* When the run was opened, less a little: RFC 3339, as the API says it. */
static time_t
opened_at(const json_t *run)
{
	struct tm tm = { 0 };

	if (strptime(client_str(run, "opened"), "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return 0;
	return timegm(&tm) - 2;
}

/* Where evidence goes.  0, or -1 with a message. */
static int
run_bundle_folder(char *err, size_t err_len)
{
	int rc = home_folder("runs", true, err, err_len);

	if (rc == 1)
		cli_err("note: %s/runs was not there and is made again; "
		    "`countersign bundle RUN` takes the evidence of an earlier "
		    "run from the ledger", cli_home());
	return rc < 0 ? -1 : 0;
}

void
run_bundle_keep_tags(const char *run)
{
	char from[PATH_MAX], to[PATH_MAX], name[128], err[CLI_ERR_MAX];

	snprintf(name, sizeof(name), "run/%.64s.tags", run);
	cli_home_path(name, from, sizeof(from));
	if (run_bundle_folder(err, sizeof(err)) != 0) {
		cli_err("the scan tags stay in %s: %s", from, err);
		return;
	}
	snprintf(name, sizeof(name), "runs/%.64s.tags", run);
	cli_home_path(name, to, sizeof(to));
	if (rename(from, to) != 0 && errno != ENOENT)
		cli_err("the scan tags stay in %s: %s", from, strerror(errno));
}

static int
write_it(const json_t *run, bool patience, char *path, size_t cap, char *err,
    size_t err_len)
{
	char name[128], ledger[PATH_MAX];
	struct bundle_options options = { .ledger = ledger, .out = path,
	    .run = client_str(run, "id") };
	struct bundle_pack packs[PACKS_MAX];
	struct packs_kept *kept = NULL;
	const struct timespec step = { 0, 100000000L };
	size_t i;
	int rc, tries;

	snprintf(name, sizeof(name), "runs/%.64s", options.run);
	cli_home_path(name, path, cap);
	if (run_bundle_folder(err, err_len) != 0)
		return -1;
	packs_again(client_str(run, "policy"));
	cli_home_path("ledger", ledger, sizeof(ledger));
	options.pack_count = packs_since(client_str(run, "policy"),
	    opened_at(run), PACKS_MAX, &kept);
	for (i = 0; i < options.pack_count; i++)
		packs[i] = (struct bundle_pack){ kept[i].digest, kept[i].dir };
	options.packs = packs;
	rc = bundle_write(&options, err, err_len);
	for (tries = patience ? PATIENCE : 0; rc != 0 && tries > 0; tries--) {
		nanosleep(&step, NULL);
		rc = bundle_write(&options, err, err_len);
	}
	if (rc == 0)
		run_bundle_keep_tags(options.run);
	free(kept);
	return rc;
}

int
run_bundle_write(const json_t *run, bool patience, char *path, size_t cap)
{
	char err[512] = "";
	int rc = write_it(run, patience, path, cap, err, sizeof(err));

	if (rc != 0)
		cli_err("the run's evidence was not written: %s", cli_clean(err));
	return rc;
}

/* Whoever would have written it was killed; its end is on record all the same. */
static int
take_from_ledger(const char *id)
{
	json_t *run = json_pack("{s:s}", "id", id);
	char path[PATH_MAX], err[512] = "";
	int rc = -1;

	if (run != NULL)
		rc = write_it(run, false, path, sizeof(path), err, sizeof(err));
	if (rc == 0)
		cli_err("note: the evidence of %s was not written at its end; it is "
		    "taken from the ledger: %s", id, path);
	json_decref(run);
	return rc;
}

static bool
newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec :
	    a->tv_nsec > b->tv_nsec;
}

/* --- which run was the last ------------------------------------------ */

int
run_bundle_remember(const json_t *run, char *err, size_t err_len)
{
	char path[PATH_MAX], text[LAST_MAX];
	int lock, n, rc = -1;

	if (run_bundle_folder(err, err_len) != 0)
		return -1;
	cli_home_path("runs/last", path, sizeof(path));
	n = snprintf(text, sizeof(text), "%.64s\n", client_str(run, "id"));
	lock = private_file_lock(path, 1);
	if (lock == -1 || private_file_replace(path, text, (size_t)n) != 0)
		(void)trouble(err, err_len, path, errno);
	else
		rc = 0;
	if (lock != -1)
		close(lock);
	return rc;
}

static bool
id_ok(const char *id)
{
	size_t len = strlen(id);

	return strncmp(id, "run_", 4) == 0 && len > 4 &&
	    len <= RUN_BUNDLE_ID_MAX &&
	    strspn(id + 4, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789_-") == len - 4;
}

/* 1 and the id; 0 where none was remembered (homes of older versions); -1. */
static int
remembered(char id[LAST_MAX], char *why, size_t why_cap)
{
	char path[PATH_MAX];
	size_t len = 0;
	uint8_t *text;
	int rc = -1;

	cli_home_path("runs/last", path, sizeof(path));
	text = private_file_read(path, PRIVATE_SETTINGS, LAST_MAX - 1, &len);
	if (text == NULL && errno == ENOENT)
		return 0;
	if (text == NULL) {
		snprintf(why, why_cap, "%s: %s", path, private_file_why(errno));
		return -1;
	}
	snprintf(id, LAST_MAX, "%s", (const char *)text);
	id[strcspn(id, "\n")] = '\0';
	if (id_ok(id))
		rc = 1;
	else
		snprintf(why, why_cap, "%s: this names no run; name the "
		    "directory to be verified", path);
	free(text);
	return rc;
}

static int
newest(char *path, size_t cap)
{
	struct timespec latest = { 0, 0 };
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
		    !S_ISDIR(st.st_mode) || !newer(&st.st_mtim, &latest))
			continue;
		latest = st.st_mtim;
		memcpy(path, one, (size_t)n + 1);
		rc = 0;
	}
	closedir(runs);
	return rc;
}

const char *
run_bundle_whole(const char *begun, char whole[RUN_BUNDLE_ID_MAX + 1])
{
	const size_t len = strlen(begun);
	char path[PATH_MAX];
	const struct dirent *entry;
	unsigned found = 0;
	DIR *runs;

	cli_home_path("runs", path, sizeof(path));
	if (!id_ok(begun) || (runs = opendir(path)) == NULL)
		return begun;
	while ((entry = readdir(runs)) != NULL && found < 2) {
		if (!id_ok(entry->d_name) || strncmp(entry->d_name, begun, len) != 0)
			continue;
		snprintf(whole, RUN_BUNDLE_ID_MAX + 1, "%.64s", entry->d_name);
		found = whole[len] == '\0' ? 2 : found + 1;	/* itself: nothing to add */
	}
	closedir(runs);
	return found == 1 ? whole : begun;
}

int
run_bundle_named(const char *id, char *path, size_t cap)
{
	char name[LAST_MAX + 8], whole[RUN_BUNDLE_ID_MAX + 1];

	if (!id_ok(id))
		return -1;
	id = run_bundle_whole(id, whole);
	snprintf(name, sizeof(name), "runs/%.64s", id);
	cli_home_path(name, path, cap);
	return access(path, F_OK) == 0 ? 0 : take_from_ledger(id);
}

int
run_bundle_last(char *path, size_t cap, char *why, size_t why_cap)
{
	char id[LAST_MAX];
	int known = remembered(id, why, why_cap);

	if (known == -1)
		return CLI_UNSURE;
	if (known == 0) {
		snprintf(why, why_cap, "no run has a bundle here yet");
		return newest(path, cap) == 0 ? CLI_OK : CLI_USAGE;
	}
	if (run_bundle_named(id, path, cap) == 0)
		return CLI_OK;
	snprintf(why, why_cap, "%s, the last run, has no evidence here: it is "
	    "still open, or its daemon ended before it: `countersign start` lets "
	    "its evidence be taken; an older run is verified by its id", id);
	return CLI_UNSURE;
}
