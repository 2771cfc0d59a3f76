/* The options of `countersign-verify` and `countersign verify`.  Private to
 * verify_main. */
#ifndef LEDGER_VERIFY_ARGS_H
#define LEDGER_VERIFY_ARGS_H

#include <stdbool.h>

#include "ledger/command/verify_main.h"
#include "ledger/coverage/coverage.h"

enum { EXIT_USAGE_OR_IO = 3 };

struct verify_args {
	const char *path, *key, *trust, *epochs, *head, *save_head, *since, *sarif, *html,
	    *tags;
	const char *dir;	/* where the files are: path, or what it was unpacked to */
	const char *truth[COVERAGE_SOURCES_MAX];
	size_t truths;
	long window_ms;
	bool json, scan, colour, quiet;
	unsigned threads;
};

/* -1: go on; else the status to leave with, after a message or the help. */
int verify_args_parse(int argc, char **argv, const struct verify_defaults *defaults,
    struct verify_args *args);

/* Is it `-`?  NULL is not. */
bool verify_args_to_stdout(const char *path);

#endif
