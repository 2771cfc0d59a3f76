/*
 * The recorder's side, as a process of its own or as a thread, and what the
 * owner hears of it over the socket between the two: one word once it serves,
 * or why it does not, and one when it has ended well.  However it ends, the
 * owner's end of the socket hangs up.
 */
#ifndef LEDGER_RECORDER_SPAWN_H
#define LEDGER_RECORDER_SPAWN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ledger/problem.h"
#include "ledger/recorder/append.h"
#include "ledger/recorder/channel.h"

struct spawn {
	int socket;		/* -1: nothing was begun */
	pid_t pid;		/* of the process, or 0 */
	pthread_t thread;	/* where pid is 0 */
};

struct spawn_word {
	bool good;
	struct problem problem;
};

/* The secret key of a seed, in memory that is locked and wiped: for
 * sodium_free.  NULL: out of that memory. */
uint8_t *spawn_secret_key(const uint8_t *seed);

/* Start it as options->place says; the options are copied, what they point to
 * must live until it has ended.  0, or -1 with a problem and nothing running. */
int spawn_start(struct spawn *spawn, const struct ledger_options *options,
    struct channel *channel, struct problem *problem);

/* Wait for its next word; false where it is gone without one. */
bool spawn_hear(const struct spawn *spawn, struct spawn_word *word);

/* A thread with every signal blocked: signals are for the caller's threads.
 * 0, or -1 with errno. */
int spawn_thread(pthread_t *thread, void *(*run)(void *), void *arg);

/* Wait for its end, which channel_stop asks for. */
void spawn_join(const struct spawn *spawn);

/* Close the socket. */
void spawn_free(struct spawn *spawn);

#endif
