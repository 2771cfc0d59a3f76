/*
 * Known secrets, looked for in the forms in which they are likely to stand in
 * a text.  Private to the scanner.  Values lie in locked memory.
 */
#ifndef LEDGER_SCAN_NEEDLES_H
#define LEDGER_SCAN_NEEDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan_needles;

struct scan_needles *scan_needles_new(void);
void scan_needles_free(struct scan_needles *needles);	/* wipes */

/* 0, or -1 where memory lacks or there are too many. */
int scan_needles_add(struct scan_needles *needles, const char *name,
    const uint8_t *value, size_t len);

unsigned scan_needles_count(const struct scan_needles *needles);
unsigned scan_needles_short(const struct scan_needles *needles);
bool scan_needles_bytes(const struct scan_needles *needles);	/* one is not ASCII */
/* Characters of a value that any of these, or a format, makes of what lines cut
 * apart; SCAN_RUN_MIN at most. */
size_t scan_needles_least(const struct scan_needles *needles);

/* Call found for each, in order; they do not overlap. */
void scan_needles_run(struct scan_needles *needles, const uint8_t *text,
    size_t len, void (*found)(void *context, size_t at, size_t len,
    const char *name, const char *form), void *context);

#endif
