#include "cli/cli.h"
#include "home.h"

#include "ledger/output/shown.h"
#include "ledger/utf8.h"
#include "ledger/output/terminal.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PATH_WORDS_MAX 96	/* "credential git get" */

static char where[PATH_WORDS_MAX];	/* the command at work: for hints */

void
cli_err(const char *fmt, ...)
{
	va_list args;

	fputs("countersign: ", stderr);
	va_start(args, fmt);
	shown_vcomplain(fmt, args);
	va_end(args);
}

int
cli_usage(const char *fmt, ...)
{
	va_list args;

	fputs("countersign: ", stderr);
	va_start(args, fmt);
	shown_vcomplain(fmt, args);
	va_end(args);
	fprintf(stderr, "Try `countersign%s --help`.\n", where);
	return CLI_USAGE;
}

const char *
cli_clean(const char *text)
{
	static char bufs[4][1024];
	static unsigned next;
	char *buf = bufs[next++ % 4];
	size_t left = text != NULL ? strlen(text) : 0, len, n = 0;
	uint32_t c;

	for (; left > 0 && n < sizeof(bufs[0]) - 4; text += len, left -= len) {
		len = utf8_next(text, left, &c);
		if (utf8_is_odd(c)) {
			buf[n++] = '?';
			continue;
		}
		memcpy(buf + n, text, len);
		n += len;
	}
	buf[n] = '\0';
	return buf;
}

const char *
cli_colour(FILE *to, enum cli_colour colour)
{
	static const char *const codes[] = { "\033[0m", "\033[1m", "\033[32m",
	    "\033[31m", "\033[33m", "\033[2m" };

	return terminal_colours(fileno(to)) ? codes[colour] : "";
}

const char *
cli_home(void)
{
	char err[CLI_ERR_MAX] = "";
	const char *home = home_dir(err, sizeof(err));

	if (home == NULL) {
		cli_err("%s", err);
		exit(CLI_USAGE);
	}
	return home;
}

void
cli_home_path(const char *name, char *buf, size_t cap)
{
	(void)cli_home();
	if (home_path(name, buf, cap) != 0) {
		cli_err("the path of %s in the home directory is too long", name);
		exit(CLI_USAGE);
	}
}

int
cli_home_fault(char *why, size_t cap)
{
	if (home_need_vault(why, cap) == 0)
		return 0;
	if (getenv("COUNTERSIGN_RUN") != NULL)
		snprintf(why, cap, "the home %s is hidden here: this is inside run %s"
		    " (what works here is grant, credential, scan and run --within)",
		    cli_home(), cli_clean(getenv("COUNTERSIGN_RUN")));
	return -1;
}

int
cli_need_home(void)
{
	char why[CLI_ERR_MAX] = "";

	if (cli_home_fault(why, sizeof(why)) == 0)
		return 0;
	cli_err("%s", why);
	return CLI_USAGE;
}

const char *
cli_home_ledger(void)
{
	static char path[PATH_MAX];

	if (cli_need_home() != 0)
		return NULL;
	cli_home_path("ledger", path, sizeof(path));
	return path;
}

static int
put_json(const char *text, size_t len, void *to)
{
	shown_json(to, text, len);
	return 0;
}

void
cli_json(FILE *to, const json_t *json, size_t flags)
{
	(void)json_dump_callback(json, put_json, to, flags);
	putc('\n', to);
}

/* --- dispatch -------------------------------------------------------- */

static const struct opt help_opt = {
	"help", 'h', NULL, true, "show this and exit"
};

void
cli_opts(const struct cli_command *command, struct opt *out)
{
	size_t n = 0;

	if (command->opts != NULL)
		for (; command->opts[n].name != NULL && n < CLI_OPTS_MAX - 2; n++)
			out[n] = command->opts[n];
	out[n] = help_opt;
	memset(&out[n + 1], 0, sizeof(out[0]));
}

static const struct cli_command *
lookup(const struct cli_command *table, const char *name)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static int
no_such(const struct cli_command *table, const char *name)
{
	const char *words[64], *near;
	size_t n = 0;

	for (; table->name != NULL && n < 63; table++)
		words[n++] = table->name;
	words[n] = NULL;
	near = opt_nearest(name, words);
	if (near != NULL)
		return cli_usage("no command `%s` (did you mean `%s`?)",
		    cli_clean(name), near);
	return cli_usage("no command `%s`", cli_clean(name));
}

/* Of one that has commands of its own, an operand is one of those. */
static bool
takes_none(const struct cli_command *command)
{
	return command->operands == NULL || command->operands[0] == '\0' ||
	    command->sub != NULL;
}

static int
run_command(const struct cli_command *command, int argc, char **argv)
{
	struct opt table[CLI_OPTS_MAX];
	static struct opts opts;
	char err[CLI_ERR_MAX] = "";

	if (command->raw)
		return command->run_raw(argc, argv);
	cli_opts(command, table);
	if (opt_parse(table, command->stop_at_operand, argc - 1, argv + 1, &opts,
	    err, sizeof(err)) != 0)
		return cli_usage("%s", err);
	if (opt_flag(&opts, "help")) {
		cli_help(stdout, NULL, command, where);
		return CLI_OK;
	}
	if (opts.n_rest > 0 && takes_none(command))
		return cli_usage("%s takes no operands", where + 1);
	return command->run(&opts);
}

int
cli_dispatch(const struct cli_command *table, int argc, char **argv)
{
	const struct cli_command *command;
	size_t len;

	if (argc < 2) {
		cli_help(stderr, table, NULL, where);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		cli_help(stdout, table, NULL, where);
		return CLI_OK;
	}
	if (argv[1][0] == '-')
		return cli_usage("the command comes first, its options after it");
	if ((command = lookup(table, argv[1])) == NULL)
		return no_such(table, argv[1]);
	len = strlen(where);
	snprintf(where + len, sizeof(where) - len, " %s", command->name);
	if (command->sub != NULL && !(command->run != NULL &&
	    (argc < 3 || argv[2][0] == '-')))
		return cli_dispatch(command->sub, argc - 1, argv + 1);
	return run_command(command, argc - 1, argv + 1);
}

int
cli_again(const struct cli_command *table, int argc, char **argv)
{
	where[0] = '\0';
	return cli_dispatch(table, argc, argv);
}
