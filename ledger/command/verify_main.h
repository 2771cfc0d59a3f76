/*
 * The command line of `countersign-verify` and of `countersign verify`.
 */
#ifndef LEDGER_VERIFY_MAIN_H
#define LEDGER_VERIFY_MAIN_H

#include "ledger/scan/scan.h"

struct verify_defaults {
	const char *program;	/* as called, for messages: "countersign verify" */
	const char *path;	/* bundle where none is named, or NULL */
	const char *no_path;	/* why there is none, or NULL: usage */
	int no_path_status;	/* to leave with then */
	const char *key;	/* file with the vkey to pin where none is named, or NULL */
	/* Give the scanner the vault's own secrets (scanner_add_secret); NULL
	 * where there is no vault.  0, or -1 with a message: the scan then goes on
	 * by formats, and without tags or a clean scan record in the evidence
	 * nothing is established about secrets. */
	int (*secrets)(void *context, struct scanner *scanner, char *err,
	    size_t err_len);
	void *context;
};

/* argv[0] is skipped.  Exit status: 0 complete, 1 gap or a secret found,
 * 2 not established, 3 usage or I/O. */
int verify_main(int argc, char **argv, const struct verify_defaults *defaults);

#endif
