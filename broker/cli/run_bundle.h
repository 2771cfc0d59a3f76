/* A closed run's evidence: HOME/runs/<id>. */
#ifndef BROKER_CLI_RUN_BUNDLE_H
#define BROKER_CLI_RUN_BUNDLE_H

#include <jansson.h>
#include <stddef.h>

/* run is the answer to POST /v1/runs, and closed by now.  0 and the directory in
 * path, or -1 and why is said. */
int run_bundle_write(const json_t *run, char *path, size_t cap);

/* The newest run's directory; 0, or -1 where there is none. */
int run_bundle_last(char *path, size_t cap);

#endif
