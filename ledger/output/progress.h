/*
 * A bar on standard error for work that takes long: only on a terminal, only
 * after half a second, and gone again when the work is done.
 */
#ifndef LEDGER_OUTPUT_PROGRESS_H
#define LEDGER_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on, shown;
	const char *what;	/* "verifying": constant */
	int64_t began_ms, last_ms;	/* clock_ms */
};

/* For this piece of work; on: whether a bar is wanted at all. */
void progress_begin(struct progress *progress, bool on, const char *what);

/* context is the struct progress; the shape of verify_options.progress. */
void progress_step(void *context, uint64_t done, uint64_t total);

void progress_end(struct progress *progress);

#endif
