#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/command/main_impl.h"
#include "ledger/coverage/import.h"
#include "ledger/record/record.h"

static const char import_help[] =
"Make a file of ground truth of a log that somebody else keeps: what a service,\n"
"or the network, saw.  LOG is a file, or - or nothing for standard input.\n"
"\n"
"Options:\n"
"      --format=FORMAT   combined (also the common log format; the default), json\n"
"                        (an object a line), egress (time host port [protocol]),\n"
"                        or conntrack (-E -o timestamp, or TZ=UTC conntrack -L\n"
"                        -o ktimestamp)\n"
"      --source=NAME     whose log it is, such as nginx; default the format's name\n"
"      --instance=NAME   which one of several\n"
"      --base=URL        the service's URL, for logs that do not name the host\n"
"      --field=WHAT=NAME json: the member that is the time, verb, target, host,\n"
"                        outcome, client or id, such as time=ts or\n"
"                        target=request.uri; again for more\n"
"      --client=ADDRESS  take the lines of that client only; again for more\n"
"      --resolve=ADDRESS=HOST  of networks: what an address is called in the ledger\n"
"      --exhaustive      the log misses nothing of what it sees: a recorded request\n"
"                        that is not in it is reported\n"
"      --from=TIME, --to=TIME  from when to when it does, in UTC, such as\n"
"                        2026-11-30T01:02:21.000000Z\n"
"      --sign=KEYFILE    sign it (coverage key makes the key); with --exhaustive,\n"
"                        --from and --to, which is what is signed for\n"
"  -o, --output=FILE     default standard output\n"
"  -h, --help\n"
"\n"
"Queries are dropped: they may hold secrets.  Exit status: 0; 2 lines were not\n"
"understood, and the file says how many; 3 usage or I/O error.\n";

struct import_args {
	struct import_options options;
	const char *log, *output, *sign;
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

static const char *const formats[IMPORT_FORMATS] = { "combined", "json", "egress", "conntrack" };

static int
set_format(struct import_options *o, const char *text)
{
	for (unsigned i = 0; i < IMPORT_FORMATS; i++)
		if (strcmp(text, formats[i]) == 0) {
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

	if (o->source == NULL)
		o->source = formats[o->format];
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
		    "--format takes combined, json, egress or conntrack";
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
	case 'k':
		a->sign = optarg;
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
	{ "sign", required_argument, NULL, 'k' }, { "output", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
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
			return coverage_help(d, "import", "[OPTION]... [LOG]", import_help);
		why = import_option(a, c);
	}
	if (why == NULL && argc - optind > 1)
		why = "one log at a time";
	if (why == NULL)
		why = check_import(a);
	if (why != NULL) {
		if (why[0] != '\0')
			coverage_complain(d, "import", why);
		return coverage_usage(d, "import");
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

/* What came of it, signed where that is wanted, into its place. */
static int
finish(const struct coverage_defaults *d, const struct import_args *a, const char *text,
    size_t len, const struct import_result *result)
{
	const int status = a->sign == NULL ? coverage_put(d, "import", a->output, text, len) :
	    coverage_put_signed(d, "import", a->sign, a->output, text, len);

	return status == 0 ? say_import(d, result) : status;
}

int
coverage_import(int argc, char **argv, const struct coverage_defaults *d)
{
	struct import_args a = { .options = { .format = IMPORT_COMBINED } };
	struct import_result result;
	char err[256] = "", *text = NULL;
	size_t len = 0;
	FILE *in = stdin, *out = NULL;
	int status = parse_import(argc, argv, d, &a);

	if (status >= 0)
		return status;
	status = EXIT_USAGE_OR_IO;
	if (a.log != NULL && (in = fopen(a.log, "re")) == NULL)
		fprintf(stderr, "%s coverage import: %s: %s\n", d->program, a.log, strerror(errno));
	else if ((out = open_memstream(&text, &len)) == NULL)
		coverage_complain(d, "import", "out of memory");
	else if (import_run(in, &a.options, out, &result, err, sizeof(err)) != 0)
		coverage_complain(d, "import", err);
	else
		status = 0;
	if (in != NULL && in != stdin)
		fclose(in);
	if (out != NULL)
		fclose(out);
	if (status == 0)
		status = finish(d, &a, text, len, &result);
	free(text);
	return status;
}
