#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/bundle/archive.h"
#include "ledger/bundle/manifest.h"
#include "ledger/coverage/coverage_main.h"
#include "ledger/coverage/import.h"
#include "ledger/evidence.h"
#include "ledger/record.h"
#include "ledger/report/covered.h"
#include "ledger/report/report.h"
#include "ledger/scan/scan.h"
#include "ledger/shown.h"

enum { EXIT_USAGE_OR_IO = 3 };

static const char import_help[] =
"Make a file of ground truth of a log that somebody else keeps: what a service,\n"
"or the network, saw.  LOG is a file, or - or nothing for standard input.\n"
"\n"
"Options:\n"
"      --format=FORMAT   combined (also the common log format; the default), json\n"
"                        (an object a line), or egress (time host port [protocol])\n"
"      --source=NAME     whose log it is, such as nginx; default the format's name\n"
"      --instance=NAME   which one of several\n"
"      --base=URL        the service's URL, for logs that do not name the host\n"
"      --field=WHAT=NAME json: the member that is the time, verb, target, host,\n"
"                        outcome, client or id, such as time=ts or\n"
"                        target=request.uri; again for more\n"
"      --client=ADDRESS  take the lines of that client only; again for more\n"
"      --resolve=ADDRESS=HOST  egress: what an address is called in the ledger\n"
"      --exhaustive      the log misses nothing of what it sees: a recorded request\n"
"                        that is not in it is reported\n"
"      --from=TIME, --to=TIME  from when to when it does, in UTC, such as\n"
"                        2026-11-30T01:02:21.000000Z\n"
"  -o, --output=FILE     default standard output\n"
"  -h, --help\n"
"\n"
"Queries are dropped: they may hold secrets.  Exit status: 0; 2 lines were not\n"
"understood, and the file says how many; 3 usage or I/O error.\n";

static const char reconcile_help[] =
"Hold what independent observers saw against the records of a run: each action\n"
"must have a record of its own that let it through.\n"
"\n"
"Options:\n"
"      --truth=FILE      ground truth (coverage import makes it); again for more\n"
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

static int
complain(const struct coverage_defaults *d, const char *command, const char *what)
{
	fprintf(stderr, "%s coverage %s: %s\n", d->program, command, what);
	return EXIT_USAGE_OR_IO;
}

static int
usage(const struct coverage_defaults *d, const char *command)
{
	fprintf(stderr, "Try '%s coverage %s --help'.\n", d->program, command);
	return EXIT_USAGE_OR_IO;
}

static int
print_help(const struct coverage_defaults *d, const char *command, const char *text)
{
	const char *operands = d->evidence != NULL ? "[RUN|BUNDLE|LEDGER]" : "BUNDLE|LEDGER";

	if (strcmp(command, "import") == 0)
		operands = "[LOG]";
	printf("Usage: %s coverage %s %s[OPTION]... %s\n\n%s", d->program, command,
	    strcmp(command, "reconcile") == 0 ? "--truth=FILE... " : "", operands, text);
	return 0;
}

/* ---- import ---- */

struct import_args {
	struct import_options options;
	const char *log, *output;
};

static int
set_field(struct import_options *o, const char *text)
{
	for (unsigned i = 0; i < IMPORT_FIELDS; i++) {
		const char *name = import_field_name(i);
		const size_t len = strlen(name);

		if (strncmp(text, name, len) == 0 && text[len] == '=') {
			o->field[i] = text + len + 1;
			return 0;
		}
	}
	return -1;
}

static int
set_format(struct import_options *o, const char *text)
{
	static const char *const names[] = { "combined", "json", "egress" };

	for (unsigned i = 0; i < 3; i++)
		if (strcmp(text, names[i]) == 0) {
			o->format = i;
			return 0;
		}
	return -1;
}

static int
add_text(const char *list[IMPORT_LIST_MAX], size_t *n, const char *text)
{
	if (*n == IMPORT_LIST_MAX)
		return -1;
	list[(*n)++] = text;
	return 0;
}

static bool
time_ok(const char *text)
{
	int64_t time_us;

	return text == NULL || (strlen(text) == RECORD_TIME_LEN &&
	    record_time_parse(text, &time_us) == 0);
}

