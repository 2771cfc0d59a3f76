/*
 * How far an export has come, in a file: the index of the next record and the
 * leaf of the one before, so that going on in another ledger, or in a forked
 * one, is refused; and what is due in each stream, so that a gap between two
 * exports is told by the second.  Replaced whole, after what lies before was
 * taken.  A file without streams is one that an older version wrote.
 */
#ifndef BROKER_EXPORT_POSITION_H
#define BROKER_EXPORT_POSITION_H

#include "ledger/export/export.h"
#include "ledger/tree/tree.h"

#include <stddef.h>
#include <stdint.h>

struct position {
	uint64_t next;
	uint8_t leaf[TREE_HASH_LEN];	/* of record next - 1; meant where next > 0 */
	struct export_seqs seqs;
};

/* 1: it was there; 0: there is no such file; -1 with a message. */
int position_load(const char *path, struct position *position, char *err,
    size_t err_len);
int position_save(const char *path, const struct position *position, char *err,
    size_t err_len);

#endif
