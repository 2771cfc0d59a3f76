/*
 * What verification and scan found, for people (plain text, colour only where
 * asked for) and for machines (one JSON object, versioned).
 */
#ifndef LEDGER_REPORT_H
#define LEDGER_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "ledger/scan/scan.h"
#include "ledger/verify/verify.h"

#define REPORT_VERSION 1

struct report {
	const char *path;		/* what was verified, as given */
	const char *key;		/* name of the pinned key, or NULL */
	const struct verify_result *verify;
	const struct scan_result *scan;	/* NULL: not scanned */
	double seconds;
};

/* 0 complete, 1 a gap or a secret found, 2 not established or not scanned in full. */
int report_status(const struct report *report);

/* 0, or -1 where the stream has an error. */
int report_text(const struct report *report, bool colour, FILE *out);
int report_json(const struct report *report, FILE *out);

#endif
