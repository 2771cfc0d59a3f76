/*
 * Leaves that stand in a file, read a window at a time: a bundle's, or those
 * beside a ledger's records.  Nobody signed them; they are believed where they
 * give a signed root, and then name what was changed.  Private to verify.
 */
#ifndef LEDGER_VERIFY_LEAVES_H
#define LEDGER_VERIFY_LEAVES_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/tree/tree.h"

#define LEAVES_WINDOW 1024

struct leaves {
	int fd;			/* -1: none */
	uint64_t count;
	bool whole;		/* the file holds leaves and not a part of one */
	uint64_t from;		/* the window: its first one */
	unsigned have;
	uint8_t window[LEAVES_WINDOW][TREE_HASH_LEN];
};

/* At most `most` leaves from the beginning of the file of that path below
 * dirfd.  0, or -1 and errno. */
int leaves_open(struct leaves *leaves, int dirfd, const char *path, uint64_t most);
void leaves_close(struct leaves *leaves);

/* Leaf i, until the next call; NULL where it cannot be read any more. */
const uint8_t *leaves_at(struct leaves *leaves, uint64_t i);

/* Append that many of them, from the first on, to the tree.  0, or -1: they
 * cannot be read, or are fewer. */
int leaves_append(struct leaves *leaves, uint64_t count, struct tree_frontier *tree);

#endif
