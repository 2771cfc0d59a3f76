/*
 * What a process keeps hold of when the mounts under it change: its working
 * directory and its descriptors.  A directory's descriptor leads into the old
 * mounts from wherever it is ("..", a path below it), so each is opened anew;
 * a file's is harmless unless the file is one of those that are hidden.
 */
#ifndef BROKER_CLI_RUN_RUN_REACH_H
#define BROKER_CLI_RUN_RUN_REACH_H

#include "cli/run/run_mounts.h"

#include <stddef.h>
#include <sys/stat.h>

/* What is hidden: paths without links, outlasting the gathered. */
struct run_reach_hidden {
	const char *home;
	const struct run_mounts_names *covers;	/* other names of it, or files elsewhere */
};

struct run_reach;

/* Looks at everything that an executed program would inherit.  Before the
 * mounts change; NULL with errno set. */
struct run_reach *run_reach_gather(const struct run_reach_hidden *hidden,
    const struct run_mounts *mounts);
void run_reach_free(struct run_reach *reach);

/* In the child, after the mounts have changed: enters the working directory
 * and opens directories anew, closes what leads to what is hidden, and looks
 * whether anything still does.  NULL, or what stands in the way: the working
 * directory, or one of descriptors 0 to 2.  *closed is how many were closed,
 * *first the first of those. */
const char *run_reach_renew(const struct run_reach *reach, size_t *closed,
    int *first);

#endif
