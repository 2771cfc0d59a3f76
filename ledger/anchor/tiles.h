/*
 * The ledger as a tiled log, c2sp.org/tlog-tiles: hashes in tiles of 256, at
 * the paths that any other log's tools ask for.
 *
 *   checkpoint                      the latest signed checkpoint
 *   tile/<L>/<N>[.p/<W>]            hashes of level L * 8, 32 bytes each
 *   tile/entries/<N>[.p/<W>]        the records: u16 big-endian length, line
 *
 * N is written in groups of three digits, all but the last with an `x` before
 * them (x001/x234/067); W is a partial tile's width.  Tiles are read from the
 * files beside the records (hashes.h), of which only what leads to a signed
 * root is to be believed.  Records are evidence about people: entry bundles
 * are made only for who asks for them.
 */
#ifndef LEDGER_ANCHOR_TILES_H
#define LEDGER_ANCHOR_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/problem.h"

#define TILES_WIDTH 256
#define TILES_PATH_MAX 64	/* bytes of a path below tile/, with NUL */

struct tiles_name {
	bool entries;		/* the records; level is 0 */
	unsigned level;		/* 0 to 7: 63 levels of 8 */
	uint64_t index;
	unsigned width;		/* 1 to 255: partial; 256: full */
};

/* What follows "tile/".  0, or -1 where it is no tile's name in its one form. */
int tiles_name_parse(struct tiles_name *name, const char *path);

/* The length without the NUL it adds, or -1 where cap is too small. */
int tiles_name_format(const struct tiles_name *name, char *out, size_t cap);

/*
 * The tile's bytes out of the first size records of the ledger in dirfd, to be
 * freed; NULL with a problem: beyond the size, or not readable.  Only files are
 * read: any process and thread.
 */
uint8_t *tiles_read(int dirfd, uint64_t size, const struct tiles_name *name,
    size_t *len, struct problem *problem);

/*
 * Write the tiles of the ledger in dirfd below the directory out, for a web
 * server to serve as files, and the checkpoint last, so that whoever has it
 * finds what it needs.  What is there already is left alone, so it must be of this
 * history, by the checkpoint beside it.  *written gets the number of new tiles.  0, or
 * -1 with a problem.
 */
int tiles_publish(int dirfd, int out, bool entries, uint64_t *written,
    struct problem *problem);

#endif
