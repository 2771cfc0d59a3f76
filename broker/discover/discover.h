/*
 * Newer packs from elsewhere: look at a source from time to time, verify what
 * is new, and have the gate take it.  Whatever is wrong with it leaves the pack
 * in force as it is and is recorded once; a server that is not there is logged
 * when it goes and when it comes back.  See broker/DESIGN.md.
 */
#ifndef BROKER_DISCOVER_DISCOVER_H
#define BROKER_DISCOVER_DISCOVER_H

#include "conf/conf.h"
#include "gate/admin.h"

struct discover;

/*
 * Before the gate is made, and before the process is confined: reads the key,
 * and what was adopted last.  conf must outlive it; packs is HOME/packs.
 * Writes to pack (PATH_MAX) the directory of the last good bundle, verified
 * again; leaves it alone where there was none yet.  NULL with a message.
 */
struct discover *discover_open(const struct conf_bundle *conf,
    const char *packs, char *pack, char *err, size_t err_len);

/* Start looking, with a ledger port of its own.  0, or -1. */
int discover_start(struct discover *discover, struct gate *gate,
    struct ledger_port *port);

/* Stops, joins; NULL-safe. */
void discover_close(struct discover *discover);

#endif
