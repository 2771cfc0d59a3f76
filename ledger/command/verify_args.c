#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/command/options.h"
#include "ledger/command/verify_args.h"
#include "ledger/output/out_file.h"
#include "ledger/output/shown.h"
#include "ledger/output/terminal.h"

static const char help[] =
"Usage: %s [OPTION]... %s\n"
"\n"
"Verify evidence: one run's bundle (a directory, or FILE.tar.zst), or a whole\n"
"ledger (also while it is being written).  Offline; nothing is changed.\n"
"\n"
"  -k, --key=KEY        the log's public key: a file that holds its vkey, or the\n"
"                       vkey itself%s%s\n"
"      --trust=FILE     a trust policy instead of a key: logs, witnesses and their\n"
"                       quorum, time stamp authorities, freshness\n"
"      --epochs=FILE    a bundle: what GET /v1/ledger/epochs gave: how later keys\n"
"                       follow from the pinned one, further than the bundle says\n"
"      --head=FILE      a checkpoint that you saved before: the ledger must have\n"
"                       grown from it\n"
"      --save-head=FILE save this checkpoint, if it is good, for the next time\n"
"      --since=FILE     a ledger: verify what is new since that saved checkpoint;\n"
"                       what comes before was verified when it was saved; does\n"
"                       not look for secrets\n"
"      --truth=FILE     what an independent observer saw, to be held against the\n"
"                       records (again for more): an action without a record is a\n"
"                       gap; see countersign-coverage(1)\n"
"      --truth-window=MS  how far his clock may be from ours (default 2000)\n"
"      --no-scan        do not look for secrets in the files\n"
"      --tags=FILE      look for the secrets of this file of tags, too, which a\n"
"                       record of the evidence must name\n"
"  -j, --json           one JSON object instead of text\n"
"      --html=FILE      also write a page to be read in a browser, offline (- for\n"
"                       standard output, instead of text)\n"
"      --sarif=FILE     also write the findings as SARIF 2.1.0 (- for standard\n"
"                       output, instead of text)\n"
"      --no-progress    no bar on standard error, also on a terminal\n"
"      --threads=N      threads to hash with (default: processors, at most 4)\n"
"      --color=WHEN     always, never, auto (default: on a terminal)\n"
"  -h, --help\n"
"  -V, --version\n"
"\n"
"Exit status: 0 complete; 1 a gap, something altered, or a secret found; 2 not\n"
"established (say: no key given, not sealed, still open); 3 usage or I/O error.\n"
"\n"
"Without a key that you have from somewhere else than the evidence, nothing is\n"
"established.\n";

static int
usage(const struct verify_defaults *defaults)
{
	fprintf(stderr, "Try '%s --help'.\n", defaults->program);
	return EXIT_USAGE_OR_IO;
}

static void
print_help(const struct verify_defaults *defaults)
{
	const bool alone = defaults->path == NULL && defaults->no_path == NULL;

	printf(help, defaults->program, alone ? "BUNDLE|LEDGER" : "[BUNDLE|LEDGER]",
	    defaults->key != NULL ? " (default: " : "",
	    defaults->key != NULL ? "this home's ledger/log.vkey)" : "");
	if (alone)
		printf("\nAlso: %s proof | coverage | scan; each knows --help.\n",
		    defaults->program);
}

bool
verify_args_to_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

/* What is read must not be written over, nor one output by another.  A head
 * that is held against may be the one that is saved. */
static bool
outputs_clash(const struct verify_args *args)
{
	const char *const out[] = { args->html, args->sarif, args->save_head };
	const char *const in[] = { args->path, args->key, args->trust, args->tags,
	    args->epochs, args->head, args->since };
	size_t i, k;

	for (i = 0; i < 3; i++) {
		if (out_file_within(out[i], args->path))
			return true;
		for (k = 0; k < i; k++)
			if (out_file_same(out[i], out[k]))
				return true;
		for (k = 0; k < (i == 2 ? 5 : 7); k++)
			if (out_file_same(out[i], in[k]))
				return true;
		for (k = 0; k < args->truths; k++)
			if (out_file_same(out[i], args->truth[k]))
				return true;
	}
	return false;
}

/* Why these options cannot stand together; NULL: they can. */
static const char *
contradiction(const struct verify_args *args)
{
	if (args->key != NULL && args->trust != NULL)
		return "--key or --trust, not both: the policy names the keys";
	if (args->head != NULL && args->since != NULL)
		return "--since holds the ledger against its head already: no --head beside it";
	if (args->json + verify_args_to_stdout(args->html) + verify_args_to_stdout(args->sarif) +
	    verify_args_to_stdout(args->save_head) > 1)
		return "only one of them can go to standard output";
	if (args->truths > 0 && args->since != NULL)
		return "--truth is held against all records: no --since beside it";
	return NULL;
}

