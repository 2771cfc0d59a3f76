#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/command/options.h"
#include "ledger/command/scan_main.h"
#include "ledger/output/progress.h"
#include "ledger/output/shown.h"
#include "ledger/output/terminal.h"
#include "ledger/scan/baseline.h"
#include "ledger/scan/scan_report.h"

#define KEPT_MAX 100000	/* findings that are told one by one */

enum { USAGE_OR_IO = 3 };

static const char help[] =
"Usage: %s [OPTION]... PATH...\n"
"\n"
"Look for secrets in files and directories (- is standard input): by 124 token\n"
"formats%s, and by tags of secrets that\n"
"you do not know; plainly and in what they are encoded, compressed or packed in.  Values are\n"
"never shown.  Offline; nothing is changed.\n"
"\n"
"  -t, --tags=FILE       look for the secrets of this file of tags, too\n"
"      --tags-commitment=TEXT  and insist that it is the file that the ledger's\n"
"                        record commits to (blake2b:...)\n"
"%s"
"  -b, --baseline=FILE   do not count what this baseline holds (FILE.key is its key)\n"
"      --write-baseline=FILE  accept all that is found now\n"
"  -a, --advisory        show low confidence and account names, too\n"
"  -j, --json            one JSON object instead of text\n"
"      --sarif           SARIF 2.1.0 instead of text\n"
"  -q, --quiet           no progress bar\n"
"      --color=WHEN      always, never, auto (default: on a terminal)\n"
"  -h, --help\n"
"  -V, --version\n"
"\n"
"Exit status: 0 clean; 1 something found; 2 not all could be looked at, or the\n"
"scanner missed its own canary: nothing is established; 3 usage or I/O error.\n";

struct args {
	const char *tags, *commitment, *baseline, *write_baseline;
	bool json, sarif, advisory, colour, quiet, vault;
	char **paths;
	int n_paths;
};

/* One command's work. */
struct work {
	const struct args *args;
	const struct scan_defaults *defaults;
	struct scanner *scanner;
	struct scan_result *result;
	struct scan_tags *tags;
	char commitment[SCAN_TAGS_COMMITMENT_MAX];
	struct scan_baseline baseline;
	struct scan_finding *kept;
	size_t n_kept, kept_cap;
	struct scan_report report;
	struct progress progress;
	uint64_t total;		/* bytes to be read, for the bar */
	bool failed;		/* memory */
	char err[512];
};

/* ---- arguments ---- */

static int
usage(const struct scan_defaults *defaults, const char *why)
{
	if (why != NULL)
		shown_complain("%s: %s", defaults->program, why);
	fprintf(stderr, "Try '%s --help'.\n", defaults->program);
	return USAGE_OR_IO;
}

static const char *
take_color(void *context, const char *value)
{
	struct args *args = context;

	return terminal_colour_option(value, &args->colour) == 0 ? NULL :
	    "--color takes always, never or auto";
}

#define AT(member) offsetof(struct args, member)

static const struct option_row options[] = {
	{ "tags", 't', OPTION_TEXT, AT(tags), NULL },
	{ "tags-commitment", 0, OPTION_TEXT, AT(commitment), NULL },
	{ "baseline", 'b', OPTION_TEXT, AT(baseline), NULL },
	{ "write-baseline", 0, OPTION_TEXT, AT(write_baseline), NULL },
	{ "advisory", 'a', OPTION_ON, AT(advisory), NULL },
	{ "json", 'j', OPTION_ON, AT(json), NULL },
	{ "sarif", 0, OPTION_ON, AT(sarif), NULL },
	{ "quiet", 'q', OPTION_ON, AT(quiet), NULL },
	{ "color", 0, OPTION_TAKE, 0, take_color },
	{ "help", 'h', OPTION_HELP, 0, NULL },
	{ "version", 'V', OPTION_VERSION, 0, NULL },
	{ "no-vault", 0, OPTION_OFF, AT(vault), NULL },
	{ NULL, 0, OPTION_HELP, 0, NULL }
};

