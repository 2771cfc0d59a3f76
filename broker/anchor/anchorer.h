/*
 * The process that talks to witnesses and authorities.  It is one of its own,
 * so that what strangers answer is parsed where there is no secret: forked
 * before any key is read, confined (Landlock: reads the ledger, writes
 * DIR/anchors; network), and told to end by its owner's pipe.
 *
 * Nothing waits for it.  A witness that is down costs a decision nothing: what
 * is not anchored yet is seen in /healthz, /metrics and every verdict.
 */
#ifndef BROKER_ANCHOR_ANCHORER_H
#define BROKER_ANCHOR_ANCHORER_H

#include "anchor/status.h"

#include <stdbool.h>
#include <stddef.h>

#define ANCHORER_GRACE_MS 5000	/* for the last turn, at a stop */

struct anchorer;

/* Fork; call it before there are threads or secrets.  conf must live as long.
 * NULL with a message; where nothing is configured, NULL and err is "". */
struct anchorer *anchorer_start(const struct conf_anchors *conf,
    const char *ledger_dir, char *err, size_t err_len);

/* A last turn for the last checkpoint, bounded; then wait.  NULL is ignored. */
void anchorer_stop(struct anchorer *anchorer);

/* False once it is gone, which nothing brings back but a restart.  Any thread. */
bool anchorer_alive(const struct anchorer *anchorer);

/* One witness or authority.  Any thread. */
struct anchor_view {
	const char *name;		/* of the key, or of the authority */
	bool witness;
	uint32_t reason;
	uint64_t size, time_s, good, failed;
};
unsigned anchorer_parties(const struct anchorer *anchorer);
void anchorer_look(const struct anchorer *anchorer, unsigned i,
    struct anchor_view *out);

#endif
