/* Bindings that a run has no placeholder for, since their secret is no more. */
#ifndef BROKER_CLI_LACKING_H
#define BROKER_CLI_LACKING_H

#include <jansson.h>

/* The members `secrets` of GET /v1/secrets, owned; NULL where nobody tells. */
json_t *lacking_secrets(void);

/* Why the current version of a secret cannot be had, or NULL: it can, or that is
 * not known.  secrets may be NULL. */
const char *lacking_reason(const json_t *secrets, const char *name);

/*
 * The bindings of HOME/pack/data.json that are not among a run's placeholders
 * for such a reason: [{"binding", "secret", "env", "reason"}], owned.  Asks the
 * daemon only where one is not among them.
 */
json_t *lacking_of_run(const json_t *placeholders);

#endif
