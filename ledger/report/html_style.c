#include "ledger/report/html_impl.h"
#include "ledger/embed.h"

EMBED(report_style, "ledger/report/report.css");

const char *
html_style(size_t *len)
{
	*len = (size_t)(report_style_end - report_style_begin);
	return report_style_begin;
}
