/*
 * The places of one listener, shared fairly.  Who finds none left takes that of
 * the caller who has most of them: the one of his that has waited longest for a
 * call.  So whoever holds many connections loses his own, and a caller with few
 * keeps them.  A caller is a run with all below it, as far as process or token
 * tell; else a user.
 *
 * Any thread.
 */
#ifndef BROKER_API_SEATS_H
#define BROKER_API_SEATS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct seat;

struct seats {
	pthread_mutex_t lock;
	struct seat *first, *last;	/* in the order in which they began to wait */
	unsigned n, max;		/* n: without those that were told to leave */
};

/* Compared, never looked into: of a run that is gone, one more at that place would
 * share what is left of its places. */
struct seat_holder {
	const void *run;
	int64_t uid;		/* where run is NULL */
};

void seats_init(struct seats *seats, unsigned max);
void seats_destroy(struct seats *seats);

/*
 * A connection more; NULL: no memory, it has no place.  Where there are max, another
 * one is shut down, which its thread then finds.  fd stays open until seats_leave.
 */
struct seat *seats_take(struct seats *seats, int fd, struct seat_holder who);
void seats_leave(struct seats *seats, struct seat *seat);

/* A call on it is under way now; who it is is known better. */
void seats_busy(struct seats *seats, struct seat *seat,
    const struct seat_holder *who);
/* It waits for another one. */
void seats_wait(struct seats *seats, struct seat *seat);

#endif
