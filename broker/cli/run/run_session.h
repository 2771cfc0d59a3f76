/* One `countersign run`, from its options to its command's end.  Private to it. */
#ifndef BROKER_CLI_RUN_SESSION_H
#define BROKER_CLI_RUN_SESSION_H

#include "cli/client.h"
#include "cli/cli.h"
#include "cli/run/run_env.h"
#include "cli/run/run_hide.h"
#include "conf/conf.h"

#include <limits.h>

struct run_session {
	const struct opts *opts;
	json_t *budget;			/* NULL: no limits of this run's own */
	json_t *scopes;			/* NULL: no narrower than usual */
	long long ttl_s;		/* 0: no end of its own */
	const char *socket, *token;	/* of the run that this one is within; NULL: none */
	struct client_reply run;	/* POST /v1/runs */
	struct run_env env;
	json_t *hidden;			/* "~/..." of --hide-credentials; NULL: not asked for */
	json_t *hidden_paths;		/* the same in full */
	struct run_hide_plan *hide;
	struct conf conf;
	char self[PATH_MAX], preload[PATH_MAX], wgetrc[PATH_MAX],
	    php_ini[PATH_MAX], home[PATH_MAX];
	char credential[PATH_MAX];
	char err[CLI_ERR_MAX];
};

/* Read the options.  0, or -1 with session->err. */
int run_session_read(struct run_session *session);

/* Ask the daemon for a run.  0, or the exit status, and the reason was said. */
int run_session_open(struct run_session *session);

/* Make ready what the command gets, and what it does not get to see.  0, or -1, and
 * the reason was said. */
int run_session_prepare(struct run_session *session);

#endif
