#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/anchor/trust.h"
#include "ledger/bundle/archive.h"
#include "ledger/command/main_impl.h"
#include "ledger/command/options.h"
#include "ledger/evidence/evidence.h"
#include "ledger/evidence/manifest.h"
#include "ledger/output/shown.h"
#include "ledger/report/covered.h"
#include "ledger/report/report.h"
#include "ledger/scan/scan.h"

static const char reconcile_help[] =
"Hold what independent observers saw against the records of a run: each action\n"
"must have a record of its own that let it through.\n"
"\n"
"Options:\n"
"      --truth=FILE      ground truth (coverage import makes it); again for more\n"
"      --trust=FILE      a trust policy: observers whose signature counts, how many\n"
"      --window=MS       how far the observer's clock may be from ours (2000)\n"
"  -j, --json            one JSON object instead of text\n"
"  -h, --help\n"
"\n"
"The records are taken as they are: verify --truth also verifies them.  Exit\n"
"status: 0 each has its record; 1 one has none; 2 not established; 3 usage or\n"
"I/O error.\n";

static const char show_help[] =
"What the adapters of a run say that they see, cannot see, and leave out.\n"
"\n"
"Options:\n"
"  -j, --json            one JSON object instead of text\n"
"  -h, --help\n";

/* ---- what the commands share ---- */

int
coverage_complain(const struct coverage_defaults *d, const char *command, const char *what)
{
	shown_complain("%s coverage %s: %s", d->program, command, what);
	return EXIT_USAGE_OR_IO;
}

int
coverage_usage(const struct coverage_defaults *d, const char *command)
{
	fprintf(stderr, "Try '%s coverage %s --help'.\n", d->program, command);
	return EXIT_USAGE_OR_IO;
}

int
coverage_help(const struct coverage_defaults *d, const char *command, const char *operands,
    const char *text)
{
	printf("Usage: %s coverage %s %s\n\n%s", d->program, command, operands, text);
	return 0;
}

/* ---- reconcile, show ---- */

struct args {
	const char *command, *path, *trust;
	const char *truth[COVERAGE_SOURCES_MAX];
	size_t truths;
	long window_ms;
	bool json;
};

_Static_assert(COVERAGE_SOURCES_MAX == 64 && COVERAGE_WINDOW_MAX_MS == 600000,
    "the messages say so");

static const char *
take_truth(void *context, const char *value)
{
	struct args *a = context;

	if (a->truths == COVERAGE_SOURCES_MAX)
		return "--truth at most 64 times";
	a->truth[a->truths++] = value;
	return NULL;
}

static const char *
take_window(void *context, const char *value)
{
	struct args *a = context;
	char *end;

	a->window_ms = strtol(value, &end, 10);
	return *value == '\0' || *end != '\0' || a->window_ms < 0 ||
	    a->window_ms > COVERAGE_WINDOW_MAX_MS ? "--window takes 0 to 600000" : NULL;
}

/* What show takes stands behind what only reconcile takes. */
static const struct option_row reconcile_options[] = {
	{ "truth", 0, OPTION_TAKE, 0, take_truth },
	{ "trust", 0, OPTION_TEXT, offsetof(struct args, trust), NULL },
	{ "window", 0, OPTION_TAKE, 0, take_window },
	{ "json", 'j', OPTION_ON, offsetof(struct args, json), NULL },
	{ "help", 'h', OPTION_HELP, 0, NULL },
	{ NULL, 0, OPTION_HELP, 0, NULL }
}, *const show_options = &reconcile_options[3];

static int
help(const struct coverage_defaults *d, const char *command)
{
	const bool any = d->evidence != NULL;

	if (strcmp(command, "show") == 0)
		return coverage_help(d, command, any ? "[OPTION]... [RUN|BUNDLE|LEDGER]" :
		    "[OPTION]... BUNDLE|LEDGER", show_help);
	return coverage_help(d, command, any ? "--truth=FILE... [OPTION]... [RUN|BUNDLE|LEDGER]" :
	    "--truth=FILE... [OPTION]... BUNDLE|LEDGER", reconcile_help);
}

