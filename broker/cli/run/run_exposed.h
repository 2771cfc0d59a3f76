/*
 * Files in which well-known programs keep credentials of their own: what stands
 * in them is no secret of the vault, and the run's command can read it.  Told in
 * the summary, so that a person who means to give an agent placeholders alone
 * learns of what it had besides.
 */
#ifndef BROKER_CLI_RUN_RUN_EXPOSED_H
#define BROKER_CLI_RUN_RUN_EXPOSED_H

#include <jansson.h>

/* Their paths below home ("~/.netrc") that are there, are not empty and can be
 * read; an array, owned.  home may be NULL. */
json_t *run_exposed(const char *home);

#endif
