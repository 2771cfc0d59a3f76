/*
 * Refusals of callers that showed no run, when there are too many of them.
 *
 * Anybody on this machine may connect, and each refusal is a durable record: a
 * loop of them would fill the disk and take the recorder's time.  So a caller
 * (by user) has FLOOD_BURST refusals recorded one by one, and one more a
 * second; what comes beyond is counted by rule and told in one record every
 * COUNTS_MS.  Those of a run are gate/refusals.c's.
 *
 * Bounds, whatever is sent: FLOOD_PEERS_MAX * (FLOOD_BURST + seconds) records one
 * by one, COUNTS_MAX counted ones a COUNTS_MS, no allocation.  Any thread.
 */
#ifndef BROKER_FLOOD_H
#define BROKER_FLOOD_H

#include "gate/counts.h"

#include <pthread.h>

#define FLOOD_BURST 100
#define FLOOD_PEERS_MAX 8	/* users that have a burst of their own; the others share one */

struct flood_peer {
	int64_t uid, full_ms;	/* when the burst is whole again */
};

struct flood {
	pthread_mutex_t lock;
	struct flood_peer peer[FLOOD_PEERS_MAX + 1];	/* the last: of the others */
	unsigned peers;
	struct counts counts;
};

void flood_init(struct flood *flood);
void flood_destroy(struct flood *flood);

/*
 * True: record this refusal by itself.  False: it has been counted.
 * now_ms is monotonic, now_us the time of day for the record.
 */
bool flood_admits(struct flood *flood, int64_t uid,
    const struct gate_verdict *refusal, int64_t now_ms, int64_t now_us);

/* Of a connection nothing was read: there is no refusal to be recorded by itself,
 * and whose it was is not known.  status: of the answer, 0 where there was none. */
void flood_unread(struct flood *flood, const char *rule, const char *reason,
    unsigned status, int64_t now_ms, int64_t now_us);

/* Take one count that is COUNTS_MS old, or (all) any; false where there is none. */
bool flood_take(struct flood *flood, int64_t now_ms, bool all,
    struct gate_counted *out);

/* Is there any that was not taken yet? */
bool flood_pending(struct flood *flood);

#endif
