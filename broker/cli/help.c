/* Help texts, made of the same tables that are obeyed. */
#include "cli/cli.h"

#include <string.h>

#define TEXT_COLUMN 28
#define LAST_COLUMN 79

/* Print text wrapped between TEXT_COLUMN and LAST_COLUMN. */
static void
wrapped(FILE *to, const char *text)
{
	size_t at = TEXT_COLUMN, len;

	while (*text != '\0') {
		len = strcspn(text, " ");
		if (at > TEXT_COLUMN && at + 1 + len > LAST_COLUMN) {
			fprintf(to, "\n%*s", TEXT_COLUMN, "");
			at = TEXT_COLUMN;
		} else if (at > TEXT_COLUMN) {
			fputc(' ', to);
			at++;
		}
		fprintf(to, "%.*s", (int)len, text);
		at += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

static void
one_option(FILE *to, const struct opt *opt)
{
	char left[128];
	int n;

	n = snprintf(left, sizeof(left), "  %c%c%c --%s%s%s",
	    opt->letter != 0 ? '-' : ' ', opt->letter != 0 ? opt->letter : ' ',
	    opt->letter != 0 ? ',' : ' ', opt->name, opt->arg != NULL ? " " : "",
	    opt->arg != NULL ? opt->arg : "");
	if (n >= TEXT_COLUMN - 1)
		fprintf(to, "%s\n%*s", left, TEXT_COLUMN, "");
	else
		fprintf(to, "%-*s", TEXT_COLUMN, left);
	wrapped(to, opt->help);
}

static void
commands(FILE *to, const struct cli_command *table)
{
	for (; table->name != NULL; table++) {
		fprintf(to, "  %-12s  ", table->name);
		fprintf(to, "%s\n", table->summary);
	}
}

static void
one_command(FILE *to, const struct cli_command *command, const char *path)
{
	struct opt opts[CLI_OPTS_MAX];
	size_t i;

	cli_opts(command, opts);
	fprintf(to, "Usage: countersign%s [OPTION...]%s%s\n\n%s%s\n", path,
	    command->operands[0] != '\0' ? " " : "", command->operands,
	    command->summary, strchr(command->summary, '?') != NULL ? "" : ".");
	if (command->details != NULL)
		fprintf(to, "\n%s\n", command->details);
	if (command->sub != NULL) {
		fputs("\nCommands:\n", to);
		commands(to, command->sub);
	}
	fputs("\nOptions:\n", to);
	for (i = 0; opts[i].name != NULL; i++)
		one_option(to, &opts[i]);
}

void
cli_help(FILE *to, const struct cli_command *table,
    const struct cli_command *command, const char *path)
{
	if (command != NULL) {
		one_command(to, command, path);
		return;
	}
	fprintf(to, "Usage: countersign%s COMMAND [OPTION...] [ARG...]\n\n", path);
	if (path[0] == '\0')
		fputs("A credential broker for AI agents: placeholders outside, "
		    "secrets inside,\nevery decision in a ledger that can be "
		    "verified.\n\n", to);
	fputs("Commands:\n", to);
	commands(to, table);
	if (path[0] == '\0')
		fputs("\nExit status: 0 done, 1 refused or failed, 2 not "
		    "established, 3 usage or I/O;\n`run` returns its command's "
		    "status, or 125 where no run could be opened.\n"
		    "`countersign COMMAND --help` says more; see also "
		    "countersign(1).\n", to);
}
