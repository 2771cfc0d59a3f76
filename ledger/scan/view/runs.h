/*
 * Runs of digits in a text: what base64, hexadecimal and base32 share.  Private
 * to the views.
 */
#ifndef LEDGER_SCAN_VIEW_RUNS_H
#define LEDGER_SCAN_VIEW_RUNS_H

#include "ledger/scan/view/view.h"

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

/* Hexadecimal, and bytes as decimal numbers.  0, or -1 where memory lacks. */
int scan_hex_runs(const struct scan_part *part, struct scan_view *hex,
    struct scan_view *decimal);

struct scan_signs;

/* ---- parts of the above ---- */

/* A list in a run of numbers. */
int scan_decimal_run(const struct scan_part *part, const struct scan_run *run,
    struct scan_view *view);
/* A dump in the beginning of a run: from a line's start.  *end is behind its lines. */
int scan_hex_dump(const struct scan_part *part, const struct scan_run *run,
    struct scan_view *view, size_t *end);
/* Digits [from, to), to a view that has room. */
int scan_hex_number(const struct scan_part *part, size_t from, size_t to, struct scan_view *view);
size_t scan_hex_end(const struct scan_part *part, size_t at, size_t end);
/* End a segment; forget one that is too short for anything. */
int scan_hex_settle(struct scan_view *view);

/* A run of SCAN_RUN_LONG digits and more: where it is text, and from where
 * something packed begins in it. */
int scan_run_long(const struct scan_part *part, const struct scan_run *run,
    struct scan_view *base64, struct scan_view *base32);
/* What is seldom: turned around, or base32.  any: what the run's digits show. */
int scan_run_others(const struct scan_part *part, const struct scan_run *run,
    const struct scan_signs *any, struct scan_view *base64, struct scan_view *base32);

/* Base32 of one case in a run of base64's alphabet. */
int scan_base32_runs(const struct scan_part *part, enum scan_alphabet alphabet,
    const struct scan_run *run, struct scan_view *view);

/* Four digits of base64 at a time; returns what is left over. */
const uint8_t *scan_decode_quads(const uint8_t *p, const uint8_t *end, uint8_t **out);
/* Digits of `bits` bits each from text[from..to) into bytes; of base64. */
int scan_decode(const struct scan_part *part, const uint8_t value[256], size_t from,
    size_t to, unsigned bits, struct scan_view *view);
int scan_decode64(const struct scan_part *part, size_t from, size_t to,
    struct scan_view *view);

/* Base64 that was turned around, from one phase. */
int scan_turned_base64(const struct scan_part *part, const struct scan_run *run,
    unsigned phase, struct scan_view *view);

#endif
