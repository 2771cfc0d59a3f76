/*
 * Outside text on its way into a page.  Markup is escaped in every place where
 * text can stand; what would be invisible, or would turn the text around it
 * (controls, bidi controls, zero width, tags, bytes that are no UTF-8), is shown
 * by its number.
 */
#ifndef LEDGER_REPORT_HTML_ESCAPE_H
#define LEDGER_REPORT_HTML_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* As an element's text. */
void html_text(FILE *out, const char *text, size_t len);
/* A string's first max bytes, with an ellipsis where that is not all. */
void html_str(FILE *out, const char *text, size_t max);
/* In double quotes, as an attribute's value: numbers without an element. */
void html_attr(FILE *out, const char *text, size_t len);

/* One JSON value without white space (record_check has passed it), laid out
 * over lines; after max bytes the rest is only counted.  marked: names stand
 * out, by an element for each. */
void html_json(FILE *out, const char *json, size_t len, size_t max, bool marked);

#endif