/* Why these arguments cannot stand together; NULL: they can. */
static const char *
contradiction(const struct args *args)
{
	if (args->n_paths == 0)
		return "what is to be scanned?";
	if (args->json && args->sarif)
		return "--json or --sarif, not both";
	if (args->baseline != NULL && args->write_baseline != NULL)
		return "--baseline or --write-baseline, not both";
	if (args->commitment != NULL && args->tags == NULL)
		return "--tags-commitment is of a file named by --tags";
	return NULL;
}

/* -1: go on; else the status to leave with. */
static int
parse(int argc, char **argv, const struct scan_defaults *defaults,
    struct args *args)
{
	const char *why;

	*args = (struct args){ .colour = terminal_colours(STDOUT_FILENO), .vault = true };
	switch (options_read(options, argc, argv, args, &why)) {
	case OPTIONS_READ:
		break;
	case OPTIONS_WRONG:
	case OPTIONS_UNKNOWN:
		return usage(defaults, why);
	case OPTIONS_HELP:
		printf(help, defaults->program, defaults->secrets != NULL ?
		    " and the vault's own secrets" : "", defaults->secrets != NULL ?
		    "      --no-vault        do not look for the vault's secrets\n" : "");
		return 0;
	case OPTIONS_VERSION:
		printf("%s %s\n", defaults->program, COUNTERSIGN_VERSION);
		return 0;
	}
	args->paths = argv + optind;
	args->n_paths = argc - optind;
	why = contradiction(args);
	return why != NULL ? usage(defaults, why) : -1;
}

/* ---- what it is told to use ---- */

/* -1: a message is in err. */
static int
use_tags(struct work *w, char *err, size_t err_len)
{
	const struct args *args = w->args;

	if (args->tags == NULL)
		return 0;
	w->tags = scan_tags_load(args->tags, w->commitment, err, err_len);
	if (w->tags == NULL)
		return -1;
	if (args->commitment != NULL && strcmp(args->commitment, w->commitment) != 0) {
		snprintf(err, err_len, "%.200s: not the tags that were committed to",
		    args->tags);
		return -1;
	}
	scanner_set_tags(w->scanner, w->tags);
	return 0;
}

static int
use_baseline(struct work *w, char *err, size_t err_len)
{
	const struct args *args = w->args;

	if (args->baseline != NULL &&
	    scan_baseline_read(&w->baseline, args->baseline, err, err_len) != 0)
		return -1;
	if (args->write_baseline != NULL &&
	    scan_baseline_begin(&w->baseline, args->write_baseline, err, err_len) != 0)
		return -1;
	if (args->baseline != NULL || args->write_baseline != NULL)
		scanner_set_baseline(w->scanner, w->baseline.key, args->baseline != NULL ?
		    scan_baseline_has : NULL, &w->baseline);
	return 0;
}

/* What was not looked for may be there: without it nothing is clean. */
static void
use_vault(struct work *w)
{
	char why[256] = "", all[256];

	if (w->defaults->secrets == NULL || !w->args->vault || w->defaults->secrets(
	    w->defaults->context, w->scanner, why, sizeof(why)) == 0)
		return;
	shown_complain("%s: without the vault's secrets: %s\n"
	    "(--no-vault looks by formats alone)", w->defaults->program, why);
	snprintf(all, sizeof(all), "the vault's secrets were not looked for: %.180s", why);
	scan_result_incomplete(w->result, "", "", all);
}

/* ---- scanning ---- */

static void
keep(struct work *w, const struct scan_finding *finding)
{
	struct scan_finding *more;
	size_t cap;

	if (w->n_kept == w->kept_cap) {
		cap = w->kept_cap == 0 ? 64 : 2 * w->kept_cap;
		more = cap > KEPT_MAX ? NULL : reallocarray(w->kept, cap, sizeof(*more));
		if (more == NULL)
			return;		/* counted all the same */
		w->kept = more;
		w->kept_cap = cap;
	}
	w->kept[w->n_kept++] = *finding;
}

