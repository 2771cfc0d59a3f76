/* One exchange in CONN_RELAY: what its two directions share. */
#ifndef BROKER_RELAY_H
#define BROKER_RELAY_H

#include "plane/conn.h"

enum flow {
	FLOW_WAIT,	/* nothing to do before an event */
	FLOW_MOVED,
	FLOW_OVER	/* the connection is in another state now */
};

/* Source to sink by way of a pump, as far as it goes without waiting; *moved
 * tells whether anything did.  in keeps what was read and not yet used. */
enum pump_result relay_fill(struct pump *pump, struct stream *source,
    struct buf *in, struct buf *out, char *scratch, bool *moved);

/* Book what came of the client since the last time, before any of it goes on; false
 * where the run's budget or the policy's limit ends there, which is seen to. */
bool relay_within_budget(struct conn *conn);

/* A body that was read before, on its way to the upstream's buffer. */
enum flow body_give(struct exchange *exchange);

/* Upstream to client, as far as it goes. */
enum flow answer_pull(struct conn *conn);

/*
 * Ends that are not as they should be; each returns FLOW_OVER.  Before the
 * response has begun the client is told; after that only the end of the
 * connection can tell, and it must not look clean.
 */
enum flow relay_broken_off(struct conn *conn, const char *error);
enum flow relay_fail(struct conn *conn, const char *error, unsigned status,
    const char *rule, const char *reason);
enum flow relay_refuse(struct conn *conn, unsigned status, const char *rule,
    const char *reason, const char *remedy);
enum flow relay_no_memory(struct conn *conn);
void relay_client_left(struct conn *conn);

#endif
