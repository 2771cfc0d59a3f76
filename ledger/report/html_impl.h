/* The parts of the page. */
#ifndef LEDGER_REPORT_HTML_IMPL_H
#define LEDGER_REPORT_HTML_IMPL_H

#include "ledger/report/html_data.h"

/* The style sheet, as it stands in the source. */
const char *html_style(size_t *len);

void html_timeline(const struct html_data *data, FILE *out);
void html_records(const struct html_data *data, FILE *out);

/* "record 57 (stream broker, seq 57)", for a finding; a link where there is
 * something to go to. */
void html_place(const struct html_data *data, const struct verify_finding *finding,
    FILE *out);

#endif
