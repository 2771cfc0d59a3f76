/*
 * What the broker found when it looked for the vault's secrets before it sealed a
 * run: its `scan` record, the last word on secrets that are too weak for tags.
 */
#ifndef LEDGER_REPORT_PRESEALED_H
#define LEDGER_REPORT_PRESEALED_H

#include <jansson.h>
#include <stdio.h>

#include "ledger/record/json_out.h"
#include "ledger/report/report.h"

struct presealed {
	json_t *body;		/* of the record; NULL: there is none */
	uint64_t index;
	char verdict[16];
	long long found, secrets, weak;	/* 0 where not told */
};

/* A line of a text report, a member `sealed_scan`, a section of the page. */
void presealed_text(const struct report *report, FILE *out);
void presealed_json(const struct report *report, struct json_out *out);
void presealed_html(const struct report *report, FILE *out);

#endif
