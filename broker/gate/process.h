/*
 * What /proc tells about a process.  A process is a pid together with its
 * start time, since pids come again.
 *
 * Honest limits: a process that lets its parent die is handed to init (or the
 * nearest subreaper) and leaves its tree; /proc may be mounted so that other
 * users' processes are hidden; between reading and acting a process may end.
 */
#ifndef BROKER_GATE_PROCESS_H
#define BROKER_GATE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROCESS_DEPTH_MAX 64

struct process {
	int64_t pid, parent, uid;	/* uid: owner; 0 for one that hides */
	uint64_t start_time;	/* clock ticks since boot */
	bool ended;		/* nobody has waited for it yet */
	char name[16];		/* what it calls itself, in printable ASCII; "" for any other */
};

/* False where there is no such process or /proc cannot be read. */
bool process_look(int64_t pid, struct process *out);

/* pid, its parent, and so on up to init; at most max; how many. */
unsigned process_line(int64_t pid, struct process *line, unsigned max);

/* Is pid the process (root, start_time) or below it? */
bool process_within(int64_t pid, int64_t root, uint64_t start_time);

#endif
