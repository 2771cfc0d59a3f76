#include "ledger/report/html_impl.h"

/* The assembler reads the file: found from the top of the source tree, where
 * make runs. */
__asm__(".pushsection .rodata\n"
    ".type report_style_begin, @object\n"
    "report_style_begin:\n"
    ".incbin \"ledger/report/report.css\"\n"
    ".type report_style_end, @object\n"
    "report_style_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern const char report_style_begin[], report_style_end[];

const char *
html_style(size_t *len)
{
	*len = (size_t)(report_style_end - report_style_begin);
	return report_style_begin;
}
