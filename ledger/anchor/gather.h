/*
 * What a ledger's or a bundle's files hold of others' statements, read without
 * believing any of it.
 *
 *   ledger   anchors/cosigned, anchors/<size>.note and .tsr (anchors.h)
 *   bundle   ledger/anchors/<size>.anchor: a submission (submission.h) from the
 *            bundle's size to that one, its checkpoint with all that signed it;
 *            and <size>.<authority>.tsr
 *
 * What was gathered is only read from then on, by any number of threads.
 */
#ifndef LEDGER_ANCHOR_GATHER_H
#define LEDGER_ANCHOR_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/anchor/submission.h"
#include "ledger/tree/note.h"
#include "ledger/tree/tree.h"

#define GATHER_NOTES_MAX 16384	/* of one ledger's .note files: the latest */
#define GATHER_BUNDLE_MAX 256	/* of one bundle, .anchor and .tsr each: the nearest */
#define GATHER_COSIGNED_MAX (2 * 1024 * 1024)	/* bytes of that file's end */

struct gather_note {
	struct checkpoint at;
	char *text;		/* the note; to be freed */
	size_t len;
	struct tree_proof *proof;	/* bundle: to it from old_size; NULL: none */
	uint64_t old_size;
};

struct gather_stamp {
	uint64_t size;
	char who[64];
};

struct gather {
	struct gather_note *note;	/* by size, largest last */
	unsigned notes;
	struct gather_stamp *stamp;	/* by size, largest last */
	unsigned stamps;
	unsigned alarms;		/* a ledger's: witnesses that contradicted it */
	char dir[32];			/* where they lie */
};

/* 0, or -1 out of memory; gather_free in either case.  No such directory is no
 * failure. */
int gather_read(struct gather *gather, int dirfd, bool bundle);
void gather_free(struct gather *gather);

/* The largest sizes that somebody else is said to have signed, or stamped; 0:
 * none.  Not verified here. */
void gather_extent(const struct gather *gather, uint64_t *cosigned,
    uint64_t *stamped);

/* A stamp's response, to be freed; NULL where it cannot be read. */
uint8_t *gather_stamp(const struct gather *gather, int dirfd,
    const struct gather_stamp *stamp, size_t *len);

#endif
