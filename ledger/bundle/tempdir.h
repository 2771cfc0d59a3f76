/*
 * A directory of our own for what was unpacked, that is gone again when its
 * owner is, however that ended: a process beside it waits for the owner's end
 * and removes it.  Below $TMPDIR, else /var/tmp, else /tmp; mode 0700.
 */
#ifndef LEDGER_BUNDLE_TEMPDIR_H
#define LEDGER_BUNDLE_TEMPDIR_H

#include <stddef.h>
#include <sys/types.h>

#define TEMPDIR_PATH_MAX 256

struct tempdir {
	char path[TEMPDIR_PATH_MAX];	/* "": none */
	int dirfd;			/* -1: none */
	int keep;			/* its closing tells the other process */
	pid_t sweeper;
};

/* Before threads are started.  0, or -1 with a message. */
int tempdir_make(struct tempdir *tempdir, char *err, size_t err_len);

/* Removes it; nothing where none was made. */
void tempdir_remove(struct tempdir *tempdir);

/* Everything below fd, innermost first, not following links: removed, or every
 * directory synced.  0, or -1. */
int tempdir_erase_below(int fd);
int tempdir_sync_below(int fd);

#endif
