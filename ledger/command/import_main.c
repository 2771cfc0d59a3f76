#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ledger/command/main_impl.h"
#include "ledger/command/options.h"
#include "ledger/coverage/import.h"
#include "ledger/output/shown.h"
#include "ledger/record/record.h"
#include "ledger/input.h"

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
"      --protocol=NAME   of networks: take that protocol only, such as tcp or udp, and\n"
"                        say that it is seen; again for more\n"
"      --exhaustive      the log misses nothing of what it sees: a recorded request\n"
"                        that is not in it is reported\n"
"      --from=TIME, --to=TIME  from when to when it does, in UTC, such as\n"
"                        2026-11-30T01:02:21.000000Z; --to is over\n"
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

static const char *const formats[IMPORT_FORMATS] = { "combined", "json", "egress", "conntrack" };

/* ---- options whose value is looked at ---- */

static const char *
take_format(void *args, const char *value)
{
	for (unsigned i = 0; i < IMPORT_FORMATS; i++)
		if (strcmp(value, formats[i]) == 0) {
			((struct import_args *)args)->options.format = i;
			return NULL;
		}
	return "--format takes combined, json, egress or conntrack";
}

static const char *
take_field(void *args, const char *value)
{
	for (unsigned i = 0; i < IMPORT_FIELDS; i++) {
		const char *name = import_field_name(i);
		const size_t len = strlen(name);

		if (strncmp(value, name, len) == 0 && value[len] == '=') {
			((struct import_args *)args)->options.field[i] = value + len + 1;
			return NULL;
		}
	}
	return "--field takes time, verb, target, host, outcome, client or id, =NAME";
}

static const char *
take_client(void *args, const char *value)
{
	struct import_options *o = &((struct import_args *)args)->options;

	if (o->clients == IMPORT_LIST_MAX)
		return "--client at most 64 times";
	o->client[o->clients++] = value;
	return NULL;
}

static const char *
take_resolve(void *args, const char *value)
{
	struct import_options *o = &((struct import_args *)args)->options;

	if (o->resolves == IMPORT_LIST_MAX)
		return "--resolve at most 64 times";
	o->resolve[o->resolves++] = value;
	return NULL;
}

static const char *
take_protocol(void *args, const char *value)
{
	struct import_options *o = &((struct import_args *)args)->options;

	if (o->protocols == IMPORT_PROTOCOLS_MAX)
		return "--protocol at most 32 times";
	if (!act_kind_valid(value) || strcmp(value, "http") == 0 || strcmp(value, "connect") == 0)
		return "--protocol takes one of a network, such as tcp, udp or icmp";
	o->protocol[o->protocols++] = value;
	return NULL;
}

#define AT(member) offsetof(struct import_args, member)

static const struct option_row options[] = {
	{ "format", 0, OPTION_TAKE, 0, take_format },
	{ "source", 0, OPTION_TEXT, AT(options.source), NULL },
	{ "instance", 0, OPTION_TEXT, AT(options.instance), NULL },
	{ "base", 0, OPTION_TEXT, AT(options.base), NULL },
	{ "field", 0, OPTION_TAKE, 0, take_field },
	{ "client", 0, OPTION_TAKE, 0, take_client },
	{ "resolve", 0, OPTION_TAKE, 0, take_resolve },
	{ "protocol", 0, OPTION_TAKE, 0, take_protocol },
	{ "exhaustive", 0, OPTION_ON, AT(options.exhaustive), NULL },
	{ "from", 0, OPTION_TEXT, AT(options.from), NULL },
	{ "to", 0, OPTION_TEXT, AT(options.to), NULL },
	{ "sign", 0, OPTION_TEXT, AT(sign), NULL },
	{ "output", 'o', OPTION_TEXT, AT(output), NULL },
	{ "help", 'h', OPTION_HELP, 0, NULL },
	{ NULL, 0, OPTION_HELP, 0, NULL }
};

/* ---- the whole command line ---- */

static bool
time_ok(const char *text)
{
	int64_t time_us;

	return text == NULL || (strlen(text) == RECORD_TIME_LEN &&
	    record_time_parse(text, &time_us) == 0);
}

/* A second of grace, as where it is signed. */
static bool
is_over(const char *text)
{
	int64_t time_us;

	return text == NULL || record_time_parse(text, &time_us) != 0 ||
	    time_us <= (int64_t)time(NULL) * 1000000 + 1000000;
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
	if (!is_over(o->to))
		return "--to is not over yet: nobody has seen what comes until then";
	if (o->protocols > 0 && o->format < IMPORT_EGRESS)
		return "--protocol is for the formats egress and conntrack";
	return NULL;
}

/* -1: go on; else the status to leave with. */
static int
parse_import(int argc, char **argv, const struct coverage_defaults *d,
    struct import_args *a)
{
	const char *why;
	const enum options_status got = options_read(options, argc, argv, a, &why);

	if (got == OPTIONS_HELP)
		return coverage_help(d, "import", "[OPTION]... [LOG]", import_help);
	if (got == OPTIONS_READ)
		why = argc - optind > 1 ? "one log at a time" : check_import(a);
	if (why != NULL)
		coverage_complain(d, "import", why);
	if (why != NULL || got == OPTIONS_UNKNOWN)
		return coverage_usage(d, "import");
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

/* Into memory: nothing is written of a log that cannot be read.  0, or the status to
 * leave with, behind a message; *text is to be freed. */
static int
make_truth(const struct coverage_defaults *d, const struct import_args *a, FILE *in,
    char **text, size_t *len, struct import_result *result)
{
	FILE *out = open_memstream(text, len);
	char err[256] = "";
	int status;

	if (out == NULL)
		return coverage_complain(d, "import", "out of memory");
	status = import_run(in, &a->options, out, result, err, sizeof(err)) == 0 ? 0 :
	    coverage_complain(d, "import", err);
	fclose(out);
	return status;
}

int
coverage_import(int argc, char **argv, const struct coverage_defaults *d)
{
	struct import_args a = { .options = { .format = IMPORT_COMBINED } };
	struct import_result result = { .taken = 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *in = NULL;
	int status = parse_import(argc, argv, d, &a);

	if (status >= 0)
		return status;
	if (a.log != NULL && (in = input_open(a.log)) == NULL) {
		shown_complain("%s coverage import: %s: %s", d->program, a.log, input_why(errno));
		return EXIT_USAGE_OR_IO;
	}
	status = make_truth(d, &a, in != NULL ? in : stdin, &text, &len, &result);
	if (in != NULL)
		fclose(in);
	if (status == 0)
		status = finish(d, &a, text, len, &result);
	free(text);
	return status;
}
