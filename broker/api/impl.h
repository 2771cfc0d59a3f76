/* What the API's own sources share. */
#ifndef BROKER_API_IMPL_H
#define BROKER_API_IMPL_H

#include "api/api.h"
#include "api/seats.h"
#include "api/watch.h"
#include "plane/flood.h"
#include "slice.h"

#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#define API_BODY_MAX (1u << 20)		/* bytes of a JSON body */
#define API_SECRET_MAX (SECRET_MAX + 2)	/* and a final CRLF, which is dropped */
#define API_CONNECTIONS 256		/* of one listener, shared as seats.h says */
#define API_LEAVING 64			/* more of them, that were told to leave */
#define API_THREADS (API_LEDGER_PORTS + 1)	/* of one listener: where all lanes wait, one is left */
#define API_IDLE_S 30
#define API_CALL_MS 60000		/* a request must have come by then */
#define API_SEE "openapi.json, which is installed in share/countersign, has every path and its members"
#define API_PARAM_MAX 80

enum api_door { DOOR_OPERATOR, DOOR_AGENT, DOOR_TCP };

/* What one blocking call needs: policy scratch and a ledger port. */
struct api_lane {
	struct gate_thread *thread;
	struct ledger_port *port;
	bool busy;
};

struct api_listener {
	struct api *api;
	enum api_door door;
	struct MHD_Daemon *daemon;
	struct seats seats;
};

struct api {
	struct api_options options;	/* its texts are copies */
	struct api_listener listeners[3];
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct api_lane lanes[API_LEDGER_PORTS];
	struct api_watch *watch;	/* of the processes that runs end with */
	struct flood flood;		/* refusals of callers without a run */
	_Atomic unsigned in_flight;
	atomic_bool stopping;
	_Atomic uint64_t answers[6];	/* by hundreds of the status */
};

enum api_right {
	RIGHT_ANYONE,
	RIGHT_RUN,		/* a run, on its own behalf */
	RIGHT_RUN_OR_OPERATOR,	/* a run for what is its own, the operator for all */
	RIGHT_OPERATOR
};

enum api_body { BODY_NONE, BODY_JSON, BODY_OPTIONAL_JSON, BODY_SECRET };

struct api_call;

/* What a call may wait for. */
enum api_waits {
	WAITS_NOT,
	WAITS_LEDGER,		/* for the recorder, or the ledger's disk: in a lane */
	WAITS_LONG,		/* the same, and for a silent one as long as that takes */
	WAITS_LAST		/* takes something back: done whatever the recorder does */
};

struct api_route {
	const char *method, *path;	/* "{}" is one segment, a final "**" all that follow */
	enum api_right right;
	enum api_waits waits;
	enum api_body body;
	void (*handle)(struct api_call *call);
};

extern const struct api_route api_routes[];
extern const size_t api_n_routes;

struct api_call {
	struct api *api;
	enum api_door door;
	struct MHD_Connection *connection;
	struct api_listener *listener;
	struct seat *seat;		/* of the connection, or NULL */
	const struct api_route *route;
	char param[API_PARAM_MAX];
	int64_t began_ms;		/* clock_ms */

	/* who */
	struct peer peer;
	bool operator;
	struct run *run;		/* referenced; NULL: none shown */

	/* the body */
	char *body;
	size_t body_len, body_cap;
	bool too_large;
	json_t *json;			/* parsed, NULL where there is none */

	struct api_lane *lane;
	bool answered;
	enum MHD_Result result;
	bool body_coming;		/* a short one: what is answered now waits for it */
	struct MHD_Response *held;	/* that answer */
	unsigned held_status;
};

/* --- lanes.c ----------------------------------------------------------- */

/*
 * Waits for a free one; for calls: NULL where they would wait for a silent
 * recorder and hold a thread, so that in the end nobody could be told.  Those
 * that wait long take a lane that is free, silent or not.  The one that is kept
 * for taking back is held for seconds at most, whatever happens.
 */
