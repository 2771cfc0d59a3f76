/*
 * countersign completion bash|zsh|fish: made of the tables that are obeyed.
 * contrib/completion holds what this prints; a test compares.  Names that only the
 * home or the daemon know are asked for when they are wanted (completion names).
 */
#include "cli/cmd.h"
#include "cli/cmd_names.h"

#include <stdio.h>
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

/* In the shell at hand: what to do for a place where names may stand.  Options have
 * the same ones in every command. */
static void (*place)(const char *pattern, const char *kind);

static void
operand_place(const char *path, const struct cli_command *command)
{
	const char *kind = cmd_names_kind(path, NULL);

	(void)command;
	if (kind != NULL)
		place(path, kind);
}

static const char *const named_options[] = { "secret", "binding", "scope", "run",
	"pack", "service" };
#define NAMED_OPTIONS (sizeof(named_options) / sizeof(named_options[0]))

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

/* zsh reads the same. */
static void
case_of_kind(const char *pattern, const char *kind)
{
	printf("\t\"%s\") kind=%s ;;\n", pattern, kind);
}

/* before: the word before the one that is completed; at: the command; nothing: what
 * empties what was on offer, since an option's value is no option. */
static void
cases_of_kind(const char *before, const char *at, const char *nothing)
{
	place = case_of_kind;
	printf("\tcase \"%s\" in\n", before);
	for (size_t i = 0; i < NAMED_OPTIONS; i++)
		printf("\t\"--%s\") kind=%s %s ;;\n", named_options[i],
		    cmd_names_kind("", named_options[i]), nothing);
	printf("\t-*) ;;\n\t*) case \"%s\" in\n", at);
	walk(commands, "", operand_place);
	puts("\tesac ;;\n\tesac");
}

static void
bash(void)
{
	puts("# bash completion for countersign: made by `countersign completion bash`\n"
	    "_countersign()\n{\n"
	    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} path='' words='' kind='' i\n"
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
	puts("\tesac");
	cases_of_kind("${COMP_WORDS[COMP_CWORD-1]}", "$path", "words=''");
	puts("\t[[ -n $kind && $cur != -* ]] && words=\"$words $(countersign completion names \"$kind\" 2>/dev/null)\"\n"
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
	puts("esac\nlocal kind=");
	cases_of_kind("${words[CURRENT-1]}", "$at", "offer=()");
	puts("if [[ -n $kind && ${words[CURRENT]} != -* ]]; then\n"
	    "\toffer+=(${(f)\"$(countersign completion names $kind 2>/dev/null)\"})\nfi\n"
	    "_describe 'countersign' offer || _files");
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
		const char *kind = cmd_names_kind("", opts[i].name);

		printf("complete -c countersign -n '__countersign_at \"%s\"' -l %s%s",
		    path, opts[i].name, opts[i].arg != NULL ? " -r" : "");
		if (kind != NULL)
			printf(" -a '(countersign completion names %s "
			    "2>/dev/null)'", kind);
		fputs(" -d '", stdout);
		quoted(opts[i].help, false);
		puts("'");
	}
}

static void
fish_place(const char *path, const char *kind)
{
	printf("complete -c countersign -n '__countersign_at \"%s\"' -a '(countersign "
	    "completion names %s 2>/dev/null)'\n", path, kind);
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
	place = fish_place;
	walk(commands, "", operand_place);
}

int
cmd_completion(const struct opts *opts)
{
	const char *shell = opts->n_rest == 1 ? opts->rest[0] : "";

	if (opts->n_rest == 2 && strcmp(opts->rest[0], "names") == 0)
		return cmd_names(opts->rest[1]) == 0 ? CLI_OK :
		    cli_usage("names of secrets, bindings, runs, approvals, packs or services");
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
