/*
 * What of a run was refused, by which rules, and what would allow it: for its
 * summary.  Most clients show nothing of the answer to a CONNECT, and an agent's
 * screen is full: here it is seen.
 */
#ifndef BROKER_CLI_RUN_RUN_REFUSED_H
#define BROKER_CLI_RUN_RUN_REFUSED_H

#include "cli/run/run_reasons.h"

/* Lines of the summary, on standard error; nothing where nothing was refused or asked.
 * run: its id. */
void run_refused_print(const struct run_reasons *reasons, const char *run);

/* The members `reasons` and `approvals` of the summary as JSON; owned. */
json_t *run_refused_json(const struct run_reasons *reasons);
json_t *run_answers_json(const struct run_reasons *reasons);

#endif
