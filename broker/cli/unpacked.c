#include "cli/unpacked.h"

#include "cli/cli.h"
#include "ledger/bundle/archive.h"
#include "ledger/output/shown.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

static struct unpacked {
	const char *path;
	struct tempdir dir;
} unpacked[UNPACKED_MAX];
static size_t count;

/* The sweeper would do it, but later than whoever waits for us looks. */
static void
remove_all(void)
{
	while (count > 0)
		tempdir_remove(&unpacked[--count].dir);
}

const char *
cli_unpacked(const char *path)
{
	struct unpacked *slot = &unpacked[count];
	char err[CLI_ERR_MAX];
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(unpacked[i].path, path) == 0)
			return unpacked[i].dir.path;
	if (!archive_is(path))
		return path;
	if (count == UNPACKED_MAX) {
		cli_err("more than %d bundles' files at once", UNPACKED_MAX);
		return NULL;
	}
	if (count == 0 && atexit(remove_all) != 0) {
		cli_err("out of memory");
		return NULL;
	}
	slot->path = path;
	slot->dir = (struct tempdir){ .dirfd = -1, .keep = -1, .sweeper = -1 };
	if (archive_unpack(path, &slot->dir, err, sizeof(err)) != ARCHIVE_GOOD) {
		cli_err("%s: %s", cli_clean(path), err);
		tempdir_remove(&slot->dir);
		return NULL;
	}
	count++;
	return slot->dir.path;
}

/* What it prints was read in packs and records, which may be hostile, and goes to
 * whoever looks at them. */
int
cmd_policy(int argc, char **argv)
{
	FILE *const out = stdout, *const err = stderr;
	FILE *const lines = shown_lines(out), *const complaints = shown_lines(err);
	int rc = CLI_USAGE;

	if (lines != NULL && complaints != NULL) {
		stdout = lines;
		stderr = complaints;
		rc = policy_command(argc, argv);
		stdout = out;
		stderr = err;
	} else {
		cli_err("out of memory");
	}
	if (complaints != NULL)
		(void)fclose(complaints);
	if (lines != NULL)
		(void)fclose(lines);	/* what goes wrong there shows at stdout */
	return rc;
}

int
cmd_policy_on_records(int argc, char **argv)
{
	char **args = calloc((size_t)argc + 1, sizeof(*args));
	const char *dir;
	int i, rc = CLI_USAGE;

	if (args == NULL) {
		cli_err("out of memory");
		return CLI_USAGE;
	}
	for (i = 0; i < argc; i++) {
		if ((dir = cli_unpacked(argv[i])) == NULL)
			goto out;
		args[i] = dir == argv[i] ? argv[i] : strdup(dir);
		if (args[i] == NULL) {
			cli_err("out of memory");
			goto out;
		}
	}
	rc = cmd_policy(argc, args);
out:
	for (i = 0; i < argc; i++)
		if (args[i] != argv[i])
			free(args[i]);
	free(args);
	return rc;
}
