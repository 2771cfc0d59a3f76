/*
 * Which environment variables the clients of well-known services read their
 * credential from.  `bind` puts the placeholder there unless told otherwise.
 */
#ifndef BROKER_CLI_ENV_NAMES_H
#define BROKER_CLI_ENV_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define ENV_NAMES_MAX 4

/* Names for host (canonical), ended by NULL; NULL for an unknown host.  A host
 * that git's credential helper serves alone has an empty list. */
const char *const *env_names_for(const char *host);

/* May a placeholder stand in a variable of this name?  Not in those that
 * decide what programs run, or that `run` sets itself. */
bool env_names_ok(const char *name);

#endif
