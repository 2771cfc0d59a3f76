/* The end of a run: close it, write its evidence, say what happened. */
#ifndef BROKER_CLI_RUN_RUN_CLOSE_H
#define BROKER_CLI_RUN_RUN_CLOSE_H

#include "cli/run/run_child.h"
#include "cli/run/run_env.h"

#include <jansson.h>
#include <stdbool.h>

struct run_close {
	const json_t *run;		/* reply of POST /v1/runs */
	const char *socket;		/* of a run within another: it is closed there, by its own
					 * token, and its evidence is that one's; NULL: by the operator */
	const struct run_env *env;
	const struct run_child_result *child;
	const json_t *hidden;		/* files of other programs that it was not to see; NULL: none */
	bool hide_wanted, root, direct_loopback;
	bool json, quiet;
	double seconds;
	size_t left_behind;		/* processes of the run that still live */
};

/* 0, or -1 where its evidence was not written; what went wrong is said.  A run
 * that somebody else closed has a summary and evidence all the same. */
int run_close(const struct run_close *close);

#endif
