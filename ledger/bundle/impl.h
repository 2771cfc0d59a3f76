/* What the parts of writing a bundle share. */
#ifndef LEDGER_BUNDLE_IMPL_H
#define LEDGER_BUNDLE_IMPL_H

#include <stdbool.h>
#include <stdio.h>

#include "ledger/bundle/bundle.h"
#include "ledger/evidence/manifest.h"
#include "ledger/verify/load.h"
#include "ledger/verify/packs.h"

struct bundle {
	const struct bundle_options *options;
	char *err;
	size_t err_len;
	struct load load;	/* of the ledger */
	struct note_key key;
	char temp[EVIDENCE_PATH_MAX];	/* directory that is filled; "": none */
	char temp_file[EVIDENCE_PATH_MAX];	/* archive that is written; "": none */
	int dirfd;		/* of temp, or -1 */
	FILE *records, *leaves;
	struct tree_frontier before, tree;
	char stream[RECORD_NAME_MAX + 1];	/* that the run was opened in */
	bool has_after;		/* its opening names an anchor before it, */
	uint64_t after_index;	/* at that index */
	uint8_t after_leaf[TREE_HASH_LEN];
	uint64_t end;		/* index of its last record, UINT64_MAX: not met yet */
	uint64_t until;		/* size to stop at, once that is known */
	struct seal seal;	/* the checkpoint taken */
	struct packs_named named;	/* by the records taken */
	struct manifest manifest;
};

/* Always -1. */
int bundle_fail(struct bundle *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- files.c: below b->dirfd ---- */

/* A new file, and the directories to it; NULL with the reason. */
FILE *bundle_create(struct bundle *b, const char *path);
/* Durable, or an error that nothing has swallowed.  Closes the file. */
int bundle_finish(struct bundle *b, FILE *file, const char *path);
int bundle_put(struct bundle *b, const char *path, const char *text, size_t len);
int bundle_copy(struct bundle *b, int from_dir, const char *from, const char *to);
/* Every file below the directory from, to the same path below under. */
int bundle_copy_tree(struct bundle *b, const char *from, const char *under);

/* ---- before.c ---- */

/* What the opening names as the anchor before it. */
void bundle_note_opening(struct bundle *b, const struct walk_line *opening);
/* That record's line, where it is what is named. */
int bundle_put_before(struct bundle *b);

/* ---- take.c ---- */

/*
 * The run's records and those between, from its opening to the checkpoint
 * behind its end, into the bundle's files; and the tree before them.  Its end
 * is its teardown, or the record that opens its stream again: who wrote it has
 * ended without tearing it down, and nothing more comes.
 */
int bundle_take(struct bundle *b);

#endif
