#include "plane/flood.h"

#include <stdio.h>

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

bool
flood_admits(struct flood *flood, int64_t uid,
    const struct gate_verdict *refusal, int64_t now_ms, int64_t now_us)
{
	struct gate_counted what;
	bool admits;

	pthread_mutex_lock(&flood->lock);
	admits = bucket_spend(&peer_of(flood, uid, now_ms)->full_ms, FLOOD_BURST,
	    now_ms);
	if (!admits) {
		counted_of(&what, refusal, uid, NULL, NULL);
		counts_add(&flood->counts, &what, now_ms, now_us);
	}
	pthread_mutex_unlock(&flood->lock);
	return admits;
}

void
flood_unread(struct flood *flood, const char *rule, const char *reason,
    unsigned status, int64_t now_ms, int64_t now_us)
{
	struct gate_counted what = { .uid = -1, .status = status };

	snprintf(what.rule, sizeof(what.rule), "%s", rule);
	snprintf(what.reason, sizeof(what.reason), "%s", reason);
	pthread_mutex_lock(&flood->lock);
	counts_add(&flood->counts, &what, now_ms, now_us);
	pthread_mutex_unlock(&flood->lock);
}

bool
flood_take(struct flood *flood, int64_t now_ms, bool all,
    struct gate_counted *out)
{
	bool found;

	pthread_mutex_lock(&flood->lock);
	found = counts_take(&flood->counts, now_ms, all, out);
	pthread_mutex_unlock(&flood->lock);
	return found;
}

bool
flood_pending(struct flood *flood)
{
	bool pending;

	pthread_mutex_lock(&flood->lock);
	pending = flood->counts.n > 0;
	pthread_mutex_unlock(&flood->lock);
	return pending;
}
