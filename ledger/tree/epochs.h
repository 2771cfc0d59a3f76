/*
 * The log's keys over time.  The key that a verifier pins (the origin key,
 * epoch 0) signs the log from its beginning.  A `key` record at index i brings
 * in the next epoch's key; the checkpoint of size i + 1, the epoch's last, is
 * signed by the old key, and every later one by the new.  The old secret is
 * erased then: whoever steals a key cannot rewrite what was signed before it.
 *
 * The file `epochs` beside the records proves it without them, an entry for
 * each change:
 *
 *   <the key record's line>
 *   <its tlog-proof (proof.h) under the epoch's last checkpoint>
 *   <an empty line>
 *
 * Each key signs exactly the sizes of its epoch: a newer key on an older size,
 * or an older one on a newer, is no signature.
 */
#ifndef LEDGER_TREE_EPOCHS_H
#define LEDGER_TREE_EPOCHS_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/record/record.h"
#include "ledger/tree/note.h"

#define EPOCHS_FILE "epochs"
#define EPOCHS_MAX 16384	/* epochs of one ledger */
#define EPOCHS_BYTES_MAX (64 * 1024 * 1024)

struct epoch {
	struct note_key key;
	uint64_t until;		/* the largest size it signs; UINT64_MAX: in force */
	uint64_t time_us;	/* when it was brought in, by its record; 0: the first */
};

struct epochs {
	struct epoch *epoch;	/* in order; at least the pinned one */
	unsigned count;
};

/* The pinned key alone.  0, or -1 out of memory. */
int epochs_pin(struct epochs *epochs, const struct note_key *key);
void epochs_free(struct epochs *epochs);

/*
 * Follow the file from the pinned key.  0, or -1 with the rule that it breaks
 * in *why (a constant); what was good before that stays.  An entry that is not
 * whole at the end is left out: it is being written, or was torn.
 */
int epochs_follow(struct epochs *epochs, const char *text, size_t len,
    const char **why);

/* The key that signs that size; never NULL. */
const struct note_key *epochs_key(const struct epochs *epochs, uint64_t size);

/* The epoch whose key has that id, or -1. */
int epochs_find(const struct epochs *epochs, const uint8_t id[NOTE_ID_LEN]);

/*
 * The `key` record's body: {"epoch":N,"key":"VKEY","before":"VKEY","reason":…}.
 * The length without NUL, or -1.
 */
int epochs_body(uint64_t epoch, const struct note_key *key,
    const struct note_key *before, const char *reason, char *out, size_t cap);

/* What such a record says; 0, or -1 where it says nothing of the kind. */
int epochs_read_body(struct record_slice body, uint64_t *epoch,
    struct note_key *key, struct note_key *before);

/* Bytes of all whole entries at the beginning of text[0..len). */
size_t epochs_whole(const char *text, size_t len);

/* Bytes of the first entry in text[0..len); 0: not whole. */
size_t epochs_entry_len(const char *text, size_t len);

#endif
