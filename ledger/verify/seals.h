/*
 * The checkpoints that a verification is held against: the latest one, the log
 * of all of them, a head that the verifier saved, and what others signed.
 */
#ifndef LEDGER_VERIFY_SEALS_H
#define LEDGER_VERIFY_SEALS_H

#include "ledger/tree/epochs.h"
#include "ledger/verify/verify.h"

#define SEALS_MAX (1u << 20)	/* kept, the latest ones */

enum seal_state {
	SEAL_MALFORMED,		/* or not there: what is zeroed is not good */
	SEAL_FORGED,		/* in the pinned key's name, but not signed by it */
	SEAL_UNPINNED,		/* not signed by it, or there is none */
	SEAL_GOOD		/* signed by the pinned key */
};

struct seal {
	struct {
		uint64_t size;
		uint8_t root[TREE_HASH_LEN];
	} at;
	enum seal_state state;
	bool saved;		/* a head that the verifier kept */
	bool kept;		/* from what others signed; its state is not known */
	bool reached, matches;	/* set by the pass */
	unsigned others;	/* signatures of other keys */
	const char *why;	/* of what is not good, constant */
};

/* Read a note, and hold it against the key of its size's epoch; epochs NULL or
 * without any: no key is pinned.  Where it is one, origin (NOTE_NAME_MAX + 1 bytes, or NULL) gets
 * whose. */
void seal_read(struct seal *seal, const char *text, size_t len,
    const struct epochs *epochs, char *origin);

/* In the order of their sizes, once sorted. */
struct seals {
	struct seal *seal;
	unsigned count, oldest;
	bool more;		/* than are kept */
};

/* 0, or -1 where memory lacks. */
int seals_add(struct seals *seals, const struct seal *seal);
void seals_sort(struct seals *seals);

/* Where the log of all checkpoints is, and what is known before. */
struct seals_log {
	int dirfd;
	uint64_t size;			/* read only from about this size on */
	const struct epochs *epochs;
	/* the checkpoint of the note that stands in a file of its own: there too it
	 * need be verified only once; note NULL: none */
	const struct seal *latest;
	const char *note;
	size_t note_len;
	unsigned threads;
};

/*
 * The log of all checkpoints: sizes must grow, and each be signed; findings for
 * what is not so.  Read in constant memory.  0, or -1 where memory lacks.
 */
int seals_load_log(struct seals *seals, const struct seals_log *from,
    struct verify_result *result);

/* The text of the note of that size and root in the log of all, to be freed;
 * NULL where it is not there. */
char *seals_find_text(int dirfd, const struct seal *seal, size_t *len);

#endif
