/*
 * Findings that were looked at and accepted, so that only new ones are told.
 *
 * The file holds marks: 64 bits of a hash of kind and value under a key that
 * stands in a file of its own, FILE.key, and is not to be shared with whoever
 * gets the marks: without it they say nothing about a value, not even about a
 * weak one.
 */
#ifndef LEDGER_SCAN_BASELINE_H
#define LEDGER_SCAN_BASELINE_H

#include "ledger/scan/scan.h"

#define SCAN_BASELINE_MAX 100000	/* marks */

struct scan_baseline {
	uint8_t key[SCAN_BASELINE_KEY_LEN];
	uint8_t (*mark)[SCAN_MARK_LEN];	/* sorted once read */
	size_t n, cap;
};

/* Both fill a *baseline that is all zero; 0, or -1 with a message. */
int scan_baseline_read(struct scan_baseline *baseline, const char *path,
    char *err, size_t err_len);
/* To be written: takes the key of FILE.key, which is made where it lacks. */
int scan_baseline_begin(struct scan_baseline *baseline, const char *path,
    char *err, size_t err_len);

/* 0, or -1: memory, or too many. */
int scan_baseline_add(struct scan_baseline *baseline,
    const uint8_t mark[SCAN_MARK_LEN]);
int scan_baseline_write(struct scan_baseline *baseline, const char *path,
    char *err, size_t err_len);

/* context is the baseline; the shape of scanner_set_baseline's. */
bool scan_baseline_has(void *context, const uint8_t mark[SCAN_MARK_LEN]);

void scan_baseline_free(struct scan_baseline *baseline);

#endif
