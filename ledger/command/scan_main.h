/* The command line of `countersign scan` and `countersign-verify scan`. */
#ifndef LEDGER_SCAN_MAIN_H
#define LEDGER_SCAN_MAIN_H

#include "ledger/scan/scan.h"

struct scan_defaults {
	const char *program;	/* as called, for messages: "countersign scan" */
	/* Give the scanner the vault's own secrets, or NULL where there is no
	 * vault.  0, or -1 with a message: the scan then goes on without, and
	 * is incomplete. */
	int (*secrets)(void *context, struct scanner *scanner, char *err,
	    size_t err_len);
	void *context;
};

/* argv[0] is skipped.  Exit status: 0 clean, 1 found, 2 not all was looked at,
 * or a canary was missed, 3 usage or I/O. */
int scan_main(int argc, char **argv, const struct scan_defaults *defaults);

#endif
