/*
 * Outside text on a terminal: what must not reach it as it is (utf8_is_odd) does not.
 * Any thread, each with a stream of its own.
 */
#ifndef LEDGER_OUTPUT_SHOWN_H
#define LEDGER_OUTPUT_SHOWN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* On a terminal's line: what is odd becomes '?'; after max bytes "..". */
void shown_put(FILE *out, const char *text, size_t max);

/* JSON, on a terminal: what is odd in it is escaped, which only a string can hold, so it
 * means the same; LFs stay.  Of what is no JSON, too, nothing odd comes through. */
void shown_json(FILE *out, const char *text, size_t len);

/* A stream whose lines come out at `to` as shown_json shows them, each when it is whole;
 * fclose writes the rest, and leaves `to` open.  NULL: out of memory. */
FILE *shown_lines(FILE *to);

/* A complaint, which may quote a hostile file: so on standard error, with a LF behind
 * it.  LFs stay; what is beyond SHOWN_COMPLAINT_MAX bytes is cut off. */
#define SHOWN_COMPLAINT_MAX 4096
void shown_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void shown_vcomplain(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

#endif
