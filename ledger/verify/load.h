/* What verification reads before the records: which files there are, where
 * they begin, and the checkpoints that they are held against. */
#ifndef LEDGER_VERIFY_LOAD_H
#define LEDGER_VERIFY_LOAD_H

#include "ledger/bundle/manifest.h"
#include "ledger/verify/verify.h"
#include "ledger/verify/walk.h"

#define LOAD_SEGMENTS_MAX 65536
#define LOAD_SEALS_MAX 16384	/* the latest ones are kept */
#define LOAD_CHECKPOINTS_MAX (64 * 1024 * 1024)	/* bytes of that file's end */

enum seal_state {
	SEAL_GOOD,		/* signed by the pinned key */
	SEAL_UNPINNED,		/* not by it, or there is none */
	SEAL_FORGED,		/* in its name, but not by it */
	SEAL_MALFORMED
};

struct seal {
	struct checkpoint at;
	enum seal_state state;
	bool saved;		/* a head that the verifier kept */
	bool reached, matches;	/* set by the pass */
	unsigned others;	/* signatures of other keys */
	const char *why;	/* of what is not good, constant */
};

struct load {
	int dirfd;
	enum verify_kind kind;
	struct manifest manifest;	/* bundle */
	bool manifest_good;
	struct walk_segment *segment;
	unsigned segments;
	struct tree_frontier frontier;	/* over what precedes the records */
	bool frontier_good;
	struct seal *seal;		/* by size */
	unsigned seals, oldest;
	struct seal latest;
	uint8_t (*leaf)[TREE_HASH_LEN];	/* bundle: level 0 as it was, or NULL */
	uint64_t leaves;
	bool coverage;			/* there is a coverage manifest */
	uint64_t bytes;			/* in all files that were listed */
};

/* Findings go into the result.  0, or -1 with a message. */
int load_open(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len);
void load_close(struct load *load);

/* Size of the latest checkpoint, 0 where there is none that can be read. */
uint64_t load_sealed(const struct load *load);

/* A checkpoint that was saved before joins the seals.  0, or -1. */
int load_saved_head(struct load *load, const char *path,
    const struct note_key *key, struct seal *head);

/* The text of the note with that size and root, to be freed, from a ledger's
 * log of all checkpoints or its latest one; NULL where it is in neither. */
char *load_note_text(const struct load *load,
    const struct checkpoint *checkpoint, size_t *len);

/* One more finding, to be filled in; never NULL. */
struct verify_finding *verify_find(struct verify_result *result,
    enum verify_verdict verdict, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
