/*
 * Runs one command in the foreground: same process group, so that the
 * terminal's signals and job control reach it as if it had been started by the
 * shell; signals that are sent to us alone are passed on.
 */
#ifndef BROKER_CLI_RUN_RUN_CHILD_H
#define BROKER_CLI_RUN_RUN_CHILD_H

#include "cli/run/run_hide.h"

#include <stdbool.h>

struct run_child {
	char *const *argv, *const *env;
	const struct run_hide_plan *hide;	/* NULL: do not */
	bool must_hide;		/* where that is not possible nothing is run */
};

struct run_child_result {
	int status;		/* as a shell says it: 0..125, 126, 127, 128 + signal */
	bool started;		/* the program was executed */
	bool hidden;
	char why[256];		/* why it was not started, or not hidden; or what it still can do */
};

/* Returns when the command has ended. */
void run_child(const struct run_child *child, struct run_child_result *result);

#endif
