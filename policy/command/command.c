#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/command/command.h"

#define OPERANDS_MAX 16

static const struct {
	const char *name, *operands, *what;
	int min, max;	/* the last of min may be left out where it is RECORDS */
	int (*run)(const struct command_args *);
} commands[] = {
	{ "check", "PACK", "load it, and say what it is and what is odd", 1,
	    1, command_check },
	{ "eval", "PACK INPUT.json|-", "decide one input (--trace: say why)",
	    2, 2, command_eval },
	{ "test", "PACK", "run the test_ rules of its *_test.rego", 1, 1,
	    command_test },
	{ "build", "PACK", "compile its plan.json (needs opa)", 1, 1,
	    command_build },
	{ "explain", "[--seq N] [RECORDS]",
	    "why a recorded decision, or the last one, came out so", 1, 1,
	    command_explain },
	{ "replay", "[--pack PACK] [RECORDS...]",
	    "decide recorded inputs again; they must come out the same", 1,
	    OPERANDS_MAX, command_replay },
	{ "diff", "OLD NEW [RECORDS...]",
	    "what another pack would have decided", 3, OPERANDS_MAX,
	    command_diff },
	{ "compare", "--opa ADDRESS [RECORDS...]",
	    "the evaluator beside an OPA server, on recorded inputs", 1,
	    OPERANDS_MAX, command_compare }
};

static int
usage(FILE *out)
{
	size_t i;

	fprintf(out, "usage: countersign policy COMMAND [OPTIONS] ...\n\n");
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-8s%-27s %s\n", commands[i].name,
		    commands[i].operands, commands[i].what);
	fprintf(out, "\n  --key FILE    only a pack that this key signed\n"
	    "  --entry NAME  another entry point than " PACK_ENTRY "\n"
	    "  --trace       which statements did not hold, and where\n"
	    "  --opa-default builtin errors are undefined, as in OPA\n"
	    "  --seq N       explain: this record\n"
	    "  --pack PACK   explain, replay, compare: this pack, not the recorded one\n"
	    "  --opa ADDRESS compare: unix:/path, https://host:port, "
	    "http://127.0.0.1:port\n"
	    "  --ca FILE     compare: authorities for https\n"
	    "  --token-file FILE  compare: a bearer token, for https\n"
	    "  --json        replay, diff, compare: one JSON object a line\n\n"
	    "RECORDS: a run's evidence, a ledger's directory or files with lines of one;\n"
	    "where none is named, this home's ledger.\n");
	return COMMAND_FAILED;
}

int
command_fail(const char *format, ...)
{
	va_list ap;

	fputs("countersign policy: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return COMMAND_FAILED;
}

void
command_put(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			fputs("\\n", stdout);
		else
			putchar(text[i]);
	}
}

static FILE *
open_plainly(const char *path)
{
	return fopen(path, "rbe");
}

static const char *
why_plainly(int error)
{
	return strerror(error);
}

static FILE *(*open_file)(const char *path) = open_plainly;
static const char *(*open_why)(int error) = why_plainly;

void
policy_command_opener(FILE *(*open)(const char *path), const char *(*why)(int error))
{
	open_file = open;
	open_why = why;
}

/* All of it, with a NUL behind; NULL where it cannot be read or is too large. */
static char *
read_all(FILE *f, size_t *len)
{
	size_t cap = 65536, n = 0, got;
	char *text = NULL, *grown;

	for (;;) {
		if ((grown = realloc(text, cap + 1)) == NULL)
			break;
		text = grown;
		got = fread(text + n, 1, cap - n, f);
		n += got;
		if (got == 0 || cap >= PACK_FILE_MAX)
			break;
		if (n == cap)
			cap *= 2;
	}
	if (grown == NULL || ferror(f) || !feof(f)) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*len = n;
	return text;
}

char *
command_read(const char *path, size_t *len)
{
	bool opened = strcmp(path, "-") != 0;
	FILE *f = opened ? open_file(path) : stdin;
	char *text;

	if (f == NULL) {
		command_fail("%s: %s", path, open_why(errno));
		return NULL;
	}
	text = read_all(f, len);
	if (opened)
		fclose(f);
	if (text == NULL)
		command_fail("%s cannot be read, or is too large", path);
	return text;
}

