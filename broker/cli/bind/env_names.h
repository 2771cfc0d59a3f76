/*
 * Which environment variables the clients of other hosts than those of
 * services.h read their credential from.  `bind` puts the placeholder there
 * unless told otherwise.
 */
#ifndef BROKER_CLI_BIND_ENV_NAMES_H
#define BROKER_CLI_BIND_ENV_NAMES_H

#include <stdbool.h>

#define ENV_NAMES_MAX 4

/* Names for host (canonical), ended by NULL; NULL for an unknown host. */
const char *const *env_names_for(const char *host);

/* May a placeholder stand in a variable of this name?  Not in those that
 * decide what programs run, or that `run` sets itself. */
bool env_names_ok(const char *name);

#endif