static const char *
check_import(struct import_args *a)
{
	struct import_options *o = &a->options;
	static const char *const names[] = { "combined", "json", "egress" };

	if (o->source == NULL)
		o->source = names[o->format];
	if (!record_name_valid(o->source, strlen(o->source)) || (o->instance != NULL &&
	    !record_name_valid(o->instance, strlen(o->instance))))
		return "--source and --instance take 1 to 64 letters, digits and -._:/@+";
	for (size_t i = 0; i < o->resolves; i++)
		if (strchr(o->resolve[i], '=') == NULL)
			return "--resolve takes ADDRESS=HOST";
	if (!time_ok(o->from) || !time_ok(o->to))
		return "--from and --to take a time such as 2026-11-30T01:02:21.000000Z";
	if (o->from != NULL && o->to != NULL && strcmp(o->from, o->to) > 0)
		return "--from is later than --to";
	return NULL;
}

/* NULL, or what is wrong; "": usage was said already. */
static const char *
import_option(struct import_args *a, int c)
{
	struct import_options *o = &a->options;

	switch (c) {
	case 'f':
		return set_format(o, optarg) == 0 ? NULL :
		    "--format takes combined, json or egress";
	case 's':
		o->source = optarg;
		return NULL;
	case 'i':
		o->instance = optarg;
		return NULL;
	case 'b':
		o->base = optarg;
		return NULL;
	case 'F':
		return set_field(o, optarg) == 0 ? NULL :
		    "--field takes time, verb, target, host, outcome, client or id, =NAME";
	case 'c':
		return add_text(o->client, &o->clients, optarg) == 0 ? NULL :
		    "--client at most 64 times";
	case 'r':
		return add_text(o->resolve, &o->resolves, optarg) == 0 ? NULL :
		    "--resolve at most 64 times";
	case 'e':
		o->exhaustive = true;
		return NULL;
	case 'B':
		o->from = optarg;
		return NULL;
	case 'E':
		o->to = optarg;
		return NULL;
	case 'o':
		a->output = optarg;
		return NULL;
	default:
		return "";
	}
}

