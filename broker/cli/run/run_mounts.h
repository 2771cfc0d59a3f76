/*
 * Other names of a file or directory: bind mounts of it, of what is in it or of
 * what it is in, anywhere in this process's mount name space (proc(5),
 * /proc/PID/mountinfo).  Hard links are not found.
 */
#ifndef BROKER_CLI_RUN_RUN_MOUNTS_H
#define BROKER_CLI_RUN_RUN_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#define RUN_MOUNTS_NAMES 64

struct run_mounts;

/* NULL with errno set. */
struct run_mounts *run_mounts_read(void);
void run_mounts_free(struct run_mounts *mounts);

/* Paths, each allocated. */
struct run_mounts_names {
	char *path[RUN_MOUNTS_NAMES];
	size_t n;
};

/* Adds a copy of path, unless it is there or lies below home.  -1 with errno
 * set: out of memory, or too many. */
int run_mounts_add(struct run_mounts_names *names, const char *path,
    const char *home);
void run_mounts_names_free(struct run_mounts_names *names);

/* Adds the other names of path (an absolute one without links), and of what is
 * mounted below it.  Names below home are left out. */
int run_mounts_others(const struct run_mounts *mounts, const char *path,
    const char *home, struct run_mounts_names *names);

/* Is the descriptor's mount one of this name space? */
bool run_mounts_has(const struct run_mounts *mounts, int fd);

/* The part of path behind dir ("" for dir itself), or NULL: not within. */
const char *run_mounts_within(const char *path, const char *dir);

#endif