static void
on_finding(void *context, const struct scan_finding *finding)
{
	struct work *w = context;

	if (w->args->write_baseline != NULL &&
	    scan_baseline_add(&w->baseline, finding->mark) != 0)
		w->failed = true;
	if (w->args->json || w->args->sarif) {
		keep(w, finding);
		return;
	}
	progress_end(&w->progress);
	scan_report_finding(&w->report, finding, stdout);
}

static void
on_progress(void *context, const struct scan_result *so_far)
{
	struct work *w = context;

	progress_step(&w->progress, so_far->bytes, w->total);
}

static uint64_t walked;

static int
add_size(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	if (kind == FTW_F)
		walked += (uint64_t)st->st_size;
	return 0;
}

static void
begin_progress(struct work *w)
{
	bool on = !w->args->quiet && terminal_redraws(STDERR_FILENO);
	int i;

	walked = 0;
	for (i = 0; on && i < w->args->n_paths; i++)
		nftw(w->args->paths[i], add_size, 64, FTW_PHYS);
	w->total = walked;
	progress_begin(&w->progress, on, "scanning");
}

/* 0, or -1 with a message: a path, or the canary. */
static int
scan_paths(struct work *w, char *err, size_t err_len)
{
	const struct args *args = w->args;
	int i, rc = 0;

	scanner_set_trees(w->scanner);
	scanner_set_calls(w->scanner, on_finding, on_progress, w);
	begin_progress(w);
	for (i = 0; i < args->n_paths && rc == 0; i++) {
		if (strcmp(args->paths[i], "-") == 0)
			rc = scanner_scan_fd(w->scanner, STDIN_FILENO, "(stdin)", w->result, err,
			    err_len);
		else
			rc = scanner_scan(w->scanner, args->paths[i], w->result, err, err_len);
	}
	progress_end(&w->progress);
	return rc;
}

static int
say(struct work *w)
{
	if (w->args->json)
		scan_report_json(&w->report, stdout);
	else if (w->args->sarif)
		scan_report_sarif(&w->report, stdout);
	else
		scan_report_text(&w->report, stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return scan_report_status(&w->report);
	shown_complain("%s: standard output: %s", w->defaults->program, strerror(errno));
	return USAGE_OR_IO;
}

static int
run(struct work *w)
{
	const size_t err_len = sizeof(w->err);
	char *err = w->err;
	int status = USAGE_OR_IO;

	snprintf(err, err_len, "out of memory");
	if (w->scanner == NULL || w->result == NULL ||
	    use_tags(w, err, err_len) != 0 || use_baseline(w, err, err_len) != 0)
		goto out;
	use_vault(w);
	w->report = (struct scan_report){ .program = w->defaults->program,
	    .result = w->result, .advisory = w->args->advisory, .colour = w->args->colour,
	    .commitment = w->tags != NULL ? w->commitment : NULL };
	if (scan_paths(w, err, err_len) != 0) {
		if (w->result->files == 0 && strstr(err, "canary") == NULL)
			goto out;
		w->report.why = err;
	}
	w->report.finding = w->kept;
	w->report.findings = w->n_kept;
	status = say(w);
	if (w->args->write_baseline == NULL || status == USAGE_OR_IO)
		return status;
	if (w->failed || scan_baseline_write(&w->baseline, w->args->write_baseline, err,
	    err_len) != 0)
		status = USAGE_OR_IO;
	else
		return status == 1 ? 0 : status;
out:
	shown_complain("%s: %s", w->defaults->program, err);
	return status;
}

int
scan_main(int argc, char **argv, const struct scan_defaults *defaults)
{
	struct args args;
	struct work w = { .args = &args, .defaults = defaults };
	int status;

	if ((status = parse(argc, argv, defaults, &args)) >= 0)
		return status;
	if (sodium_init() < 0)
		return USAGE_OR_IO;
	w.scanner = scanner_new();
	w.result = calloc(1, sizeof(*w.result));
	status = run(&w);
	scanner_free(w.scanner);
	scan_tags_free(w.tags);
	scan_baseline_free(&w.baseline);
	free(w.kept);
	free(w.result);
	return status;
}
