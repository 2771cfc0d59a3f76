/*
 * A bundle as one file: tar (tar.h) in one zstd frame with a checksum.  First
 * manifest.json, then the files that it lists, in its order; two blocks of
 * zeros, and nothing behind them.  The same bundle gives the same bytes with
 * the same version of zstd.
 *
 * Reading streams in constant memory.  An archive that is not exactly this is
 * refused as a whole: whoever packed it in another way can unpack it himself
 * and verify the directory.
 */
#ifndef LEDGER_BUNDLE_ARCHIVE_H
#define LEDGER_BUNDLE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "ledger/evidence/manifest.h"
#include "ledger/bundle/tempdir.h"

/* Growth that no evidence has: leaf hashes do not compress. */
#define ARCHIVE_RATIO_MAX 200
#define ARCHIVE_FREE_BYTES (64 * 1024 * 1024)	/* not held against the ratio */
#define ARCHIVE_WINDOW_LOG 23			/* 8 MiB: memory of a reader */

/* Write the bundle in dirfd into fd, from where that stands.  0, or -1 with a
 * message, also where it grows as no reader takes it. */
int archive_write(int dirfd, const struct manifest *manifest, int fd,
    char *err, size_t err_len);

/* A regular file that begins as zstd does. */
bool archive_is(const char *path);

enum archive_status {
	ARCHIVE_GOOD,
	ARCHIVE_BAD,		/* damaged, cut or made to mislead: err says how */
	ARCHIVE_TROUBLE		/* it, or the place for it, cannot be used: err */
};

/*
 * Unpack it into a directory of its own, which the caller removes in any case.
 * Nothing is written outside of that; what is written is bounded by what the
 * manifest says, by ARCHIVE_RATIO_MAX and by the space that is free.
 */
enum archive_status archive_unpack(const char *path, struct tempdir *tempdir,
    char *err, size_t err_len);

#endif
