/*
 * What a log sends to a witness, c2sp.org/tlog-witness, add-checkpoint:
 *
 *   old <size>
 *   <base64 hash>            consistency proof, at most 63 lines
 *
 *   <the checkpoint, as signed>
 *
 * Both functions are pure: any thread.
 */
#ifndef LEDGER_ANCHOR_SUBMISSION_H
#define LEDGER_ANCHOR_SUBMISSION_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/tree/note.h"
#include "ledger/tree/tree.h"

#define SUBMISSION_PROOF_MAX 63
#define SUBMISSION_MAX (32 + SUBMISSION_PROOF_MAX * 45 + 1 + NOTE_MAX)

struct submission {
	uint64_t old_size;
	struct tree_proof proof;	/* from old_size to the checkpoint's */
	const char *note;		/* in the body */
	size_t note_len;
};

/* Take a body apart; the note is only delimited.  0, or -1 with the rule that
 * it breaks in *why (a constant).  It lives as long as body. */
int submission_parse(struct submission *submission, const char *body,
    size_t len, const char **why);

/* The length without the NUL it adds, or -1: no room, or too many hashes. */
int submission_format(const struct submission *submission, char *out,
    size_t cap);

#endif
