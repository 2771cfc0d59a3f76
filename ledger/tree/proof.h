/*
 * A record's own proof, c2sp.org/tlog-proof@v1: that its leaf is in the tree
 * that a signed checkpoint commits to.  Text that anybody can keep, and check
 * without the ledger.
 *
 *   c2sp.org/tlog-proof@v1
 *   index <decimal>
 *   <base64 hash>            as many as the proof has
 *
 *   <the checkpoint, as signed>
 */
#ifndef LEDGER_TREE_PROOF_H
#define LEDGER_TREE_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/problem.h"
#include "ledger/tree/note.h"
#include "ledger/tree/tree.h"

#define PROOF_TEXT_MAX (64 + TREE_PROOF_MAX * 45 + NOTE_MAX)

/* The text of a proof.  The length without the NUL it adds, or -1 where cap is
 * too small. */
int proof_format(const struct tree_proof *proof, uint64_t index,
    const char *note, size_t note_len, char *out, size_t cap);

/*
 * Compose the proof of record index of the ledger whose directory is dirfd,
 * under the latest checkpoint that witnesses cosigned and that holds it, or its
 * latest one.  Only files are read, so it may be done while
 * the ledger is written, in any process and thread.  The length without the
 * NUL it adds, or -1 with a problem: not sealed yet, unreadable.
 */
int proof_compose(int dirfd, uint64_t index, char *out, size_t cap,
    struct problem *problem);

/* The checkpoint that a proof holds, not verified.  0, or -1. */
int proof_checkpoint(const char *text, size_t len,
    struct checkpoint *checkpoint);

/*
 * Does the proof text show that leaf is in the log with this key?  The index
 * and the checkpoint are in *index and *checkpoint.  0, or -1 with the reason
 * in *why (a constant); then the checkpoint's size is above 0 only where the
 * key did sign it, and it is the record that is not in it.
 */
int proof_check(const char *text, size_t len,
    const uint8_t leaf[TREE_HASH_LEN], const struct note_key *key,
    uint64_t *index, struct checkpoint *checkpoint, const char **why);

#endif
