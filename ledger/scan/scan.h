/*
 * Looks for secrets in files where none should be: by the token formats of
 * formats.h, and by known secrets in every form in which they are likely
 * to stand there: raw, base64 (three alignments), base64url, hexadecimal in
 * either case, percent-encoded, JSON-escaped.
 *
 * What cannot be read or decoded makes the scan incomplete, never clean; and a
 * canary that is built in must be found, or the scan says nothing at all.
 * Findings tell where and what kind, and never the value.
 *
 * A placeholder looks exactly like a token, so one that stands in a scanned
 * file is a finding: nothing in a bundle needs one.
 */
#ifndef LEDGER_SCAN_H
#define LEDGER_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/scan/formats.h"

#define SCAN_FINDINGS_MAX 100	/* kept; all are counted */
#define SCAN_SECRET_MIN 8	/* shorter secrets are too plain to be looked for */

enum scan_verdict {
	SCAN_CLEAN,
	SCAN_FOUND,
	SCAN_INCOMPLETE		/* a part was not scanned, and nothing was found */
};

struct scan_finding {
	char path[256];
	uint64_t offset, line;	/* line from 1 */
	uint64_t len;
	char what[96];		/* format's or secret's name: never a value */
	const char *form;	/* "raw", "base64", ... */
	enum scan_confidence confidence;
	bool known;		/* a secret that was given, not a format */
};

struct scan_result {
	enum scan_verdict verdict;
	struct scan_finding finding[SCAN_FINDINGS_MAX];
	unsigned findings;
	uint64_t finding_count;		/* all that make it FOUND */
	uint64_t advisory_count;	/* low confidence, and identifiers */
	uint64_t files, bytes;
	unsigned secrets;		/* known secrets that were looked for */
	unsigned short_secrets;		/* given, but too short */
	char incomplete[256];		/* the first reason, or "" */
};

struct scanner;

/* NULL where memory lacks. */
struct scanner *scanner_new(void);
/* Wipes what it holds. */
void scanner_free(struct scanner *scanner);

/* Look for this one too; name is shown in findings.  The value is copied into
 * locked memory.  Before the first scan.  0, or -1 where memory lacks. */
int scanner_add_secret(struct scanner *scanner, const char *name,
    const uint8_t *value, size_t len);

/*
 * Scan a file or all files below a directory.  Adds to *result, which the
 * caller has set to zero before the first call.  0, or -1 with a message where
 * the path cannot be opened or the canary was not found.
 */
int scanner_scan(struct scanner *scanner, const char *path,
    struct scan_result *result, char *err, size_t err_len);

#endif