/* -1: go on; else the status to leave with. */
static int
parse(int argc, char **argv, const struct coverage_defaults *d, struct args *a)
{
	const bool show = strcmp(a->command, "show") == 0;
	const char *why;
	const enum options_status got = options_read(show ? show_options : reconcile_options,
	    argc, argv, a, &why);

	if (got == OPTIONS_HELP)
		return help(d, a->command);
	if (got == OPTIONS_READ && argc - optind > 1)
		why = "one run, bundle or ledger at a time";
	else if (got == OPTIONS_READ && !show && a->truths == 0 && a->trust == NULL)
		why = "what was seen? (--truth, or --trust for what a bundle has)";
	if (why != NULL)
		coverage_complain(d, a->command, why);
	if (why != NULL || got == OPTIONS_UNKNOWN)
		return coverage_usage(d, a->command);
	a->path = optind < argc ? argv[optind] : NULL;
	return -1;
}

/* The evidence's place; NULL and the status. */
static const char *
find_evidence(const struct coverage_defaults *d, const struct args *a, int *status)
{
	if (a->path != NULL && (d->evidence == NULL || access(a->path, F_OK) == 0))
		return a->path;
	if (d->evidence != NULL)
		return d->evidence(a->path, status);
	coverage_complain(d, a->command, "which bundle or ledger?");
	*status = coverage_usage(d, a->command);
	return NULL;
}

static void
put_findings(const struct verify_result *r, FILE *out)
{
	for (unsigned i = 0; i < r->findings; i++) {
		const struct verify_finding *f = &r->finding[i];

		fprintf(out, "  %s: ", f->code);
		if (f->line != 0)
			fprintf(out, "line %" PRIu64 " of %s: ", f->line, f->file);
		else if (f->has_index)
			fprintf(out, "record %" PRIu64 ": ", f->index);
		shown_put(out, f->what, sizeof(f->what));
		putc('\n', out);
	}
	if (r->finding_count > r->findings)
		fprintf(out, "  and %" PRIu64 " more\n", r->finding_count - r->findings);
}

static void
put_text(const struct args *a, const struct coverage *c, const struct verify_result *r)
{
	if (strcmp(a->command, "show") == 0) {
		covered_details(c, stdout);
		return;
	}
	printf("coverage: %s: %s\n", c->verdict == VERIFY_NOT_ESTABLISHED ? "not established" :
	    verify_verdict_word(c->verdict), r->coverage.text);
	put_findings(r, stdout);
	covered_text(c, stdout);
}

static int
put_json(const struct coverage *c, const struct verify_result *r)
{
	const size_t room = 16 * 1024 * 1024;
	char *buf = malloc(room);
	struct json_out o;
	int n;

	if (buf == NULL)
		return -1;
	json_out_begin(&o, buf, room);
	json_out_object(&o, NULL);
	json_out_str(&o, "text", r->coverage.text);
	covered_json(c, &o);
	report_json_findings(r, &o);
	json_out_object_end(&o);
	if ((n = json_out_end(&o)) > 0)
		printf("%s\n", buf);
	free(buf);
	return n > 0 ? 0 : -1;
}

static const char *
run_of(const char *dir, struct manifest *manifest)
{
	int dirfd = evidence_dir(dir);
	char err[160], *text;
	size_t len;

	memset(manifest, 0, sizeof(*manifest));
	text = dirfd < 0 ? NULL : evidence_read(dirfd, "manifest.json", MANIFEST_MAX, &len);
	if (dirfd >= 0)
		close(dirfd);
	if (text != NULL && manifest_parse(manifest, text, len, err, sizeof(err)) != 0)
		manifest->run[0] = '\0';
	free(text);
	return manifest->run;
}

static const char *
shown_text(void *scanner, const char *text)
{
	return scanner_shown_name(scanner, text);
}

