/*
 * C2SP signed notes and checkpoints: the form in which a ledger's owner, its
 * witnesses, and any other transparency log's tools agree on a tree.
 *
 *   <origin>\n<size>\n<base64 root>\n            the text, a tlog-checkpoint
 *   \n
 *   — <key name> <base64(key id || signature)>\n one line a signature
 *
 * Ed25519 signs the text up to and including the LF of its last line.
 * Specifications: c2sp.org/signed-note, c2sp.org/tlog-checkpoint,
 * c2sp.org/tlog-cosignature.  Compatible with Go's x/mod/sumdb/note.
 *
 * Call sodium_init() before.  No global state; any thread.
 */
#ifndef LEDGER_TREE_NOTE_H
#define LEDGER_TREE_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/tree/tree.h"

#define NOTE_NAME_MAX 255	/* bytes of a key's name */
#define NOTE_ID_LEN 4
#define NOTE_PK_LEN 32
#define NOTE_SK_LEN 64		/* libsodium's secret key: seed and public key */
#define NOTE_SIG_LEN 64
#define NOTE_SIGS_MAX 32	/* signature lines read; the specification asks for 16 */
#define NOTE_BLOB_MAX 72	/* bytes of a signature that is kept: a time and 64 */
#define NOTE_BLOB_READ_MAX 8192	/* bytes of a signature of whatever type */
#define NOTE_MAX 65536		/* bytes of a note */
#define NOTE_VKEY_MAX (NOTE_NAME_MAX + 1 + 8 + 1 + 44)	/* without NUL */
#define NOTE_LINE_MAX (3 + 1 + NOTE_NAME_MAX + 1 + 92 + 1) /* our signature line */
#define CHECKPOINT_TEXT_MAX (NOTE_NAME_MAX + 1 + 20 + 1 + 44 + 1)
#define CHECKPOINT_NOTE_MAX (CHECKPOINT_TEXT_MAX + 1 + NOTE_LINE_MAX)

enum note_type {
	NOTE_ED25519 = 0x01,		/* signs the text */
	NOTE_COSIGNATURE_V1 = 0x04	/* a witness: signs a header with its time, and the text */
};

/* A key to verify with. */
struct note_key {
	char name[NOTE_NAME_MAX + 1];
	uint8_t id[NOTE_ID_LEN];
	enum note_type type;
	uint8_t pk[NOTE_PK_LEN];
};

/* 0, or -1 where name is empty, too long, holds a space or '+', or is not
 * valid UTF-8. */
int note_key_make(struct note_key *key, const char *name, enum note_type type,
    const uint8_t pk[NOTE_PK_LEN]);

/* A vkey, "name+hex8(id)+base64(type || pk)", exactly len bytes; a line end
 * must be cut before.  0, or -1: malformed, an unknown type, an id that is not
 * the key's. */
int note_key_parse(struct note_key *key, const char *vkey, size_t len);

/* The length without the NUL it adds, or -1 where cap is too small. */
int note_key_format(const struct note_key *key, char *out, size_t cap);

struct note_signature {
	const char *name;	/* in the note that was parsed */
	size_t name_len;
	uint8_t id[NOTE_ID_LEN];
	uint8_t blob[NOTE_BLOB_MAX];
	size_t blob_len;	/* over NOTE_BLOB_MAX: of an unknown type, and not kept */
};

struct note {
	const char *text;	/* in the buffer that was parsed, its last LF included */
	size_t text_len;
	unsigned count;
	struct note_signature sig[NOTE_SIGS_MAX];
};

/*
 * Take a note apart; it lives as long as buf.  0, or -1 with the rule that it
 * breaks in *why (a constant): not UTF-8, control bytes, no blank line, no
 * signature, a line that is none, base64 that is not canonical, too many.
 */
int note_parse(struct note *note, const char *buf, size_t len, const char **why);
/* The same of a text of any length. */
int note_parse_long(struct note *note, const char *buf, size_t len, const char **why);

/* Of notes one after the other, each with an empty line behind it: where the last
 * whole one ends, behind that line.  0 where there is none. */
size_t note_last_end(const char *text, size_t len);

/* Behind the signature lines that begin at p, of a text up to end: p where there are
 * none, NULL where one does not end. */
const char *note_signatures_end(const char *p, const char *end);

enum note_verdict {
	NOTE_GOOD,
	NOTE_UNSIGNED,	/* no signature by this key; others prove nothing */
	NOTE_FORGED	/* this key's name and id, but the signature is not its */
};

/* Ed25519 and cosignature/v1 keys.  Of a cosignature that is good, *time
 * (where not NULL) gets the witness's time in seconds since 1970; else 0. */
enum note_verdict note_verify(const struct note *note,
    const struct note_key *key, uint64_t *time);

/* Append to a text (len bytes, ending in LF) its blank line and signature.
 * out may not overlap text.  The length without the NUL it adds, or -1 where
 * cap is too small, the text no note's text, or the key no Ed25519 key. */
int note_sign(const char *text, size_t len, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], char *out, size_t cap);
/* The signature line alone, with its LF, of a text of any length. */
int note_sign_line(const char *text, size_t len, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], char *out, size_t cap);

struct checkpoint {
	char origin[NOTE_NAME_MAX + 1];
	uint64_t size;
	uint8_t root[TREE_HASH_LEN];
};

/* The text; the length without the NUL it adds, or -1. */
int checkpoint_format(const struct checkpoint *checkpoint, char *out, size_t cap);

/* Exactly three lines: our ledgers write no extension lines, so one that has
 * them was not written by us.  0, or -1. */
int checkpoint_parse(struct checkpoint *checkpoint, const char *text, size_t len);

/* Compose and sign.  The key's name must be the origin.  As note_sign. */
int checkpoint_sign(const struct checkpoint *checkpoint,
    const struct note_key *key, const uint8_t sk[NOTE_SK_LEN], char *out,
    size_t cap);
/* The same of a tree, by the key of its log. */
int checkpoint_sign_tree(const struct tree_frontier *tree,
    const struct note_key *key, const uint8_t sk[NOTE_SK_LEN], char *out,
    size_t cap);

/*
 * Parse a note and its checkpoint and verify it against the log's own key,
 * whose name must be the origin.  0, or -1 with the reason in *why (a
 * constant).
 */
int checkpoint_open(struct checkpoint *checkpoint, const char *buf, size_t len,
    const struct note_key *key, const char **why);

#endif
