#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/command/verify_args.h"
#include "ledger/output/out_file.h"
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
	printf(help, defaults->program, defaults->path != NULL || defaults->no_path != NULL ?
	    "[BUNDLE|LEDGER]" : "BUNDLE|LEDGER",
	    defaults->key != NULL ? " (default: " : "",
	    defaults->key != NULL ? "this home's ledger/log.vkey)" : "");
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
	    args->head, args->since };
	size_t i, k;

	for (i = 0; i < 3; i++) {
		for (k = 0; k < i; k++)
			if (out_file_same(out[i], out[k]))
				return true;
		for (k = 0; k < (i == 2 ? 4 : 6); k++)
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

int
verify_args_parse(int argc, char **argv, const struct verify_defaults *defaults,
    struct verify_args *args)
{
	enum { TRUST = 255, HEAD, SAVE_HEAD, SINCE, TRUTH, WINDOW, NO_SCAN, TAGS, THREADS, COLOR,
	    HTML, SARIF, NO_PROGRESS };
	static const struct option options[] = {
		{ "key", required_argument, NULL, 'k' },
		{ "trust", required_argument, NULL, TRUST },
		{ "head", required_argument, NULL, HEAD },
		{ "save-head", required_argument, NULL, SAVE_HEAD },
		{ "since", required_argument, NULL, SINCE },
		{ "truth", required_argument, NULL, TRUTH },
		{ "truth-window", required_argument, NULL, WINDOW },
		{ "no-scan", no_argument, NULL, NO_SCAN },
		{ "tags", required_argument, NULL, TAGS },
		{ "json", no_argument, NULL, 'j' },
		{ "threads", required_argument, NULL, THREADS },
		{ "color", required_argument, NULL, COLOR },
		{ "html", required_argument, NULL, HTML },
		{ "sarif", required_argument, NULL, SARIF },
		{ "no-progress", no_argument, NULL, NO_PROGRESS },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	const char *why;
	char *end;
	int c;

	args->colour = terminal_colours(STDOUT_FILENO);
	optind = 1;
	while ((c = getopt_long(argc, argv, "k:jhV", options, NULL)) != -1) {
		switch (c) {
		case 'k':
			args->key = optarg;
			break;
		case TRUST:
			args->trust = optarg;
			break;
		case HEAD:
			args->head = optarg;
			break;
		case SAVE_HEAD:
			args->save_head = optarg;
			break;
		case SINCE:
			args->since = optarg;
			args->scan = false;	/* it would read all */
			break;
		case TRUTH:
			if (args->truths == COVERAGE_SOURCES_MAX) {
				fprintf(stderr, "%s: --truth at most %d times\n",
				    defaults->program, COVERAGE_SOURCES_MAX);
				return EXIT_USAGE_OR_IO;
			}
			args->truth[args->truths++] = optarg;
			break;
		case WINDOW:
			args->window_ms = strtol(optarg, &end, 10);
			if (*optarg == '\0' || *end != '\0' || args->window_ms < 0 ||
			    args->window_ms > COVERAGE_WINDOW_MAX_MS) {
				fprintf(stderr, "%s: --truth-window takes 0 to %d\n",
				    defaults->program, COVERAGE_WINDOW_MAX_MS);
				return EXIT_USAGE_OR_IO;
			}
			break;
		case TAGS:
			args->tags = optarg;
			break;
		case NO_SCAN:
			args->scan = false;
			break;
		case 'j':
			args->json = true;
			break;
		case THREADS:
			args->threads = (unsigned)strtoul(optarg, &end, 10);
			if (*end != '\0' || args->threads < 1 || args->threads > 16) {
				fprintf(stderr, "%s: --threads takes 1 to 16\n", defaults->program);
				return EXIT_USAGE_OR_IO;
			}
			break;
		case COLOR:
			if (terminal_colour_option(optarg, &args->colour) != 0) {
				fprintf(stderr, "%s: --color takes always, never or auto\n",
				    defaults->program);
				return EXIT_USAGE_OR_IO;
			}
			break;
		case HTML:
			args->html = optarg;
			break;
		case SARIF:
			args->sarif = optarg;
			break;
		case NO_PROGRESS:
			args->quiet = true;
			break;
		case 'h':
			print_help(defaults);
			return 0;
		case 'V':
			printf("%s %s\n", defaults->program, COUNTERSIGN_VERSION);
			return 0;
		default:
			return usage(defaults);
		}
	}
	if ((why = contradiction(args)) != NULL) {
		fprintf(stderr, "%s: %s\n", defaults->program, why);
		return usage(defaults);
	}
	if (argc - optind > 1) {
		fprintf(stderr, "%s: one bundle or ledger at a time\n", defaults->program);
		return usage(defaults);
	}
	args->path = optind < argc ? argv[optind] : defaults->path;
	if (args->path == NULL && defaults->no_path != NULL) {
		fprintf(stderr, "%s: %s\n", defaults->program, defaults->no_path);
		return defaults->no_path_status;
	}
	if (args->path == NULL) {
		fprintf(stderr, "%s: which bundle or ledger?\n", defaults->program);
		return usage(defaults);
	}
	if (outputs_clash(args)) {
		fprintf(stderr, "%s: what is written would replace what is read, or two "
		    "outputs are one file\n", defaults->program);
		return usage(defaults);
	}
	return -1;
}
