/*
 * Outside text that people will look at: which of its characters must not
 * reach a terminal or a page as they are.
 */
#ifndef LEDGER_OUTPUT_SHOWN_H
#define LEDGER_OUTPUT_SHOWN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The character at p, with left bytes: its length, or 0 where it is no UTF-8. */
unsigned shown_decode(const char *p, size_t left, uint32_t *c);

/* Invisible, a control, or changing how what stands beside it is shown. */
bool shown_is_odd(uint32_t c);

/* On a terminal's line: what is odd becomes '?'; after max bytes "..". */
void shown_put(FILE *out, const char *text, size_t max);

/* JSON, on a terminal: what is odd in it is escaped, which only a string can hold, so it
 * means the same; LFs stay.  Of what is no JSON, too, nothing odd comes through. */
void shown_json(FILE *out, const char *text, size_t len);

/* A complaint, which may quote a hostile file: so on standard error, with a LF behind
 * it.  LFs stay; what is beyond SHOWN_COMPLAINT_MAX bytes is cut off. */
#define SHOWN_COMPLAINT_MAX 4096
void shown_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void shown_vcomplain(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

#endif
