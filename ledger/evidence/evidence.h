/*
 * Reading files that somebody else may have prepared.  Nothing but regular
 * files below one directory is ever opened: links, devices, FIFOs and sockets
 * are refused, in every component of a path, and no open can block.
 */
#ifndef LEDGER_EVIDENCE_EVIDENCE_H
#define LEDGER_EVIDENCE_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

#define EVIDENCE_PATH_MAX 1024	/* bytes of a path inside, with NUL */
#define EVIDENCE_DEPTH_MAX 16	/* directories inside one another */
#define EVIDENCE_FILES_MAX 100000	/* of a bundle; names sorted in memory */

/* What a path names that is neither a directory nor a regular file, and is not
 * to be opened: "a FIFO", "a device", "a socket".  NULL: none of these, or
 * nothing is there. */
const char *evidence_special(const char *path);

/* The directory itself (which may be reached by a link), or -1 and errno. */
int evidence_dir(const char *path);

/*
 * Open a regular file below dirfd for reading; *size (where not NULL) gets its
 * length.  The descriptor, or -1 and errno; ELOOP for a link, EINVAL for what
 * is no regular file or no plain relative path.
 */
int evidence_open(int dirfd, const char *path, uint64_t *size);

/* A whole small file with a NUL behind it, to be freed; NULL and errno, EFBIG
 * where it is longer than max. */
char *evidence_read(int dirfd, const char *path, size_t max, size_t *len);

/* SHA-256 of a file in hex; 0, or -1 and errno. */
int evidence_digest(int dirfd, const char *path, char hex[65]);

/*
 * Visit everything below dirfd, in the order of its names' bytes; in a directory
 * with more than EVIDENCE_FILES_MAX names as they lie there (a ledger's anchors
 * have no end).  regular is 0 for what is neither directory nor regular file.
 * Returns what visit returned where that was not 0; -1 and errno where the tree
 * cannot be read or is too deep (ELOOP).
 */
int evidence_walk(int dirfd, int (*visit)(void *context, const char *path,
    uint64_t size, int regular), void *context);

#endif
