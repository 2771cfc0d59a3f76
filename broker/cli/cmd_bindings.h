/* A binding in words. */
#ifndef BROKER_CLI_CMD_BINDINGS_H
#define BROKER_CLI_CMD_BINDINGS_H

#include <jansson.h>

/* To standard output: where the secret goes, for what, and what it lacks, by
 * what lacking_secrets gave (NULL: that is not said). */
void cmd_bindings_print(const char *id, const json_t *binding,
    const json_t *secrets);

#endif
