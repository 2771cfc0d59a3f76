/*
 * The file that grows.  A ledger's records lie in segments of SEGMENT_RECORDS,
 * each named by the index of its first record: records-<20 digits>.jsonl.
 *
 * Space is taken ahead of the records, as zeros, in steps: overwriting zeros
 * makes a commit a third cheaper than growing the file.  A segment that is
 * finished or closed is cut to its records; one that is being written, or was
 * when its writer died, ends in NUL bytes.
 *
 * Of the space ahead, `reserve` bytes are kept for control records (drop,
 * close), so that a full disk can still be recorded; and the next segment is
 * made while there are still SEGMENT_SPARE places in this one.
 *
 * Used by the recorder's one thread.
 */
#ifndef LEDGER_RECORDER_SEGMENT_H
#define LEDGER_RECORDER_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/problem.h"

#define SEGMENT_RECORDS 65536
#define SEGMENT_SPARE 16		/* places kept for control records */
#define SEGMENT_STEP (1024 * 1024)	/* bytes taken ahead at a time */
#define SEGMENT_AHEAD (4 * SEGMENT_STEP) /* taken ahead while idle */
#define SEGMENT_NAME_MAX 40
#define SEGMENT_NEXT ".next-records"	/* the next one, no records in it yet */

struct segment {
	int dirfd;		/* the ledger's; not owned */
	int fd;
	int next_fd;		/* -1: not made yet */
	uint64_t first;		/* index of the first record */
	uint64_t count;		/* records */
	uint64_t size;		/* bytes of records */
	uint64_t allocated;	/* bytes that can be written without more space */
	uint64_t next_allocated;
	uint64_t reserve;
	bool sync;		/* false: nothing waits for the disk but opening and closing */
};

void segment_name(char out[SEGMENT_NAME_MAX], uint64_t first);

/* How many there are in the directory: those of 0, 65536, ... without a hole.
 * 0, or -1 with a problem. */
int segment_count(int dirfd, uint64_t *count, struct problem *problem);

/* Open the segment that starts at first and holds count records of size bytes,
 * making it where count is 0 and there is none; cut off what follows, take
 * space ahead.  sync false: for measurements, what is written meanwhile is not
 * synced.  0, or -1 with a problem. */
int segment_open(struct segment *segment, int dirfd, uint64_t first,
    uint64_t count, uint64_t size, uint64_t reserve, bool sync,
    struct problem *problem);

enum segment_room { SEGMENT_ROOM, SEGMENT_ROLL, SEGMENT_FULL, SEGMENT_ERROR };

/*
 * Is there room for one more record behind pending_count ones of pending bytes
 * that are not written yet?  ROLL: only after segment_roll, before which they
 * must be written.  FULL: not for this one; control records may use the
 * reserve.  ERROR: errno tells.
 */
enum segment_room segment_room(struct segment *segment, uint64_t pending,
    uint64_t pending_count, uint64_t len, bool control);

/* Write records behind the others.  0, or -1 with errno. */
int segment_write(struct segment *segment, const char *lines, size_t len,
    uint64_t count);

/* Finish this segment durably and go on in the next.  0, or -1 with errno. */
int segment_roll(struct segment *segment);

bool segment_wants_space(const struct segment *segment);

/* Take a step of space ahead, or make the next segment, while no record waits
 * for the zeros to reach the disk: one may come, and waits for one step only.  1
 * where it got something, 0 where there is no space (no failure yet), -1 where a
 * sync failed. */
int segment_prepare(struct segment *segment);

/* Cut the file to its records, durably, and close.  0, or -1 with errno. */
int segment_close(struct segment *segment);

/* Close the descriptors, and leave the files as they are. */
void segment_abandon(struct segment *segment);

#endif
