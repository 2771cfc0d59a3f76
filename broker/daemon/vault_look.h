/*
 * What the vault did not give when its secrets were read (a store without an answer,
 * memory that cannot be locked) is recognised nowhere and not used.  That is logged
 * when it begins and when it is over, and they are read again until they are whole:
 * by a thread of its own, since a store may take long.
 */
#ifndef BROKER_DAEMON_VAULT_LOOK_H
#define BROKER_DAEMON_VAULT_LOOK_H

#include "gate/admin.h"

#include <pthread.h>
#include <stdatomic.h>

/* Begins as zeros. */
struct vault_look {
	struct gate *gate;	/* while the thread runs */
	pthread_t thread;
	atomic_bool reading;
	bool made;		/* a thread is to be joined */
	bool told;		/* that something is missing */
	unsigned looks;		/* since the last time it was read */
};

/* Called once a second by one thread; waits for nobody. */
void vault_look(struct vault_look *look, struct gate *gate);

/* Waits for what is being read; gate must still be there. */
void vault_look_end(struct vault_look *look);

#endif