/* What a truth says may hold a secret of the vault, or what looks like one. */
static struct scanner *
make_scanner(const struct coverage_defaults *d, const struct args *a)
{
	struct scanner *scanner = scanner_new();
	char why[256] = "";

	if (scanner != NULL && a->truths > 0 && d->secrets != NULL &&
	    d->secrets(NULL, scanner, why, sizeof(why)) != 0)
		shown_complain("%s coverage %s: without the vault's secrets: %s", d->program,
		    a->command, why);
	return scanner;
}

/* What was found, without a verification of the records. */
static int
judge(const struct coverage_defaults *d, const struct args *a, const char *dir, char *err,
    size_t err_len)
{
	struct verify_result *r = calloc(1, sizeof(*r));
	struct scanner *scanner = make_scanner(d, a);
	struct coverage *c = NULL;
	struct trust *trust = NULL;
	struct manifest manifest;
	struct coverage_options options = { .shown = shown_text, .shown_context = scanner,
	    .dir = dir, .run = run_of(dir, &manifest), .truth = a->truth, .truths = a->truths, .window_ms = a->window_ms,
	    .now_us = (int64_t)time(NULL) * 1000000 };
	int status = EXIT_USAGE_OR_IO;

	snprintf(err, err_len, "out of memory");
	if (a->trust != NULL && (trust = trust_load(a->trust, err, err_len)) == NULL)
		goto out;
	if (trust != NULL) {
		options.observer = trust->observer;
		options.observers = trust->observers;
		options.observed = trust->observed;
	}
	if (r != NULL && scanner != NULL && coverage_judge(&options, r, &c, err, err_len) == 0) {
		snprintf(err, err_len, "standard output: cannot be written");
		if (a->json)
			status = put_json(c, r) == 0 ? 0 : EXIT_USAGE_OR_IO;
		else
			put_text(a, c, r);
		if (fflush(stdout) == 0 && !ferror(stdout) && !(a->json && status != 0))
			status = strcmp(a->command, "show") == 0 ? 0 : (int)c->verdict;
	}
out:
	coverage_free(c);
	scanner_free(scanner);
	manifest_free(&manifest);
	free(trust);
	free(r);
	return status;
}

static int
judge_command(int argc, char **argv, const struct coverage_defaults *d)
{
	struct args a = { .command = argv[0], .window_ms = COVERAGE_WINDOW_MS };
	struct tempdir unpacked = { .dirfd = -1 };
	char err[512] = "";
	const char *path;
	int status = parse(argc, argv, d, &a);

	if (status >= 0)
		return status;
	status = EXIT_USAGE_OR_IO;
	if ((path = find_evidence(d, &a, &status)) == NULL)
		return status;
	if (archive_is(path) && archive_unpack(path, &unpacked, err, sizeof(err)) != ARCHIVE_GOOD)
		path = NULL;
	else if (unpacked.dirfd >= 0)
		path = unpacked.path;
	status = path == NULL ? EXIT_USAGE_OR_IO : judge(d, &a, path, err, sizeof(err));
	if (status == EXIT_USAGE_OR_IO)
		coverage_complain(d, a.command, err);
	tempdir_remove(&unpacked);
	return status;
}

int
coverage_main(int argc, char **argv, const struct coverage_defaults *d)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv, const struct coverage_defaults *defaults);
	} all[] = {
		{ "import", coverage_import }, { "key", coverage_key }, { "sign", coverage_sign },
		{ "reconcile", judge_command }, { "show", judge_command },
	};
	bool asked;

	if (sodium_init() < 0)
		return EXIT_USAGE_OR_IO;
	for (size_t i = 0; argc > 0 && i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(argv[0], all[i].name) == 0)
			return all[i].run(argc, argv, d);
	asked = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
	fprintf(asked ? stdout : stderr,
	    "Usage: %s coverage import|key|sign|reconcile|show --help\n", d->program);
	return asked ? 0 : EXIT_USAGE_OR_IO;
}
