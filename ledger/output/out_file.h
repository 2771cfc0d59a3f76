/*
 * A file that is written for somebody who named it.  What is a plain file, or
 * not there yet, is put in place whole or not at all; what is not (a link, a
 * device, a FIFO) is written into and stays what it is.  "-" is standard output.
 */
#ifndef LEDGER_OUTPUT_OUT_FILE_H
#define LEDGER_OUTPUT_OUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct out_file {
	FILE *stream;
	const char *path;		/* the caller's */
	char temp[PATH_MAX];		/* empty: written in place */
};

/* 0, or -1 and errno (ENXIO: a FIFO that nobody reads).  path must live until the end. */
int out_file_open(struct out_file *file, const char *path);

/* What to say of that errno. */
const char *out_file_why(int error);

/* Would writing to one change what the other names?  Plain files only; NULL is
 * none, "-" no file. */
bool out_file_same(const char *path, const char *other);

/* Would it lie in that directory, or below it?  Links are followed; false where
 * dir is none. */
bool out_file_within(const char *path, const char *dir);

/* Flush, sync and put in place; or, where the writer failed (good is 0), leave
 * what was there.  0, or -1 and errno. */
int out_file_close(struct out_file *file, int good);

#endif
