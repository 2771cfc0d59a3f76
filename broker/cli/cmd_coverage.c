/* countersign coverage: what adapters see, held against what others saw. */
#include "cli/cmd.h"
#include "cli/run_bundle.h"
#include "ledger/command/coverage_main.h"
#include "ledger/record/record.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* A run's evidence by its id; without a name the last one's. */
static const char *
evidence(const char *name, int *status)
{
	static char path[PATH_MAX];
	char why[2 * PATH_MAX], below[RECORD_NAME_MAX + 8];
	char whole[RUN_BUNDLE_ID_MAX + 1];

	if (name == NULL) {
		*status = run_bundle_last(path, sizeof(path), why, sizeof(why));
		if (*status == CLI_OK)
			return path;
		cli_err("%s", cli_clean(why));
		return NULL;
	}
	if (record_name_valid(name, strlen(name)) && strchr(name, '/') == NULL) {
		snprintf(below, sizeof(below), "runs/%s",
		    run_bundle_whole(name, whole));
		cli_home_path(below, path, sizeof(path));
		if (access(path, F_OK) == 0)
			return path;
	}
	cli_err("%s: neither a run's id, nor a bundle or ledger", cli_clean(name));
	*status = CLI_USAGE;
	return NULL;
}

static int
cmd_coverage(int argc, char **argv)
{
	struct coverage_defaults defaults = { .program = "countersign",
	    .evidence = evidence };
	char key[PATH_MAX];

	cli_home_path("ledger/log.vkey", key, sizeof(key));
	if (access(key, R_OK) == 0)
		defaults.secrets = cmd_vault_secrets;
	return coverage_main(argc, argv, &defaults);
}

/* coverage_main reads them; these are for the shells' completion. */
static const struct opt import_opts[] = {
	{ "format", 0, "FORMAT", false, "combined, json, egress or conntrack" },
	{ "source", 0, "NAME", false, "whose log it is" },
	{ "instance", 0, "NAME", false, "which one of several" },
	{ "base", 0, "URL", false, "the service, for logs that do not name the host" },
	{ "field", 0, "WHAT=NAME", false, "json: what a member is called" },
	{ "client", 0, "ADDRESS", false, "that client's lines only" },
	{ "resolve", 0, "ADDRESS=HOST", false, "of networks: what an address is called" },
	{ "protocol", 0, "NAME", false, "of networks: take that protocol only" },
	{ "exhaustive", 0, NULL, false, "the log misses nothing of what it sees" },
	{ "from", 0, "TIME", false, "from when" },
	{ "to", 0, "TIME", false, "to when" },
	{ "sign", 0, "KEYFILE", false, "sign it with an observer's key" },
	{ "output", 'o', "FILE", false, "default standard output" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct opt key_opts[] = {
	{ "name", 0, "NAME", false, "make a new key of that name first" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct opt sign_opts[] = {
	{ "key", 'k', "KEYFILE", false, "the observer's key" },
	{ "output", 'o', "FILE", false, "default standard output" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct opt reconcile_opts[] = {
	{ "truth", 0, "FILE", false, "what an observer saw" },
	{ "trust", 0, "FILE", false, "a trust policy: whose signature counts, and how many" },
	{ "window", 0, "MS", false, "how far his clock may be from ours" },
	{ "json", 'j', NULL, false, "print JSON" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct opt show_opts[] = {
	{ "json", 'j', NULL, false, "print JSON" },
	{ NULL, 0, NULL, false, NULL }
};

const struct cli_command cmd_coverage_table[] = {
	{ .name = "import", .operands = "[LOG]", .raw = true, .run_raw = cmd_coverage,
	  .opts = import_opts,
	  .summary = "Make ground truth of a log that others keep" },
	{ .name = "key", .operands = "KEYFILE", .raw = true, .run_raw = cmd_coverage,
	  .opts = key_opts, .summary = "An observer's key: make it, print its vkey" },
	{ .name = "sign", .operands = "--key KEYFILE [TRUTH]", .raw = true,
	  .run_raw = cmd_coverage, .opts = sign_opts, .summary = "Sign ground truth" },
	{ .name = "reconcile", .operands = "--truth FILE [RUN|BUNDLE|LEDGER]", .raw = true,
	  .run_raw = cmd_coverage, .opts = reconcile_opts,
	  .summary = "Hold what others saw against the records" },
	{ .name = "show", .operands = "[RUN|BUNDLE|LEDGER]", .raw = true,
	  .run_raw = cmd_coverage, .opts = show_opts,
	  .summary = "What a run's adapters say they see, and cannot" },
	{ .name = NULL }
};