/* ---- options whose value is looked at ---- */

/* All would have to be read to look for secrets. */
static const char *
take_since(void *context, const char *value)
{
	struct verify_args *args = context;

	args->since = value;
	args->scan = false;
	return NULL;
}

_Static_assert(COVERAGE_SOURCES_MAX == 64 && COVERAGE_WINDOW_MAX_MS == 600000,
    "the messages say so");

static const char *
take_truth(void *context, const char *value)
{
	struct verify_args *args = context;

	if (args->truths == COVERAGE_SOURCES_MAX)
		return "--truth at most 64 times";
	args->truth[args->truths++] = value;
	return NULL;
}

static const char *
take_window(void *context, const char *value)
{
	struct verify_args *args = context;
	char *end;

	args->window_ms = strtol(value, &end, 10);
	return *value == '\0' || *end != '\0' || args->window_ms < 0 ||
	    args->window_ms > COVERAGE_WINDOW_MAX_MS ? "--truth-window takes 0 to 600000" : NULL;
}

static const char *
take_threads(void *context, const char *value)
{
	struct verify_args *args = context;
	char *end;

	args->threads = (unsigned)strtoul(value, &end, 10);
	return *end != '\0' || args->threads < 1 || args->threads > 16 ?
	    "--threads takes 1 to 16" : NULL;
}

static const char *
take_color(void *context, const char *value)
{
	struct verify_args *args = context;

	return terminal_colour_option(value, &args->colour) == 0 ? NULL :
	    "--color takes always, never or auto";
}

#define AT(member) offsetof(struct verify_args, member)

static const struct option_row options[] = {
	{ "key", 'k', OPTION_TEXT, AT(key), NULL },
	{ "trust", 0, OPTION_TEXT, AT(trust), NULL },
	{ "epochs", 0, OPTION_TEXT, AT(epochs), NULL },
	{ "head", 0, OPTION_TEXT, AT(head), NULL },
	{ "save-head", 0, OPTION_TEXT, AT(save_head), NULL },
	{ "since", 0, OPTION_TAKE, 0, take_since },
	{ "truth", 0, OPTION_TAKE, 0, take_truth },
	{ "truth-window", 0, OPTION_TAKE, 0, take_window },
	{ "no-scan", 0, OPTION_OFF, AT(scan), NULL },
	{ "tags", 0, OPTION_TEXT, AT(tags), NULL },
	{ "json", 'j', OPTION_ON, AT(json), NULL },
	{ "threads", 0, OPTION_TAKE, 0, take_threads },
	{ "color", 0, OPTION_TAKE, 0, take_color },
	{ "html", 0, OPTION_TEXT, AT(html), NULL },
	{ "sarif", 0, OPTION_TEXT, AT(sarif), NULL },
	{ "no-progress", 0, OPTION_ON, AT(quiet), NULL },
	{ "help", 'h', OPTION_HELP, 0, NULL },
	{ "version", 'V', OPTION_VERSION, 0, NULL },
	{ NULL, 0, OPTION_HELP, 0, NULL }
};

/* ---- the whole command line ---- */

static int
complain(const struct verify_defaults *defaults, const char *why, int status)
{
	shown_complain("%s: %s", defaults->program, why);
	return status;
}

/* What all of it says together: -1, or the status to leave with, behind a message. */
static int
judge_args(const struct verify_args *args, int operands, const struct verify_defaults *defaults)
{
	const char *why = contradiction(args);

	if (why == NULL && operands > 1)
		why = "one bundle or ledger at a time";
	if (why == NULL && args->path == NULL && defaults->no_path != NULL)
		return complain(defaults, defaults->no_path, defaults->no_path_status);
	if (why == NULL && args->path == NULL)
		why = "which bundle or ledger?";
	if (why == NULL && outputs_clash(args))
		why = "what is written would replace what is read or lie in the evidence, "
		    "or two outputs are one file";
	if (why == NULL)
		return -1;
	complain(defaults, why, 0);
	return usage(defaults);
}

int
verify_args_parse(int argc, char **argv, const struct verify_defaults *defaults,
    struct verify_args *args)
{
	const char *why;

	args->colour = terminal_colours(STDOUT_FILENO);
	switch (options_read(options, argc, argv, args, &why)) {
	case OPTIONS_READ:
		break;
	case OPTIONS_WRONG:
		return complain(defaults, why, EXIT_USAGE_OR_IO);
	case OPTIONS_UNKNOWN:
		return usage(defaults);
	case OPTIONS_HELP:
		print_help(defaults);
		return 0;
	case OPTIONS_VERSION:
		printf("%s %s\n", defaults->program, COUNTERSIGN_VERSION);
		return 0;
	}
	args->path = optind < argc ? argv[optind] : defaults->path;
	return judge_args(args, argc - optind, defaults);
}
