/*
 * Files in which well-known programs keep credentials of their own: what stands
 * in them is no secret of the vault, and the run's command can read it unless they
 * are hidden (run --hide-credentials).  Told in the summary, so that a person who
 * means to give an agent placeholders alone learns of what it had besides.
 */
#ifndef BROKER_CLI_RUN_RUN_EXPOSED_H
#define BROKER_CLI_RUN_RUN_EXPOSED_H

#include <jansson.h>

#define RUN_EXPOSED_MAX 16	/* of them */

/* Their paths below home ("~/.netrc") that are there, are not empty and can be
 * read; an array, owned.  home may be NULL.  docker's settings are not among them where
 * they hold no login, or only what a login inside of the run has put there: a dummy of
 * dummies, as POST /v1/runs gives them; NULL: none. */
json_t *run_exposed(const char *home, const json_t *dummies);

/* The same without those in hidden, an array of such names or NULL. */
json_t *run_exposed_but(const char *home, const json_t *hidden,
    const json_t *dummies);

#endif
