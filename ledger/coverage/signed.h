/*
 * Who signed a ground truth.  A signed one is a C2SP signed note of any length: the
 * file as it was, an empty line, and a line for each signature (note.h), by Ed25519
 * keys such as logs have.
 *
 * Call sodium_init() before.  Any thread.
 */
#ifndef LEDGER_COVERAGE_SIGNED_H
#define LEDGER_COVERAGE_SIGNED_H

#include "ledger/tree/note.h"

enum signed_by {
	SIGNED_NOT,
	SIGNED_UNKNOWN,		/* by keys that are not asked about */
	SIGNED_FORGED,		/* in the name of one of these, and not by him */
	SIGNED_GOOD
};

/* Bytes of the truth itself: all where no signature stands behind it. */
size_t signed_text_len(const char *text, size_t len);

/* Against these keys; *which gets the one it is about, of GOOD and FORGED.  Of
 * UNKNOWN name gets the first signer's, which anybody may have written. */
enum signed_by signed_judge(const char *text, size_t len, const struct note_key *key,
    size_t keys, size_t *which, char name[NOTE_NAME_MAX + 1]);

/* A text (ending in LF, without a signature) with its signature, to be freed, or
 * NULL: it is no note's text, or memory lacks. */
char *signed_make(const char *text, size_t len, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], size_t *out_len);

#endif