struct policy_pack *
command_pack(const struct command_args *args, const char *path)
{
	struct policy_pack *pack;
	char err[512] = "", *key = NULL;
	size_t len = 0;

	if (args->key != NULL && (key = command_read(args->key, &len)) == NULL)
		return NULL;
	pack = policy_pack_load_signed(path, key, len, err, sizeof(err));
	free(key);
	if (pack == NULL && strncmp(err, path, strlen(path)) == 0)
		command_fail("%s", err);
	else if (pack == NULL)
		command_fail("%s: %s", path, err);
	return pack;
}

static bool
take_option(struct command_args *out, int argc, char **argv, int *i)
{
	static const struct {
		const char *name;
		size_t offset;
	} values[] = {
		{ "--key", offsetof(struct command_args, key) },
		{ "--entry", offsetof(struct command_args, entry) },
		{ "--pack", offsetof(struct command_args, pack) },
		{ "--opa", offsetof(struct command_args, opa) },
		{ "--ca", offsetof(struct command_args, ca) },
		{ "--token-file", offsetof(struct command_args, token) },
		{ "--seq", offsetof(struct command_args, seq) }
	};
	const char *o = argv[*i];
	size_t k;

	for (k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
		if (strcmp(o, values[k].name) != 0)
			continue;
		if (*i + 1 >= argc)
			return false;
		*(const char **)(void *)((char *)out + values[k].offset) =
		    argv[++*i];
		return true;
	}
	if (strcmp(o, "--trace") == 0)
		out->trace = true;
	else if (strcmp(o, "--opa-default") == 0)
		out->opa_default = true;
	else if (strcmp(o, "--json") == 0)
		out->json = true;
	else
		return false;
	return true;
}

static policy_data_reader *data_reader;

void
policy_command_reader(policy_data_reader *reader)
{
	data_reader = reader;
}

int
command_data_read(const struct policy_pack *pack)
{
	char err[512] = "";

	if (data_reader == NULL || pack->data_text == NULL ||
	    data_reader(pack, err, sizeof(err)) == 0)
		return 0;
	printf("refused by the broker: %s\n", err);
	return -1;
}

static const char *(*records_unnamed)(void);

void
policy_command_records(const char *(*unnamed)(void))
{
	records_unnamed = unnamed;
}

/* Puts in the records that nobody named; false: there are none to be had. */
static bool
take_unnamed(struct command_args *args, const char *operands, int min)
{
	const char *path;

	if (args->n != min - 1 || strstr(operands, "RECORDS") == NULL ||
	    records_unnamed == NULL || (path = records_unnamed()) == NULL)
		return false;
	args->operand[args->n++] = path;
	return true;
}

static bool
wants_help(int argc, char **argv)
{
	if (strcmp(argv[0], "help") == 0)
		return true;
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0)
			return true;
	return false;
}

/* Options and operands, behind the command's name; false: it was said what is wrong. */
static bool
take_arguments(struct command_args *out, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1] != '\0') {
			if (!take_option(out, argc, argv, &i)) {
				command_fail("%s: unknown option, or its value is missing",
				    argv[i]);
				return false;
			}
		} else if (out->n < OPERANDS_MAX) {
			out->operand[out->n++] = argv[i];
		} else {
			command_fail("more than %d operands", OPERANDS_MAX);
			return false;
		}
	}
	return true;
}

int
policy_command(int argc, char **argv)
{
	struct command_args args = { .entry = PACK_ENTRY };
	size_t c;

	/* "policy check ..." or "check ...", as the table of commands cuts it. */
	if (argc > 0 && strcmp(argv[0], "policy") == 0) {
		argv++;
		argc--;
	}
	if (argc < 1)
		return usage(stderr);
	if (wants_help(argc, argv)) {
		usage(stdout);
		return COMMAND_YES;
	}
	args.name = argv[0];
	if (!take_arguments(&args, argc, argv))
		return COMMAND_FAILED;
	for (c = 0; c < sizeof(commands) / sizeof(commands[0]); c++) {
		if (strcmp(commands[c].name, args.name) != 0)
			continue;
		if ((args.n < commands[c].min || args.n > commands[c].max) &&
		    !take_unnamed(&args, commands[c].operands, commands[c].min))
			return command_fail("usage: countersign policy %s %s",
			    args.name, commands[c].operands);
		return commands[c].run(&args);
	}
	command_fail("%s: no such command", args.name);
	return usage(stderr);
}
