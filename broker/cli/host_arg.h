/* A host as people write it on a command line. */
#ifndef BROKER_CLI_HOST_ARG_H
#define BROKER_CLI_HOST_ARG_H

#include "http/target.h"

/* NAME, ADDRESS or [IPV6], with :PORT or without, spelled as the broker does.  NULL;
 * or what is wrong with it and what to write instead, fit for a terminal, until the
 * next call. */
const char *host_arg(const char *text, uint16_t default_port, struct target *out);

#endif
