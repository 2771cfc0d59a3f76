/* Why requests of a run were refused: its `refusal` records, counted by rule. */
#ifndef BROKER_CLI_RUN_REASONS_H
#define BROKER_CLI_RUN_REASONS_H

#include <jansson.h>
#include <stddef.h>

#define RUN_REASONS_MAX 64	/* different rules that are counted apart */
#define RUN_REASONS_SHOWN 4

struct run_reason {
	char rule[128], reason[256];	/* the first reason given under that rule */
	size_t count;
};

struct run_reasons {
	struct run_reason one[RUN_REASONS_MAX];	/* most frequent first */
	size_t n;
	json_t *counts;	/* of its `teardown`, owned; NULL where none was read */
};

/* From a bundle's records; what cannot be read is not counted: this is for the
 * summary, the verifier is for evidence. */
void run_reasons_read(struct run_reasons *reasons, const char *bundle,
    const char *run);
void run_reasons_release(struct run_reasons *reasons);

#endif
