/* A closed run's evidence: HOME/runs/<id>. */
#ifndef BROKER_CLI_RUN_BUNDLE_H
#define BROKER_CLI_RUN_BUNDLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* run is the answer to POST /v1/runs, and closed by now, or being closed by
 * somebody else: then with patience for its last records.  0 and the directory
 * in path, or -1 and why is said. */
int run_bundle_write(const json_t *run, bool patience, char *path, size_t cap);

/* The tags that the broker wrote for an auditor are kept as HOME/runs/<id>.tags:
 * beside the bundle, not in it, so that whoever gets the one need not get the
 * other.  Whoever closed the run: the broker's own copy goes after 30 days. */
void run_bundle_keep_tags(const char *run);

/* Keep the id of a run that has just been opened: what `verify` is about,
 * whether or not evidence comes of it.  0, or -1 with a message. */
int run_bundle_remember(const json_t *run, char *err, size_t err_len);

/* The last run's directory in path and CLI_OK; CLI_UNSURE where that run has no
 * evidence and CLI_USAGE where no run has any, with why. */
int run_bundle_last(char *path, size_t cap, char *why, size_t why_cap);

/* The same for the run whose id it is, or begins so: 0; -1 where it is no id of a
 * run, or none has it, and nothing is said. */
int run_bundle_named(const char *id, char *path, size_t cap);

#define RUN_BUNDLE_ID_MAX 64

/* begun, the beginning of a run's id as `ledger` shows it, made whole where one run
 * alone with evidence here begins so; else begun itself. */
const char *run_bundle_whole(const char *begun, char whole[RUN_BUNDLE_ID_MAX + 1]);

#endif
