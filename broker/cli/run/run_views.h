/*
 * A text in all that it decodes to (ledger/scan/view/view.h): percent, JSON and other
 * escapes, base64 of both alphabets from every phase, hexadecimal, base32, gzip,
 * zlib, zstd and zip below those, and these inside one another; backwards and by
 * rot13, each of these and the text itself.  Pure.
 */
#ifndef BROKER_CLI_RUN_RUN_VIEWS_H
#define BROKER_CLI_RUN_RUN_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

/* True stops. */
typedef bool run_views_each(void *arg, const char *text, size_t len);

/* Calls each for the text and for every one of its views; 1 where it stopped,
 * 0, or -1 where memory lacks or it is nested too deep, or
 * unpacks to too much, to be told. */
int run_views(const char *text, size_t len, run_views_each *each, void *arg);

#endif
