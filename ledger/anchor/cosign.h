/*
 * Witnesses' signatures, c2sp.org/tlog-cosignature, cosignature/v1:
 *
 *   — <witness> <base64(key id || u64be time || signature)>
 *
 * Ed25519 signs "cosignature/v1\ntime <decimal>\n" and the note's text: the
 * witness has seen this tree, consistent with all it saw before, at that time.
 * All functions are pure: any thread.
 */
#ifndef LEDGER_ANCHOR_COSIGN_H
#define LEDGER_ANCHOR_COSIGN_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/tree/note.h"

#define COSIGN_LINE_MAX (4 + NOTE_NAME_MAX + 1 + 104 + 1)	/* without NUL */

/* The line for the text of a note.  The length without the NUL it adds, or -1:
 * no room, a key of another type, a text that is no note's. */
int cosign_line(const char *text, size_t text_len, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], uint64_t time_s, char *out, size_t cap);

/*
 * A note with the signature of one key alone: what others added, and how much,
 * is nobody's business here.  The key's signature must be good.  The length
 * without the NUL it adds, or -1.
 */
#define COSIGN_PLAIN_MAX (CHECKPOINT_TEXT_MAX + 1 + NOTE_LINE_MAX)
int cosign_plain(const struct note *note, const struct note_key *key,
    char *out, size_t cap);

/*
 * Of the signature lines that a witness answered with, the one by this key, if
 * it is good for the note's text: as cosign_line writes it, with the witness's
 * time in *time_s.  Lines of other keys are ignored.  The length, or -1 with
 * the reason in *why (a constant).
 */
int cosign_pick(const char *note, size_t note_len, const char *lines,
    size_t lines_len, const struct note_key *key, uint64_t *time_s, char *out,
    size_t cap, const char **why);

#endif
