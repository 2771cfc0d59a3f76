/* Bindings that runs have no placeholder for, since their secret is no more. */
#ifndef BROKER_CLI_LACKING_H
#define BROKER_CLI_LACKING_H

#include <stdio.h>

#include <jansson.h>

/* The members `secrets` of GET /v1/secrets, owned; NULL where nobody tells. */
json_t *lacking_secrets(void);

/* Why the current version of a secret cannot be had, or NULL: it can, or that is
 * not known.  secrets may be NULL. */
const char *lacking_reason(const json_t *secrets, const char *name);

/* A run's `placeholders_missing`, one line each with what to do about it. */
void lacking_print(FILE *out, const json_t *missing, const char *before);

/* What stores such a secret: "put" or "rotate". */
const char *lacking_remedy(const char *reason);

#endif
