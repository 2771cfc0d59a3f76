/* Refusals of callers: one by one, then by number, within the bounds of the run
 * (gate/refusals.h) or of callers that showed no open one (plane/flood.h). */
#include "api/impl.h"
#include "ledger/clock.h"

#include <stdlib.h>
#include <string.h>

/* In the lane of a call that has one: there are no more of them than calls. */
static void
append(struct api *api, struct api_lane *held, const char *run, const char *body,
    size_t len)
{
	struct api_lane *lane = held != NULL ? held :
	    api_lane_ask(api, WAITS_LEDGER);
	struct rules *rules;
	struct ledger_record record = { .type = "refusal", .run = run,
	    .body = body, .body_len = len };
	struct ledger_receipt receipt;

	/* The caller is refused whatever becomes of it. */
	if (lane == NULL)
		return;
	rules = gate_rules(api->options.gate);
	record.policy = rules_digest(rules);
	(void)ledger_append_soon(lane->port, &record, &receipt);
	rules_unref(rules);
	if (held == NULL)
		api_lane_give(api, lane);
}

/* Is it to be a record of its own? */
static bool
alone(struct api_call *call, const struct gate_verdict *refusal)
{
	struct api *api = call->api;

	if (call->run != NULL)
		return gate_refusal_alone(api->options.gate, call->run, refusal,
		    "http", call->peer.uid, NULL);
	return flood_admits(&api->flood, call->peer.uid, refusal,
	    clock_ms(), clock_wall_us());
}

static void
record(struct api_call *call, unsigned status, const char *rule,
    const char *detail, const char *remedy)
{
	struct gate_request request = { .kind = GATE_HTTP, .route = "api",
	    .run = call->run, .peer = call->peer, .body_len = 0 };
	struct gate_verdict *verdict = calloc(1, sizeof(*verdict));
	struct api *api = call->api;

	if (verdict != NULL) {
		gate_refuse(api->options.gate, &request, status, rule, detail,
		    remedy, verdict);
		if (!alone(call, verdict))
			api_watch_later(api->watch);
		else if (verdict->record_len > 0)
			append(api, call->lane, call->run != NULL ?
			    run_id(call->run) : NULL, verdict->record,
			    verdict->record_len);
		gate_verdict_release(verdict);
	}
	free(verdict);
}

void
api_refuse_caller(struct api_call *call, unsigned status, const char *rule,
    const char *detail, const char *remedy)
{
	record(call, status, rule, detail, remedy);
	api_refuse(call, status, rule, detail, remedy);
}

/* The answer may name what the caller sent; the record must not. */
void
api_refuse_input(struct api_call *call, unsigned status, const char *rule,
    const char *detail, const char *remedy)
{
	if (call->run != NULL)
		record(call, status, rule, "the call is not of the form that "
		    "openapi.json says", remedy);
	api_refuse(call, status, rule, detail, remedy);
}

static void
tell(struct api *api, const struct gate_counted *counted, const struct run *run,
    char *body)
{
	const int n = gate_counted_record(counted, run, body, GATE_RECORD_MAX);

	if (n > 0)
		append(api, NULL, run != NULL ? run_id(run) : NULL, body,
		    (size_t)n);
}

bool
api_refusals_tell(struct api *api, bool all)
{
	char *body = malloc(GATE_RECORD_MAX);
	struct gate *gate = api->options.gate;
	struct gate_counted counted;
	struct run *run = NULL;

	while (body != NULL && flood_take(&api->flood, clock_ms(), all,
	    &counted))
		tell(api, &counted, NULL, body);
	while (body != NULL && gate_refusals_take(gate, all, &run, &counted)) {
		tell(api, &counted, run, body);
		gate_outcome_done(run);
		run_unref(run);
	}
	free(body);
	return flood_pending(&api->flood) || gate_refusals_pending(gate);
}
