/*
 * Command-line options: a table per command, long names, exact.
 *
 * An abbreviation is not accepted: it would change its meaning when another
 * option is added.  `--name value` and `--name=value` are the same; `--` ends
 * the options.  The table is also what --help and shell completion are made
 * of, so that the three cannot disagree.
 */
#ifndef BROKER_CLI_OPT_H
#define BROKER_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>

#define OPT_GIVEN_MAX 512	/* options on one command line */

struct opt {
	const char *name;	/* without "--"; NULL ends a table */
	char letter;		/* 0: no short form */
	const char *arg;	/* what its value is called; NULL: a flag */
	bool repeat;		/* may be given more than once */
	const char *help;
};

struct opt_given {
	const struct opt *opt;
	const char *value;	/* NULL for a flag */
};

struct opts {
	const struct opt *table;
	struct opt_given given[OPT_GIVEN_MAX];
	size_t n_given;
	char **rest;		/* operands, then NULL; the caller's argv, permuted */
	int n_rest;
};

/*
 * Parse argv[0..argc), which begins after the command's name.  With
 * stop_at_operand the first operand ends the options (for commands that run
 * others).  0, or -1 with a message that names the option and, where one is
 * near, the one that was meant.
 */
int opt_parse(const struct opt *table, bool stop_at_operand, int argc,
    char **argv, struct opts *out, char *err, size_t err_len);

bool opt_flag(const struct opts *opts, const char *name);

/* The value of an option that may be given once; NULL where it was not. */
const char *opt_value(const struct opts *opts, const char *name);

/* The next value of name at or after *cursor (0 to begin), NULL at the end. */
const char *opt_next(const struct opts *opts, const char *name, size_t *cursor);

/* A decimal number within min..max; -1 with a message naming the option. */
int opt_number(const struct opts *opts, const char *name, long long min,
    long long max, long long *out, char *err, size_t err_len);

/* The word of words[] (ended by NULL) that text was probably meant to be. */
const char *opt_nearest(const char *text, const char *const *words);

#endif
