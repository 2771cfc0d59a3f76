/*
 * The environment of a run's command: a copy of ours, in which real secrets
 * are removed and placeholders, proxy and CA variables are set for every
 * family of clients.
 */
#ifndef BROKER_CLI_RUN_RUN_ENV_H
#define BROKER_CLI_RUN_RUN_ENV_H

#include "cli/opt.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define RUN_ENV_REMOVED_MAX 32	/* names that are remembered */

struct run_env {
	char **vars;		/* "NAME=value", ended by NULL */
	size_t n, cap;
	bool failed;		/* out of memory: no such environment may be used */
	char *removed[RUN_ENV_REMOVED_MAX];	/* names, ours */
	size_t n_removed;	/* may be above the maximum */
	size_t bindings_left_out;	/* of COUNTERSIGN_BINDINGS, for lack of room */
};

/* A copy of environ. */
void run_env_init(struct run_env *env, char *const *from);
void run_env_free(struct run_env *env);

const char *run_env_get(const struct run_env *env, const char *name);

/* Remove the placeholders of the run that this process is in. */
void run_env_forget(struct run_env *env);

/*
 * Remove variables that hold a secret: those whose value, or a part of it,
 * has a tag of scrub ({"key","tags","lengths"} of POST /v1/runs) at any place, those that have the
 * form of a known token, and those whose name says that they hold one; not
 * those of --keep-env unless a tag matches.  0, or -1 where scrub is no good.
 */
int run_env_scrub(struct run_env *env, const json_t *scrub,
    const struct opts *opts);

/* Everything else.  run is the reply of POST /v1/runs. */
struct run_env_tools {
	const char *self;		/* absolute path of countersign */
	const char *node_preload, *wgetrc, *php_ini;	/* files, or NULL */
	bool direct_loopback;		/* NO_PROXY names loopback */
};
void run_env_fill(struct run_env *env, const json_t *run,
    const struct run_env_tools *tools);

#endif
