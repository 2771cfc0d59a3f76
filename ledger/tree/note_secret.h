/*
 * A key to sign notes with, as the one line of a file that nobody but its owner may
 * read; the form is that of Go's x/mod/sumdb/note:
 *
 *   PRIVATE+KEY+<name>+<hex8(id)>+<base64(type || seed)>\n
 *
 * Call sodium_init() before.  What is secret is wiped in all that these functions
 * leave; the caller wipes the rest.
 */
#ifndef LEDGER_TREE_NOTE_SECRET_H
#define LEDGER_TREE_NOTE_SECRET_H

#include "ledger/problem.h"
#include "ledger/tree/note.h"

#define NOTE_SEED_LEN 32
#define NOTE_SECRET_MAX (12 + NOTE_VKEY_MAX + 1)	/* the line with its LF, without NUL */

/* A new key.  0, or -1: the name is none for a key. */
int note_secret_new(const char *name, enum note_type type, struct note_key *key,
    uint8_t seed[NOTE_SEED_LEN]);

/* The line with its LF; the length without the NUL it adds. */
int note_secret_format(const struct note_key *key, const uint8_t seed[NOTE_SEED_LEN],
    char out[NOTE_SECRET_MAX + 1]);

/* From a text, which is cut up; sk may be locked memory.  0, or -1. */
int note_secret_parse(char *text, enum note_type type, struct note_key *key,
    uint8_t sk[NOTE_SK_LEN]);

/* A file for a new key, 0600, durable; never over another. */
int note_secret_create(const char *path, const struct note_key *key,
    const uint8_t seed[NOTE_SEED_LEN], struct problem *problem);

/* The key in a file that its owner alone can read.  0, or -1. */
int note_secret_load(const char *path, enum note_type type, struct note_key *key,
    uint8_t sk[NOTE_SK_LEN], struct problem *problem);

#endif