struct api_lane *api_lane_take(struct api *api);
struct api_lane *api_lane_ask(struct api *api, enum api_waits waits);
void api_lane_give(struct api *api, struct api_lane *lane);

/* --- answer.c: exactly one of these per call -------------------------- */

/* Steals json; NULL is a 503. */
void api_answer(struct api_call *call, unsigned status, json_t *json);
void api_answer_text(struct api_call *call, unsigned status,
    const char *type, char *text, size_t len);	/* takes over text (malloc) */
void api_refuse(struct api_call *call, unsigned status, const char *rule,
    const char *detail, const char *remedy);
void api_refuse_problem(struct api_call *call, const struct gate_problem *why);

json_t *api_receipt(const struct ledger_receipt *receipt);
json_t *api_time(int64_t unix_s);	/* RFC 3339, UTC */

/* --- refusal.c -------------------------------------------------------- */

/* api_refuse, and a record of it: of the run that the caller showed, else within
 * bounds. */
void api_refuse_caller(struct api_call *call, unsigned status,
    const char *rule, const char *detail, const char *remedy);
/* Input of a wrong form: a run's call is recorded, without what it sent. */
void api_refuse_input(struct api_call *call, unsigned status,
    const char *rule, const char *detail, const char *remedy);
/* Record what was only counted: what is due, or all; true where more is. */
bool api_refusals_tell(struct api *api, bool all);

/* --- expiry.c ---------------------------------------------------------- */

/* For the watch: tells what is due, closes what is over; true where more will be. */
bool api_due(void *api);

/* --- caller.c --------------------------------------------------------- */

/* The user and process at the other end. */
struct peer api_peer(int fd, enum api_door door);

/* Who holds that connection: the run at the top, its processes being below it or its
 * token having been shown. */
struct seat_holder api_holder(struct api *api, const struct run *run,
    const struct peer *peer);

/* Who calls, and may they call this?  Answers and returns false where not. */
bool api_admit(struct api_call *call);

/* The run that the path names, referenced, where the caller may see it. */
struct run *api_run_named(struct api_call *call);

/* --- body.c ----------------------------------------------------------- */

/* The length is announced: refuse what is too long before it is sent. */
bool api_body_begin(struct api_call *call);
/* False where the connection should be cut. */
bool api_body_add(struct api_call *call, const char *bytes, size_t len);
/* All of it is here: parse.  Answers and returns false where it is no good. */
bool api_body_end(struct api_call *call);
void api_body_free(struct api_call *call);

/* --- the handlers ------------------------------------------------------ */

void api_run_open(struct api_call *call);
void api_run_list(struct api_call *call);
void api_run_look(struct api_call *call);
void api_run_close(struct api_call *call);
void api_run_orphaned(void *arg, struct run *run);	/* arg: the api; its process ended */
void api_grant_issue(struct api_call *call);
void api_grant_look(struct api_call *call);
void api_grant_revoke(struct api_call *call);
void api_decide(struct api_call *call);
void api_claim(struct api_call *call);
void api_loss(struct api_call *call);
void api_secret_put(struct api_call *call);
void api_secret_rotate(struct api_call *call);
void api_secret_revoke(struct api_call *call);
void api_approval_list(struct api_call *call);
void api_approval_answer(struct api_call *call);
void api_secret_list(struct api_call *call);
void api_policy_reload(struct api_call *call);
void api_checkpoint(struct api_call *call);
void api_tile(struct api_call *call);
void api_proof(struct api_call *call);
void api_epochs(struct api_call *call);
void api_rotate_key(struct api_call *call);
void api_health(struct api_call *call);
void api_metrics(struct api_call *call);
void api_shutdown(struct api_call *call);

/* The size that the latest checkpoint signs; 0 where there is none. */
uint64_t api_signed_size(const struct api *api);

/* The latest signed note, malloc'ed; NULL where there is none. */
char *api_read_checkpoint(const struct api *api, size_t *len);

#endif
