/*
 * `countersign coverage` and `countersign-verify coverage`: import, key, sign,
 * reconcile and show.  Offline.
 */
#ifndef LEDGER_COMMAND_COVERAGE_MAIN_H
#define LEDGER_COMMAND_COVERAGE_MAIN_H

#include <stddef.h>

struct scanner;

struct coverage_defaults {
	const char *program;	/* "countersign" or "countersign-verify" */
	/* the evidence in the place of a name that is none's path, or (name NULL)
	 * where none is given; NULL after a message and the status to leave with */
	const char *(*evidence)(const char *name, int *status);
	/* give the scanner the vault's own secrets, so that none is shown, as in
	 * verify_main.h; NULL where there is no vault */
	int (*secrets)(void *context, struct scanner *scanner, char *err, size_t err_len);
};

/* argv[0] is "import", "key", "sign", "reconcile" or "show".  0; 1 an action without a record;
 * 2 not established, or lines that were not understood; 3 usage or I/O. */
int coverage_main(int argc, char **argv, const struct coverage_defaults *defaults);

#endif
