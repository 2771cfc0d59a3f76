/*
 * The report as one page of HTML that needs nothing else: no script, no font, no
 * picture; its own style sheet is the only thing that its content security
 * policy lets in.  Records are opened by the browser itself (details), filters
 * are a style sheet's, parents and what they led to are links.
 *
 * The same evidence gives the same bytes.  Of very long runs the records of
 * either end are shown and those between are counted: the page says which.
 */
#ifndef LEDGER_REPORT_HTML_H
#define LEDGER_REPORT_HTML_H

#include <stdio.h>

#include "ledger/report/report.h"

/* 0, or -1 where the stream has an error or memory lacks. */
int report_html(const struct report *report, FILE *out);

#endif
