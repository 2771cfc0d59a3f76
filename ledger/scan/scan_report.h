/* What a scan found, for people, programs and code hosts.  Never a value. */
#ifndef LEDGER_SCAN_REPORT_H
#define LEDGER_SCAN_REPORT_H

#include <stdio.h>

#include "ledger/record/json_out.h"
#include "ledger/scan/scan.h"

struct scan_report {
	const char *program;	/* "countersign scan" */
	const struct scan_result *result;
	const struct scan_finding *finding;	/* all that were kept */
	size_t findings;
	const char *commitment;	/* of the tags, or NULL */
	const char *why;	/* nothing is established: the reason, or NULL */
	bool advisory;		/* tell those of low confidence one by one, too */
	bool colour;
};

/* 0 clean, 1 found, 2 incomplete or nothing established. */
int scan_report_status(const struct scan_report *report);

void scan_report_finding(const struct scan_report *report,
    const struct scan_finding *finding, FILE *out);	/* one line of text */
/* The members of one in JSON that all reports have; what it is stands under that name. */
void scan_report_members(struct json_out *out, const struct scan_finding *finding,
    const char *what);
void scan_report_text(const struct scan_report *report, FILE *out);	/* the end */
void scan_report_json(const struct scan_report *report, FILE *out);
void scan_report_sarif(const struct scan_report *report, FILE *out);	/* 2.1.0 */

#endif
