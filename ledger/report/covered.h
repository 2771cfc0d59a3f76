/*
 * What was held against the records, observer by observer, and what each adapter
 * says it sees: the parts of the reports that are about coverage.
 */
#ifndef LEDGER_REPORT_COVERED_H
#define LEDGER_REPORT_COVERED_H

#include <stdio.h>

#include "ledger/coverage/coverage.h"
#include "ledger/record/json_out.h"
#include "ledger/verify/verify.h"

/* Lines of a text report; coverage may be NULL. */
void covered_text(const struct coverage *coverage, FILE *out);
/* All that the adapters say, an entry a line. */
void covered_details(const struct coverage *coverage, FILE *out);
/* The member `coverage`, where there is anything to tell. */
void covered_json(const struct coverage *coverage, struct json_out *out);
/* A section of the page. */
void covered_html(const struct coverage *coverage, FILE *out);

#endif
