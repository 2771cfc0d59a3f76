/*
 * What all commands of `countersign` share: the table's shape, exit statuses
 * and the ways to speak.
 */
#ifndef BROKER_CLI_CLI_H
#define BROKER_CLI_CLI_H

#include "cli/opt.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Documented in countersign(1).  `run` returns its command's status instead,
 * and 125 where the run itself could not be opened. */
enum cli_exit {
	CLI_OK = 0,
	CLI_REFUSED = 1,	/* refused, failed, or verified as bad */
	CLI_UNSURE = 2,		/* not established */
	CLI_USAGE = 3,		/* wrong usage, input or output trouble */
	CLI_NO_RUN = 125
};

#define CLI_ERR_MAX 1024

struct cli_command {
	const char *name;	/* NULL ends a table */
	const char *summary;	/* one line, without a full stop */
	const char *operands;	/* "NAME", "-- COMMAND [ARG...]", or "": any is refused */
	const char *details;	/* what --help adds, or NULL */
	const struct opt *opts;	/* NULL where it has none */
	const struct cli_command *sub;	/* its own commands, or NULL; with run too, where none is named */
	bool stop_at_operand;	/* options end at the first operand */
	bool raw;		/* parses argv itself: argv[0] is its name */
	int (*run)(const struct opts *opts);
	int (*run_raw)(int argc, char **argv);
};

/* Find argv's command in table, parse its options, run it: an exit status. */
int cli_dispatch(const struct cli_command *table, int argc, char **argv);

/* The same from the top, for a command that stands for another (help). */
int cli_again(const struct cli_command *table, int argc, char **argv);

/* Help of one command (path is "secret put"), or of the whole for NULL. */
void cli_help(FILE *to, const struct cli_command *table,
    const struct cli_command *command, const char *path);

/* A table with --help added: what a command really accepts. At most
 * CLI_OPTS_MAX entries, ended by a NULL name. */
#define CLI_OPTS_MAX 64
void cli_opts(const struct cli_command *command, struct opt *out);

/* "countersign: ..." on standard error. */
void cli_err(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, and "Try countersign X --help"; returns CLI_USAGE. */
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Text from outside, fit for a terminal: what is no UTF-8 or would not be
 * seen as what it is becomes '?'.  Four buffers are used in turn, so that one
 * printf may have several. */
const char *cli_clean(const char *text);

/* With a LF behind it; what would not be seen as what it is is escaped. */
void cli_json(FILE *to, const json_t *json, size_t flags);

enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_GREEN, CLI_RED, CLI_YELLOW, CLI_DIM };
/* The escape sequence, or "" where to is no terminal or NO_COLOR is set. */
const char *cli_colour(FILE *to, enum cli_colour colour);

/* HOME/name, and the program's end where there is no home to be found. */
const char *cli_home(void);
void cli_home_path(const char *name, char *buf, size_t cap);
/* Refuse to go on where HOME was never initialised: 0, or CLI_USAGE. */
int cli_need_home(void);

/* The home's ledger, as static text; NULL where there is no home, which was said. */
const char *cli_home_ledger(void);
/* The same for who goes on without one: 0, or -1 and what is the matter. */
int cli_home_fault(char *why, size_t cap);

#endif
