/*
 * The least that an acknowledged write costs a caller, for measurement: a
 * process that takes submissions from the recorder's own channel, copies each
 * behind an envelope of a record's length, writes what waited at once, calls
 * fdatasync, and answers through the channel.
 *
 * It has what any such service has: two processes, shared memory, one copy on
 * either side, a bell that is rung only for who sleeps, batches of whatever
 * waits.  It lacks what makes a ledger: no body is checked, no line composed,
 * nothing hashed, no tree, no segments, no reserve, nothing signed.
 */
#ifndef TESTS_RAW_RECORDER_H
#define TESTS_RAW_RECORDER_H

#include "ledger/recorder/channel.h"

#include <sys/types.h>

struct raw_recorder {
	struct channel *channel;	/* the producers' end, channel.h */
	pid_t pid;
};

/* Into a file that grows with each write; over blocks that fallocate took a MiB
 * at a time; or over zeros that were written a MiB at a time, as the recorder
 * does. */
enum raw_file { RAW_GROWING, RAW_ALLOCATED, RAW_ZEROED };

/* Fork it.  Its file is made in dir and gone with it.  envelope is put in front
 * of each body.  Ends the program where something fails. */
void raw_start(struct raw_recorder *raw, const char *dir, unsigned ports,
    const char *envelope, enum raw_file file);

/* Write len bytes at *at, taking space up to *ready where the file is not to grow; then
 * fdatasync. */
void raw_write(int fd, enum raw_file file, const char *bytes, size_t len,
    uint64_t *at, uint64_t *ready);

/* Nothing may be on its way. */
void raw_stop(struct raw_recorder *raw);

#endif
