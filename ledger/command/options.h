/*
 * The options of a command as a table: what stands on the command line goes into the
 * struct of its arguments.  It is read by getopt_long(3), with all that this allows.
 */
#ifndef LEDGER_COMMAND_OPTIONS_H
#define LEDGER_COMMAND_OPTIONS_H

#include <stddef.h>

#define OPTIONS_MAX 32	/* rows of a table, without its end */

enum option_kind {
	OPTION_TEXT,	/* its value into a const char * */
	OPTION_ON,	/* a bool becomes true */
	OPTION_OFF,	/* a bool becomes false */
	OPTION_TAKE,	/* its value to a function */
	OPTION_HELP,
	OPTION_VERSION
};

struct option_row {
	const char *name;	/* without "--"; NULL ends a table */
	char letter;		/* 0: no short form */
	enum option_kind kind;
	size_t at;		/* offset in the arguments of what is set */
	/* NULL, or what is wrong with the value (a constant). */
	const char *(*take)(void *args, const char *value);
};

enum options_status {
	OPTIONS_READ,		/* all; operands are from optind on */
	OPTIONS_WRONG,		/* *why says what is wrong with a value */
	OPTIONS_UNKNOWN,	/* getopt_long said it already */
	OPTIONS_HELP, OPTIONS_VERSION	/* asked for; what stands behind is not read */
};

/* argv[0] is a name.  args: the struct that the table's offsets are of.  Values point
 * into argv.  Not for threads: getopt_long keeps its place in globals. */
enum options_status options_read(const struct option_row *table, int argc, char **argv,
    void *args, const char **why);

#endif
