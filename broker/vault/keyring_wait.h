/*
 * How long a keyring may take: what is asked with the cancellable of a wait ends when
 * its time is over, whoever it is that stands still.  (GDBus has 25 seconds for each
 * call, and none to connect to a bus.)
 */
#ifndef BROKER_VAULT_KEYRING_WAIT_H
#define BROKER_VAULT_KEYRING_WAIT_H

#include <gio/gio.h>
#include <stdbool.h>

#define KEYRING_WAIT_S 10	/* of one operation with all its calls */

struct keyring_wait {
	GCancellable *cancel;
	GThread *thread;	/* NULL where none could be made: GDBus's limits alone */
	GMutex lock;
	GCond ended;
	bool over;
};

void keyring_wait_begin(struct keyring_wait *wait);
void keyring_wait_end(struct keyring_wait *wait);

#endif
