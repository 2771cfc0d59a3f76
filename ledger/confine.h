/*
 * Giving up what a process will never need: files outside named paths
 * (Landlock), system calls (a seccomp filter), core dumps and debuggers, new
 * privileges.  For the calling thread and those it starts afterwards, so call
 * it while there is one.  It cannot be undone.
 *
 * Where a kernel lacks a part, that is no failure: the report says what is in
 * force, and whoever starts the process passes it on to the operator.
 *
 * Landlock: see landlock(7).  The filter denies what is listed in confine.c
 * with EPERM and lets the rest pass: a deny list breaks no library update,
 * and what it denies is what turns a hole in a parser into a foothold.
 */
#ifndef LEDGER_CONFINE_H
#define LEDGER_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#define CONFINE_PATHS_MAX 32
#define CONFINE_TEXT_MAX 160

enum confine_access { CONFINE_READ, CONFINE_WRITE };

/* A file, or a directory with all below it.  One that is not there is left
 * out.  WRITE includes reading, making, renaming and removing below it. */
struct confine_path {
	const char *path;
	enum confine_access access;
};

struct confine_options {
	const struct confine_path *paths;
	size_t n_paths;
	bool network;	/* may make sockets and connections */
	bool spawn;	/* may run programs, and signal other processes */
	bool watch;	/* may wait for the end of other processes */
};

struct confine_report {
	unsigned landlock;	/* the kernel's ABI version in force, 0: none */
	bool seccomp;
	bool undumpable;	/* no core file, no debugger of the same user */
	bool no_new_privs;
	char text[CONFINE_TEXT_MAX]; /* "landlock 6, seccomp, ..." or what is missing */
};

/* 0 with the report, or -1 with errno where the kernel has a part but refused
 * to put it in force; then the process is confined in part and should end. */
int confine_self(const struct confine_options *options,
    struct confine_report *report);

/* Only this: no signal from this process, and those that it starts, to any
 * other.  For a program of somebody else's, so no new privileges are given up:
 * it needs the rights of a name space's root.  0, or -1 with errno: ENOSYS where
 * the kernel (before 6.12) cannot do it. */
int confine_signals(void);

#endif