static const struct option import_options[] = {
	{ "format", required_argument, NULL, 'f' }, { "source", required_argument, NULL, 's' },
	{ "instance", required_argument, NULL, 'i' }, { "base", required_argument, NULL, 'b' },
	{ "field", required_argument, NULL, 'F' }, { "client", required_argument, NULL, 'c' },
	{ "resolve", required_argument, NULL, 'r' }, { "exhaustive", no_argument, NULL, 'e' },
	{ "from", required_argument, NULL, 'B' }, { "to", required_argument, NULL, 'E' },
	{ "output", required_argument, NULL, 'o' }, { "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

/* -1: go on; else the status to leave with. */
static int
parse_import(int argc, char **argv, const struct coverage_defaults *d,
    struct import_args *a)
{
	const char *why = NULL;
	int c;

	optind = 1;
	while (why == NULL && (c = getopt_long(argc, argv, "o:h", import_options, NULL)) != -1) {
		if (c == 'h')
			return print_help(d, "import", import_help);
		why = import_option(a, c);
	}
	if (why == NULL && argc - optind > 1)
		why = "one log at a time";
	if (why == NULL)
		why = check_import(a);
	if (why != NULL) {
		if (why[0] != '\0')
			complain(d, "import", why);
		return usage(d, "import");
	}
	a->log = optind < argc && strcmp(argv[optind], "-") != 0 ? argv[optind] : NULL;
	return -1;
}

static int
say_import(const struct coverage_defaults *d, const struct import_result *r)
{
	fprintf(stderr, "%s coverage import: %" PRIu64 " action%s", d->program, r->taken,
	    r->taken == 1 ? "" : "s");
	if (r->left_out > 0)
		fprintf(stderr, ", %" PRIu64 " line%s left out", r->left_out,
		    r->left_out == 1 ? "" : "s");
	if (r->unread > 0)
		fprintf(stderr, ", %" PRIu64 " not understood; the first is line %" PRIu64
		    ", which should be %s", r->unread, r->first_unread, r->why);
	putc('\n', stderr);
	return r->unread > 0 ? 2 : 0;
}

static int
import_command(int argc, char **argv, const struct coverage_defaults *d)
{
	struct import_args a = { .options = { .format = IMPORT_COMBINED } };
	struct import_result result;
	char err[256] = "";
	FILE *in = stdin, *out = stdout;
	int status = parse_import(argc, argv, d, &a);

	if (status >= 0)
		return status;
	status = EXIT_USAGE_OR_IO;
	if (a.log != NULL && (in = fopen(a.log, "re")) == NULL) {
		fprintf(stderr, "%s coverage import: %s: %s\n", d->program, a.log, strerror(errno));
	} else if (a.output != NULL && (out = fopen(a.output, "wxe")) == NULL) {
		fprintf(stderr, "%s coverage import: %s: %s\n", d->program, a.output,
		    strerror(errno));
	} else if (import_run(in, &a.options, out, &result, err, sizeof(err)) != 0) {
		complain(d, "import", err);
	} else {
		status = say_import(d, &result);
	}
	if (in != NULL && in != stdin)
		fclose(in);
	if (out != NULL && out != stdout && fclose(out) != 0 && status != EXIT_USAGE_OR_IO) {
		fprintf(stderr, "%s coverage import: %s: %s\n", d->program, a.output,
		    strerror(errno));
		status = EXIT_USAGE_OR_IO;
	}
	return status;
}

/* ---- reconcile, show ---- */

struct args {
	const char *command, *path;
	const char *truth[COVERAGE_SOURCES_MAX];
	size_t truths;
	long window_ms;
	bool json;
};

static int
judge_option(struct args *a, int c)
{
	char *end;

	switch (c) {
	case 't':
		if (a->truths == COVERAGE_SOURCES_MAX)
			return -1;
		a->truth[a->truths++] = optarg;
		return 0;
	case 'w':
		a->window_ms = strtol(optarg, &end, 10);
		return *optarg == '\0' || *end != '\0' || a->window_ms < 0 ||
		    a->window_ms > COVERAGE_WINDOW_MAX_MS ? -1 : 0;
	case 'j':
		a->json = true;
		return 0;
	default:
		return -1;
	}
}

/* -1: go on; else the status to leave with. */
static int
parse(int argc, char **argv, const struct coverage_defaults *d, struct args *a)
{
	static const struct option all[] = {
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' },
		{ "truth", required_argument, NULL, 't' },
		{ "window", required_argument, NULL, 'w' }, { NULL, 0, NULL, 0 }
	}, of_show[] = {
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	const bool show = strcmp(a->command, "show") == 0;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "jh", show ? of_show : all, NULL)) != -1) {
		if (c == 'h')
			return print_help(d, a->command, show ? show_help : reconcile_help);
		if (judge_option(a, c) != 0) {
			if (c != '?')
				complain(d, a->command, c == 'w' ? "--window takes 0 to 600000" :
				    "--truth at most 64 times");
			return usage(d, a->command);
		}
	}
	if (argc - optind > 1 || (!show && a->truths == 0)) {
		complain(d, a->command, argc - optind > 1 ? "one run, bundle or ledger at a time" :
		    "what was seen? (--truth)");
		return usage(d, a->command);
	}
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
	complain(d, a->command, "which bundle or ledger?");
	*status = usage(d, a->command);
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
	covered_json_findings(r, &o);
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
		fprintf(stderr, "%s coverage %s: without the vault's secrets: %s\n", d->program,
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
	struct manifest manifest;
	struct coverage_options options = { .shown = shown_text, .shown_context = scanner, .dir = dir, .run = run_of(dir, &manifest),
	    .truth = a->truth, .truths = a->truths, .window_ms = a->window_ms };
	int status = EXIT_USAGE_OR_IO;

	snprintf(err, err_len, "out of memory");
	if (r != NULL && scanner != NULL && coverage_judge(&options, r, &c, err, err_len) == 0) {
		snprintf(err, err_len, "standard output: cannot be written");
		if (a->json)
			status = put_json(c, r) == 0 ? 0 : EXIT_USAGE_OR_IO;
		else
			put_text(a, c, r);
		if (fflush(stdout) == 0 && !ferror(stdout) && !(a->json && status != 0))
			status = strcmp(a->command, "show") == 0 ? 0 : (int)c->verdict;
	}
	coverage_free(c);
	scanner_free(scanner);
	manifest_free(&manifest);
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
		complain(d, a.command, err);
	tempdir_remove(&unpacked);
	return status;
}

int
coverage_main(int argc, char **argv, const struct coverage_defaults *d)
{
	if (sodium_init() < 0)
		return EXIT_USAGE_OR_IO;
	if (argc > 0 && strcmp(argv[0], "import") == 0)
		return import_command(argc, argv, d);
	if (argc > 0 && (strcmp(argv[0], "reconcile") == 0 || strcmp(argv[0], "show") == 0))
		return judge_command(argc, argv, d);
	fprintf(stderr, "Usage: %s coverage import|reconcile|show --help\n", d->program);
	return EXIT_USAGE_OR_IO;
}
