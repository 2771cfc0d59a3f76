/*
 * Runs of digits in a text: what base64, hexadecimal and base32 share.  Private
 * to the views.
 */
#ifndef LEDGER_SCAN_RUNS_H
#define LEDGER_SCAN_RUNS_H

#include "ledger/scan/view.h"

#define SCAN_NO_DIGIT 0xff	/* not of the alphabet */
#define SCAN_GAP 0xfe		/* may stand between two hexadecimal numbers */
#define SCAN_RUN_LONG 240	/* digits of a run that is more than one value */

enum scan_alphabet { SCAN_BASE64, SCAN_HEX, SCAN_BASE32, SCAN_BASE32_LOWER, SCAN_ALPHABETS };

/* Of a part's text, not of the view that the part lies in. */
struct scan_run {
	size_t start, end;
};

/* What every byte counts as. */
extern const uint8_t scan_digit[SCAN_ALPHABETS][256];

/* Whether the run is not simply a piece of the text below, where it was decoded. */
bool scan_run_new(const struct scan_part *part, const struct scan_run *run);

/* 0, or -1 where memory lacks. */
int scan_hex_runs(const struct scan_part *part, struct scan_view *view);
int scan_letter_runs(const struct scan_part *part, struct scan_view *base64,
    struct scan_view *base32);

/* Base64 that was turned around, from one phase. */
int scan_turned_base64(const struct scan_part *part, const struct scan_run *run,
    unsigned phase, struct scan_view *view);

#endif
