/* Lanes: what a call that may block needs, of which there are fewer than threads. */
#include "api/impl.h"
#include "ledger/clock.h"

#define LAST_LANE (API_LEDGER_PORTS - 1)

static struct api_lane *
free_lane(struct api *api, bool last)
{
	size_t end = last ? API_LEDGER_PORTS : LAST_LANE;

	for (size_t i = last ? LAST_LANE : 0; i < end; i++)
		if (!api->lanes[i].busy)
			return &api->lanes[i];
	return NULL;
}

/* The condition has the monotonic clock. */
static void
wait_freed(struct api *api)
{
	const struct timespec until = clock_after_ms(1000);

	(void)pthread_cond_timedwait(&api->freed, &api->lock, &until);
}

static struct api_lane *
lane_take(struct api *api, enum api_waits waits, bool patient)
{
	bool last = waits == WAITS_LAST, refuse = false;
	struct api_lane *lane = NULL;

	pthread_mutex_lock(&api->lock);
	while (lane == NULL && !refuse) {
		bool silent = ledger_silent_s(api->options.ledger) != 0;

		refuse = silent && !patient;
		if (!refuse || waits == WAITS_LONG)
			lane = free_lane(api, last);
		if (lane == NULL && !refuse)
			wait_freed(api);
	}
	if (lane != NULL)
		lane->busy = true;
	pthread_mutex_unlock(&api->lock);
	return lane;
}

struct api_lane *
api_lane_take(struct api *api)
{
	return lane_take(api, WAITS_LEDGER, true);
}

struct api_lane *
api_lane_ask(struct api *api, enum api_waits waits)
{
	return lane_take(api, waits, waits == WAITS_LAST);
}

void
api_lane_give(struct api *api, struct api_lane *lane)
{
	pthread_mutex_lock(&api->lock);
	lane->busy = false;
	pthread_cond_broadcast(&api->freed);	/* not every lane is for everybody */
	pthread_mutex_unlock(&api->lock);
}
