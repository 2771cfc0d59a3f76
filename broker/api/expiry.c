/* What the watch looks at every second while there is any of it: refusals that
 * were only counted, and runs whose time is over. */
#include "api/impl.h"

#include "api/watch.h"

struct look {
	struct api *api;
	bool more;	/* a run with an end is still open */
};

static void
shut(struct api *api, struct run *run)
{
	struct api_lane *lane = api_lane_take(api);
	struct gate_run_summary summary;
	struct gate_problem why;

	/* -1: somebody was faster, or the ledger is gone; it is closed anyhow. */
	(void)gate_run_close(api->options.gate, lane->port, run,
	    &(struct gate_closer){ "broker", "its time is over", { -1, -1, 0 } },
	    &summary, &why);
	api_lane_give(api, lane);
	api_watch_sweep(api->watch);
}

/* Parents come first, so that one close does for all below it. */
static void
look_at(void *arg, struct run *run)
{
	struct look *look = arg;
	int64_t left = run_open_p(run) ? gate_run_left_ms(run) : INT64_MAX;

	if (left < 0)
		shut(look->api, run);
	else if (left != INT64_MAX)
		look->more = true;
}

bool
api_due(void *arg)
{
	struct look look = { .api = arg };
	bool more = api_refusals_tell(arg, false);

	gate_run_each(look.api->options.gate, look_at, &look);
	return more || look.more;
}
