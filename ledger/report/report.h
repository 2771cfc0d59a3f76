/*
 * What verification and scan found: for people as plain text (colour only where
 * asked for) and as one page of HTML (html.h); for machines as one JSON object
 * (verdict.schema.json) and as SARIF 2.1.0 for tools that collect findings.
 */
#ifndef LEDGER_REPORT_H
#define LEDGER_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "ledger/coverage/coverage.h"
#include "ledger/record/json_out.h"
#include "ledger/scan/scan.h"
#include "ledger/verify/verify.h"

#define REPORT_VERSION 1

struct report {
	const char *path;		/* what was verified, as given */
	const char *dir;		/* where its files are: path, or what it was unpacked to */
	const char *key;		/* name of the pinned key, or NULL */
	const char *trust;		/* SHA-256 of the trust policy, hex, or NULL: none */
	const struct verify_result *verify;
	const struct scan_result *scan;	/* NULL: not scanned */
	const struct coverage *coverage;	/* NULL: nothing was held against the records */
	double seconds;
};

/* Of the whole: a gap also where a secret was found, not established also where
 * not all was scanned.  Its number is the exit status. */
enum verify_verdict report_verdict(const struct report *report);

/* What stands apart, of the whole and of each stream. */
enum report_statement {
	REPORT_INTEGRITY, REPORT_COMPLETENESS, REPORT_ANCHORING, REPORT_COVERAGE,
	REPORT_SECRETS, REPORT_STATEMENTS
};
const char *report_statement_name(enum report_statement which);

void report_whole(const struct report *report,
    struct verify_statement out[REPORT_STATEMENTS]);

/* Secrets found in each stream's records; -1: cannot be told.  streams of
 * them, to be freed; NULL where memory lacks. */
int64_t *report_stream_secrets(const struct report *report);
void report_stream(const struct report *report, unsigned stream, int64_t secrets,
    struct verify_statement out[REPORT_STATEMENTS]);

/* 0, or -1 where the stream has an error. */
int report_text(const struct report *report, bool colour, FILE *out);
int report_json(const struct report *report, FILE *out);
/* The members `findings` and `finding_count`, as in verdict.schema.json. */
void report_json_findings(const struct verify_result *result, struct json_out *out);
int report_sarif(const struct report *report, FILE *out);

#endif
