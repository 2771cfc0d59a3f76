/* What speaks for or against a value that matches a token format's pattern:
 * checksums, structure, entropy.  Private to the scanner; pure, any thread. */
#ifndef LEDGER_SCAN_FORMAT_CHECK_H
#define LEDGER_SCAN_FORMAT_CHECK_H

#include "ledger/scan/format/formats.h"

enum scan_outcome {
	SCAN_ABSENT,	/* this check says nothing */
	SCAN_RIGHT,
	SCAN_WRONG,
	SCAN_MENTION	/* no secret at all: prose, an example, a redaction */
};

/* token is the match; rest_len bytes follow it in the text. */
enum scan_outcome scan_check(enum scan_check check, const uint8_t *token,
    size_t len, size_t prefix_len, size_t rest_len);

/* Where the checksum's own characters stand; false where there is none. */
bool scan_check_place(enum scan_check check, size_t len, size_t prefix_len,
    size_t *at, size_t *sum_len);

/* Write the right checksum into a token of that shape; what is no checksum
 * changes nothing. */
void scan_check_fix(enum scan_check check, uint8_t *token, size_t len,
    size_t prefix_len);

/* Shannon entropy in tenths of a bit per byte. */
unsigned scan_entropy(const uint8_t *text, size_t len);

#endif
