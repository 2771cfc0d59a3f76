#include <assert.h>
#include <getopt.h>
#include <stdbool.h>

#include "ledger/command/options.h"

enum { LONG_ONLY = 256 };	/* codes of options without a letter: above all letters */

static bool
has_value(const struct option_row *row)
{
	return row->kind == OPTION_TEXT || row->kind == OPTION_TAKE;
}

/* The table in getopt_long's own forms.  A code is the letter, or tells the row. */
static void
make_tables(const struct option_row *table, struct option longs[OPTIONS_MAX + 1],
    char letters[2 * OPTIONS_MAX + 1])
{
	size_t i;

	for (i = 0; table[i].name != NULL; i++) {
		const struct option_row *row = &table[i];

		assert(i < OPTIONS_MAX);
		longs[i] = (struct option){ row->name, has_value(row) ? required_argument :
		    no_argument, NULL, row->letter != 0 ? row->letter : LONG_ONLY + (int)i };
		if (row->letter != 0)
			*letters++ = row->letter;
		if (row->letter != 0 && has_value(row))
			*letters++ = ':';
	}
	longs[i] = (struct option){ NULL, 0, NULL, 0 };
	*letters = '\0';
}

/* NULL: none has this code (getopt_long's '?'). */
static const struct option_row *
find_row(const struct option_row *table, int code)
{
	if (code >= LONG_ONLY)
		return &table[code - LONG_ONLY];
	for (; table->name != NULL; table++)
		if (table->letter != 0 && table->letter == code)
			return table;
	return NULL;
}

static enum options_status
apply(const struct option_row *row, void *args, const char **why)
{
	char *member = (char *)args + row->at;

	switch (row->kind) {
	case OPTION_TEXT:
		*(const char **)(void *)member = optarg;
		break;
	case OPTION_ON:
	case OPTION_OFF:
		*(bool *)member = row->kind == OPTION_ON;
		break;
	case OPTION_TAKE:
		*why = row->take(args, optarg);
		return *why == NULL ? OPTIONS_READ : OPTIONS_WRONG;
	case OPTION_HELP:
		return OPTIONS_HELP;
	case OPTION_VERSION:
		return OPTIONS_VERSION;
	}
	return OPTIONS_READ;
}

enum options_status
options_read(const struct option_row *table, int argc, char **argv, void *args,
    const char **why)
{
	struct option longs[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 1];
	enum options_status status = OPTIONS_READ;
	const struct option_row *row;
	int code;

	make_tables(table, longs, letters);
	*why = NULL;
	optind = 1;
	while (status == OPTIONS_READ &&
	    (code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		row = find_row(table, code);
		status = row != NULL ? apply(row, args, why) : OPTIONS_UNKNOWN;
	}
	return status;
}
