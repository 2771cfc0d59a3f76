/*
 * countersign completion bash|zsh|fish: made of the tables that are obeyed.
 * contrib/completion holds what this prints; a test compares.
 */
#include "cli/cmd.h"

#include <string.h>

static const struct cli_command *commands;

void
cmd_completion_table(const struct cli_command *table)
{
	commands = table;
}

/* Calls each with every command's path ("", " secret", " secret put"). */
static void
walk(const struct cli_command *table, const char *path, void (*each)(
    const char *path, const struct cli_command *command))
{
	char deeper[128];

	for (; table->name != NULL; table++) {
		snprintf(deeper, sizeof(deeper), "%s %s", path, table->name);
		each(deeper, table);
		if (table->sub != NULL)
			walk(table->sub, deeper, each);
	}
}

static void
words_of(const struct cli_command *table)
{
	for (; table->name != NULL; table++)
		printf("%s ", table->name);
	printf("--help");
}

static void
options_of(const struct cli_command *command)
{
	struct opt opts[CLI_OPTS_MAX];
	size_t i;

	cli_opts(command, opts);
	for (i = 0; opts[i].name != NULL; i++)
		printf("%s--%s", i > 0 ? " " : "", opts[i].name);
}

/* --- bash ------------------------------------------------------------ */

static void
bash_path(const char *path, const struct cli_command *command)
{
	(void)command;
	printf("%s\"%s\"", strcmp(path, " init") == 0 ? "" : "|", path);
}

static void
bash_case(const char *path, const struct cli_command *command)
{
	printf("\t\"%s\") words=\"", path);
	if (command->sub != NULL)
		words_of(command->sub);
	if (command->sub != NULL && command->run != NULL)
		printf(" ");
	if (command->sub == NULL || command->run != NULL)
		options_of(command);
	puts("\" ;;");
}

static void
bash(void)
{
	puts("# bash completion for countersign: made by `countersign completion bash`\n"
	    "_countersign()\n{\n"
	    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} path='' words='' i\n"
	    "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	    "\t\t[ \"${COMP_WORDS[i]}\" = -- ] && { COMPREPLY=(); return; }\n"
	    "\t\tcase \"$path ${COMP_WORDS[i]}\" in");
	printf("\t\t");
	walk(commands, "", bash_path);
	puts(")\n\t\t\tpath=\"$path ${COMP_WORDS[i]}\" ;;\n\t\tesac\n\tdone\n"
	    "\tcase \"$path\" in");
	printf("\t\"\") words=\"");
	words_of(commands);
	puts("\" ;;");
	walk(commands, "", bash_case);
	puts("\tesac\n"
	    "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	    "}\ncomplete -o default -F _countersign countersign");
}

/* --- zsh ------------------------------------------------------------- */

/* Text within single quotes; ':' separates name and help in _describe. */
static void
quoted(const char *text, bool zsh)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs(zsh ? "'\\''" : "\\'", stdout);
		else if (*text == '\\' || (*text == ':' && zsh))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void
zsh_words(const struct cli_command *table)
{
	for (; table->name != NULL; table++) {
		printf("\t\t'%s:", table->name);
		quoted(table->summary, true);
		puts("'");
	}
	puts("\t\t'--help:show help'");
}

static void
zsh_case(const char *path, const struct cli_command *command)
{
	struct opt opts[CLI_OPTS_MAX];
	size_t i;

	printf("\t'%s') offer=(\n", path);
	if (command->sub != NULL) {
		zsh_words(command->sub);
	}
	if (command->sub == NULL || command->run != NULL) {
		cli_opts(command, opts);
		for (i = 0; opts[i].name != NULL; i++) {
			printf("\t\t'--%s:", opts[i].name);
			quoted(opts[i].help, true);
			puts("'");
		}
	}
	puts("\t\t) ;;");
}

static void
zsh(void)
{
	puts("#compdef countersign\n"
	    "# zsh completion for countersign: made by `countersign completion zsh`\n"
	    "local at= word\nlocal -a offer\n"
	    "for word in ${words[2,CURRENT-1]}; do\n"
	    "\tif [[ $word == -- ]]; then _files; return; fi\n"
	    "\tcase \"$at $word\" in");
	printf("\t");
	walk(commands, "", bash_path);
	puts(")\n\t\tat=\"$at $word\" ;;\n\tesac\ndone\n"
	    "case \"$at\" in\n\t'') offer=(");
	zsh_words(commands);
	puts("\t\t) ;;");
	walk(commands, "", zsh_case);
	puts("esac\n_describe 'countersign' offer || _files");
}

/* --- fish ------------------------------------------------------------ */

static void
fish_one(const char *path, const struct cli_command *command)
{
	struct opt opts[CLI_OPTS_MAX];
	char parent[128];
	size_t i;

	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, ' ') = '\0';
	printf("complete -c countersign -f -n '__countersign_at \"%s\"' -a %s -d '",
	    parent, command->name);
	quoted(command->summary, false);
	puts("'");
	if (command->sub != NULL && command->run == NULL)
		return;
	cli_opts(command, opts);
	for (i = 0; opts[i].name != NULL; i++) {
		printf("complete -c countersign -n '__countersign_at \"%s\"' -l %s%s -d '",
		    path, opts[i].name, opts[i].arg != NULL ? " -r" : "");
		quoted(opts[i].help, false);
		puts("'");
	}
}

static void
fish(void)
{
	puts("# fish completion for countersign: made by `countersign completion fish`\n"
	    "function __countersign_at\n"
	    "\tset -l path ''\n"
	    "\tfor word in (commandline -opc)[2..-1]\n"
	    "\t\ttest \"$word\" = --; and return 1\n"
	    "\t\tswitch \"$path $word\"");
	printf("\t\tcase");
	for (const struct cli_command *c = commands; c->name != NULL; c++) {
		printf(" ' %s'", c->name);
		for (const struct cli_command *s = c->sub; s != NULL &&
		    s->name != NULL; s++)
			printf(" ' %s %s'", c->name, s->name);
	}
	puts("\n\t\t\tset path \"$path $word\"\n\t\tend\n\tend\n"
	    "\ttest \"$path\" = \"$argv[1]\"\nend");
	walk(commands, "", fish_one);
}

int
cmd_completion(const struct opts *opts)
{
	const char *shell = opts->n_rest == 1 ? opts->rest[0] : "";

	if (strcmp(shell, "bash") == 0)
		bash();
	else if (strcmp(shell, "zsh") == 0)
		zsh();
	else if (strcmp(shell, "fish") == 0)
		fish();
	else
		return cli_usage("one of bash, zsh and fish is wanted");
	return CLI_OK;
}
