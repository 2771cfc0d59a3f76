#include "plane/flood.h"

#include <stdio.h>

#define REFILL_MS 1000		/* one more refusal by itself */
#define NOBODY INT64_MIN	/* uid of the users that share */

void
flood_init(struct flood *flood)
{
	memset(flood, 0, sizeof(*flood));
	pthread_mutex_init(&flood->lock, NULL);
	flood->peer[FLOOD_PEERS_MAX].uid = NOBODY;
}

void
flood_destroy(struct flood *flood)
{
	pthread_mutex_destroy(&flood->lock);
}

/* A peer whose burst is whole is like one never seen: its place is free. */
static struct flood_peer *
peer_of(struct flood *flood, int64_t uid, int64_t now_ms)
{
	struct flood_peer *free_place = NULL;

	for (unsigned i = 0; i < flood->peers; i++) {
		if (flood->peer[i].uid == uid)
			return &flood->peer[i];
		if (flood->peer[i].full_ms <= now_ms)
			free_place = &flood->peer[i];
	}
	if (free_place == NULL && flood->peers < FLOOD_PEERS_MAX)
		free_place = &flood->peer[flood->peers++];
	if (free_place == NULL)
		return &flood->peer[FLOOD_PEERS_MAX];
	*free_place = (struct flood_peer){ .uid = uid, .full_ms = now_ms };
	return free_place;
}

/* A bucket of FLOOD_BURST, kept as the moment at which it will be full. */
static bool
spend(struct flood_peer *peer, int64_t now_ms)
{
	int64_t full_ms = peer->full_ms > now_ms ? peer->full_ms : now_ms;

	if (full_ms + REFILL_MS - now_ms > (int64_t)FLOOD_BURST * REFILL_MS)
		return false;
	peer->full_ms = full_ms + REFILL_MS;
	return true;
}

/* The last place is for every rule that found no other. */
static struct gate_counted *
count_of(struct flood *flood, int64_t uid, const struct gate_verdict *refusal,
    int64_t now_ms, int64_t now_us)
{
	struct gate_counted *count;
	bool last = flood->counts == FLOOD_COUNTS_MAX - 1;

	for (unsigned i = 0; i < flood->counts; i++) {
		count = &flood->count[i];
		if (count->uid == uid && strcmp(count->rule, refusal->rule) == 0)
			return count;
	}
	if (flood->counts == FLOOD_COUNTS_MAX)
		return &flood->count[FLOOD_COUNTS_MAX - 1];
	count = &flood->count[flood->counts];
	flood->since_ms[flood->counts++] = now_ms;
	*count = (struct gate_counted){ .uid = last ? -1 : uid,
	    .status = last ? 0 : refusal->status, .from_us = now_us };
	snprintf(count->rule, sizeof(count->rule), "%s",
	    last ? "several" : refusal->rule);
	snprintf(count->reason, sizeof(count->reason), "%s",
	    last ? "refusals by several rules" : refusal->reason);
	return count;
}

bool
flood_admits(struct flood *flood, int64_t uid,
    const struct gate_verdict *refusal, int64_t now_ms, int64_t now_us)
{
	struct gate_counted *count;
	bool admits;

	pthread_mutex_lock(&flood->lock);
	admits = spend(peer_of(flood, uid, now_ms), now_ms);
	if (!admits) {
		count = count_of(flood, uid, refusal, now_ms, now_us);
		count->count++;
		count->to_us = now_us;
	}
	pthread_mutex_unlock(&flood->lock);
	return admits;
}

bool
flood_take(struct flood *flood, int64_t now_ms, bool all,
    struct gate_counted *out)
{
	bool found = false;

	pthread_mutex_lock(&flood->lock);
	for (unsigned i = 0; i < flood->counts && !found; i++) {
		if (!all && now_ms - flood->since_ms[i] < FLOOD_MS)
			continue;
		*out = flood->count[i];
		flood->counts--;
		flood->count[i] = flood->count[flood->counts];
		flood->since_ms[i] = flood->since_ms[flood->counts];
		found = true;
	}
	pthread_mutex_unlock(&flood->lock);
	return found;
}

bool
flood_pending(struct flood *flood)
{
	bool pending;

	pthread_mutex_lock(&flood->lock);
	pending = flood->counts > 0;
	pthread_mutex_unlock(&flood->lock);
	return pending;
}
