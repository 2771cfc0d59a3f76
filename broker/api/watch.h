/*
 * Runs that end with a process: a run opened with a pid is closed when that
 * process ends, however it ends, so that nobody keeps a run (and its token)
 * alive by killing the command that would close it.
 *
 * A thread waits for pidfds (pidfd_open(2)).  Where the kernel gives none, it
 * looks at pid and start time every second instead.
 */
#ifndef BROKER_API_WATCH_H
#define BROKER_API_WATCH_H

#include "gate/admin.h"

struct api_watch;

/* ended() is called on the thread, with a run whose process is gone and which
 * is still open; it may block.  So may due(), which is called every second from
 * api_watch_later() on until it returns false.  NULL with errno. */
struct api_watch *api_watch_new(void (*ended)(void *arg, struct run *run),
    bool (*due)(void *arg), void *arg);
void api_watch_later(struct api_watch *watch);	/* any thread */
void api_watch_free(struct api_watch *watch);	/* joins; NULL-safe */

/* Watch the process (pid, start_time) for run; one that is gone already is
 * told at once.  0, or -1 out of memory.  Any thread. */
int api_watch_add(struct api_watch *watch, struct run *run, int64_t pid,
    uint64_t start_time);

/* Forget the runs that are closed.  Any thread. */
void api_watch_sweep(struct api_watch *watch);

#endif
