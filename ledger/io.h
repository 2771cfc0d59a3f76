/*
 * The few operations through which the recorder changes its files: whole
 * writes, syncs, space, renames.  All go through one place so that tests can
 * fail the N-th of them.
 */
#ifndef LEDGER_IO_H
#define LEDGER_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum io_op {
	IO_OPEN, IO_WRITE, IO_SYNC, IO_ALLOCATE, IO_TRUNCATE, IO_RENAME,
	IO_OPS
};

/* For tests: asked before every operation; not 0: fail with that errno.  Set
 * before a ledger is opened. */
extern int (*io_fault)(enum io_op op);

/* All return 0 (io_open: a descriptor), or -1 with errno set. */

/* Always O_CLOEXEC and O_NOFOLLOW.  What is neither a file nor a directory is not
 * waited for: EINVAL (ENXIO where it was to be written). */
int io_open(int dirfd, const char *name, int flags, mode_t mode);

/* All of it, at that offset. */
int io_write(int fd, const void *bytes, size_t len, uint64_t at);

int io_sync(int fd);		/* data, and what is needed to read it back */
int io_sync_all(int fd);	/* and its attributes; for directories too */

/* Make [from, from + len) part of the file, on disk blocks of its own, and
 * zero: writing there later needs no space and changes no metadata. */
int io_allocate(int fd, uint64_t from, uint64_t len);

/* Set blocks aside behind the end without changing the size; a file system
 * that cannot is no failure. */
int io_set_aside(int fd, uint64_t from, uint64_t len);

int io_truncate(int fd, uint64_t len);
int io_rename(int dirfd, const char *from, const char *to);

/* Put both names' files in each other's place; where the file system cannot,
 * rename. */
int io_exchange(int dirfd, const char *from, const char *to);

/* A file with this content, made or emptied first; durable once its directory is. */
int io_write_new(int dirfd, const char *name, mode_t mode, const void *bytes, size_t len);

/* Written under this name first by whoever replaces a file; one that an earlier
 * failure left is written over. */
#define IO_NEXT ".next"
int io_write_next(int dirfd, mode_t mode, const void *bytes, size_t len);

/* The same whole or not at all, and durable: written beside it as IO_NEXT. */
int io_replace(int dirfd, const char *name, mode_t mode, const void *bytes, size_t len);

/* Like pread, until all of cap is read or the file ends: bytes, or -1.  Also for what
 * others may have prepared (evidence.h). */
ssize_t io_read(int fd, void *out, size_t cap, uint64_t at);

/* The whole of a small file; its length, or -1 (EFBIG: longer than cap). */
ssize_t io_read_file(int dirfd, const char *name, void *out, size_t cap);

#endif
