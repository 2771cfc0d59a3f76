/*
 * What others have said about a ledger, kept beside it in DIR/anchors:
 *
 *   cosigned        every checkpoint that witnesses cosigned: text, empty line,
 *                   the log's signature, theirs; each followed by an empty line
 *   checkpoint      the last of them
 *   <size>.note     a checkpoint exactly as it was stamped: the log's signature
 *                   and no other.  size in 20 decimal digits
 *   <size>.<authority>.tsr   the authority's response (RFC 3161)
 *   recent          what each of them said last, as the daemon records it (after.h)
 *   alarm.<who>     a witness's contradiction: what was submitted, and what it
 *                   answered.  It is not asked again while that lies there
 *
 * None of it need be believed: signatures are checked by whoever reads it.  The
 * process that talks to witnesses writes here and nowhere else: one at a time,
 * while any process reads.
 */
#ifndef LEDGER_ANCHOR_ANCHORS_H
#define LEDGER_ANCHOR_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/problem.h"
#include "ledger/tree/note.h"

#define ANCHORS_DIR "anchors"
#define ANCHORS_RECENT "recent"
#define ANCHORS_WHO_MAX 64	/* bytes of an authority's name in a file's name */

/* Letters, digits, '-' and '_', at most ANCHORS_WHO_MAX - 1: fit for a name. */
bool anchors_who_valid(const char *who);

/* Open DIR/anchors for writing, made where it is not there, and cut what a
 * crash left behind the last whole entry of `cosigned`.  A descriptor, or -1
 * with a problem. */
int anchors_open(int ledger_dirfd, struct problem *problem);

/* One more checkpoint with its cosignatures.  0, or -1 with a problem. */
int anchors_add_cosigned(int dirfd, const char *note, size_t len,
    struct problem *problem);

int anchors_add_stamp(int dirfd, uint64_t size, const char *who,
    const char *note, size_t note_len, const uint8_t *der, size_t der_len,
    struct problem *problem);

/* The size of the latest one that this authority stamped, 0: none. */
uint64_t anchors_stamped(int dirfd, const char *who);

/* In place of the one before. */
int anchors_put_recent(int dirfd, const char *text, size_t len,
    struct problem *problem);

int anchors_add_alarm(int dirfd, const char *who, const char *text,
    size_t len, struct problem *problem);
bool anchors_alarmed(int dirfd, const char *who);

#endif
