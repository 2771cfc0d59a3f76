/* countersign bundle: a run's evidence, to be handed to somebody. */
#include "cli/cmd.h"
#include "cli/packs.h"
#include "cli/run_bundle.h"
#include "cli/unpacked.h"
#include "ledger/bundle/bundle.h"
#include "ledger/coverage/coverage.h"
#include "ledger/record/record.h"
#include "ledger/report/covered.h"
#include "ledger/scan/scan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PACKS_MAX 1024	/* kept by this home */

const struct opt cmd_bundle_opts[] = {
	{ "output", 'o', "FILE", false, "where to; default RUN.tar.zst here" },
	{ "directory", 0, NULL, false, "a directory instead of one file" },
	{ "coverage", 0, "FILE", false, "an adapter's coverage manifest, or a directory of them, to go with it" },
	{ "truth", 0, "FILE", false, "what an independent observer saw, or a directory, to go with it; reconciled" },
	{ "ledger", 0, "DIR", false, "a ledger's directory; default this home's" },
	{ NULL, 0, NULL, false, NULL }
};

const char cmd_bundle_details[] =
"RUN is a run's id; by default the last one's.  The run must be closed, and a\n"
"signed checkpoint behind it.  The file is put in place whole or not at all, and\n"
"never in place of another.  `countersign verify FILE` and `countersign-verify\n"
"--key KEY FILE` verify it.  The tags with which an auditor can look for the\n"
"vault's secrets stay apart, in runs/RUN.tags of the home: --tags of verify.\n"
"With --truth the records are held against it (countersign-coverage(1)): where an\n"
"action has no record the bundle is written all the same, and the exit status 1.";

/* The last run's id: the name of its evidence. */
static int
last_run(char id[RECORD_NAME_MAX + 1])
{
	char path[PATH_MAX], why[2 * PATH_MAX];
	const char *slash;
	int rc = run_bundle_last(path, sizeof(path), why, sizeof(why));

	if (rc != CLI_OK) {
		cli_err("%s", why);
		return rc;
	}
	slash = strrchr(path, '/');
	slash = slash != NULL ? slash + 1 : path;
	if (!record_name_valid(slash, strlen(slash)))
		return cli_usage("name the run: %s is none's id", cli_clean(slash));
	memcpy(id, slash, strlen(slash) + 1);
	return CLI_OK;
}

static const char *
shown_text(void *scanner, const char *text)
{
	return scanner_shown_name(scanner, text);
}

/* What a truth says of itself may hold a secret of the vault, or what looks like one. */
static struct scanner *
make_scanner(void)
{
	struct scanner *scanner = scanner_new();
	char why[CLI_ERR_MAX] = "";

	if (scanner != NULL && cmd_vault_secrets(NULL, scanner, why, sizeof(why)) != 0)
		cli_err("without the vault's secrets: %s", cli_clean(why));
	return scanner;
}

/* What the truth in it says of it.  A bundle that was written stays. */
static int
reconcile(const char *out, const char *run)
{
	struct verify_result *result = calloc(1, sizeof(*result));
	struct scanner *scanner = make_scanner();
	struct coverage_options options = { .dir = cli_unpacked(out), .run = run,
	    .window_ms = COVERAGE_WINDOW_MS, .shown = shown_text, .shown_context = scanner };
	struct coverage *coverage = NULL;
	char err[CLI_ERR_MAX] = "";
	int rc = CLI_USAGE;

	if (options.dir == NULL || result == NULL || scanner == NULL)
		goto out;
	if (coverage_judge(&options, result, &coverage, err, sizeof(err)) != 0) {
		cli_err("%s", cli_clean(err));
		goto out;
	}
	rc = coverage->verdict == VERIFY_GAP ? CLI_REFUSED : CLI_OK;
	fprintf(stderr, "coverage: %s\n", cli_clean(result->coverage.text));
	for (unsigned i = 0; i < result->findings; i++)
		fprintf(stderr, "  %s: line %llu of %s\n", result->finding[i].code,
		    (unsigned long long)result->finding[i].line,
		    cli_clean(result->finding[i].file));
	covered_text(coverage, stderr);
out:
	coverage_free(coverage);
	scanner_free(scanner);
	free(result);
	return rc;
}

static int
write_bundle(const struct opts *opts, const char *run, const char *out)
{
	char ledger[PATH_MAX], err[CLI_ERR_MAX] = "";
	struct bundle_pack *packs = calloc(PACKS_MAX, sizeof(*packs));
	struct packs_kept *kept = NULL;
	struct bundle_options options = { .ledger = ledger, .run = run, .out = out,
	    .packs = packs, .coverage = opt_value(opts, "coverage"),
	    .truth = opt_value(opts, "truth"),
	    .archive = !opt_flag(opts, "directory") };
	size_t i;
	int rc = -1;

	cli_home_path("ledger", ledger, sizeof(ledger));
	if (opt_value(opts, "ledger") != NULL)
		options.ledger = opt_value(opts, "ledger");
	options.pack_count = packs_since("", 0, PACKS_MAX, &kept);
	for (i = 0; packs != NULL && i < options.pack_count; i++)
		packs[i] = (struct bundle_pack){ kept[i].digest, kept[i].dir };
	snprintf(err, sizeof(err), "out of memory");
	if (packs != NULL)
		rc = bundle_write(&options, err, sizeof(err));
	if (rc != 0)
		cli_err("%s", cli_clean(err));
	else {
		if (opt_value(opts, "ledger") == NULL)
			run_bundle_keep_tags(run);
		printf("%s\n", out);
	}
	free(packs);
	free(kept);
	if (rc == 0 && options.truth != NULL)
		return reconcile(out, run);
	return rc == 0 ? CLI_OK : CLI_USAGE;
}

int
cmd_bundle(const struct opts *opts)
{
	char run[RECORD_NAME_MAX + 1], name[RECORD_NAME_MAX + 16];
	char whole[RUN_BUNDLE_ID_MAX + 1];
	const char *out = opt_value(opts, "output");
	int rc;

	if (opts->n_rest > 1)
		return cli_usage("bundle takes one run");
	if ((rc = cli_need_home()) != 0)
		return rc;
	if (opts->n_rest == 0 && (rc = last_run(run)) != 0)
		return rc;
	if (opts->n_rest == 1 && !record_name_valid(opts->rest[0], strlen(opts->rest[0])))
		return cli_usage("%s: no run's id", cli_clean(opts->rest[0]));
	if (opts->n_rest == 1)
		snprintf(run, sizeof(run), "%s",
		    run_bundle_whole(opts->rest[0], whole));
	if (out != NULL && strcmp(out, "-") == 0)
		return cli_usage("--output takes the name of a file: a bundle is put in place whole");
	if (out == NULL && strchr(run, '/') != NULL)
		return cli_usage("--output is needed: the run's id is no file name");
	snprintf(name, sizeof(name), "%s%s", run, opt_flag(opts, "directory") ? "" : ".tar.zst");
	return write_bundle(opts, run, out != NULL ? out : name);
}
