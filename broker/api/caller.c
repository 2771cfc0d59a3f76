/* Who calls, and what may they? */
#include "api/impl.h"

#include "conf/local_host.h"
#include "gate/process.h"
#include "gate/tcp_peer.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *
header(const struct api_call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND,
	    name);
}

/* --- the browser at the same machine ---------------------------------- */

/* A web page can make a browser send requests here, and by rebinding a name of
 * its own to 127.0.0.1 even read the answers: but then Host is that name. */
static bool
no_browser(struct api_call *call)
{
	static const struct conf_hosts no_names;
	const struct conf_hosts *names = call->api->options.hosts;

	if (call->door != DOOR_TCP)
		return true;
	if (!local_host_p(slice_of(header(call, "Host")),
	    names != NULL ? names : &no_names)) {
		api_refuse_caller(call, 421, "api/host", LOCAL_HOST_REASON,
		    LOCAL_HOST_REMEDY);
		return false;
	}
	if (header(call, "Origin") != NULL) {
		api_refuse_caller(call, 403, "api/origin",
		    "the API is not for web pages",
		    "call it from a program");
		return false;
	}
	return true;
}

/* --- who --------------------------------------------------------------- */

struct peer
api_peer(int fd, enum api_door door)
{
	struct peer peer = { -1, -1, 0 };
	struct process process;
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (door == DOOR_TCP)
		return tcp_peer(fd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return peer;
	peer.uid = cred.uid;
	if (cred.pid <= 0)
		return peer;
	peer.pid = cred.pid;
	if (process_look(cred.pid, &process))
		peer.start_time = process.start_time;
	return peer;
}

static void
peer_find(struct api_call *call)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    call->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	call->peer = (struct peer){ -1, -1, 0 };
	if (info != NULL)
		call->peer = api_peer(info->connect_fd, call->door);
}

struct seat_holder
api_holder(struct api *api, const struct run *run, const struct peer *peer)
{
	struct seat_holder who = { NULL, peer->uid };
	struct run *inside = NULL;

	if (run == NULL && peer->pid > 0)
		run = inside = gate_run_by_process(api->options.gate, peer->pid);
	if (run != NULL)
		who.run = run_top(run);
	run_unref(inside);
	return who;
}

/* The run of a token that is shown; *bad where it is no good. */
static struct run *
run_of_token(struct api_call *call, bool *bad)
{
	const char *field = header(call, "Authorization");
	struct run *run;

	*bad = false;
	if (field == NULL)
		return NULL;
	*bad = true;
	if (strncasecmp(field, "Bearer ", 7) != 0)
		return NULL;
	run = gate_run_by_token(call->api->options.gate, slice_of(field + 7));
	if (run != NULL && !gate_run_admits(run, &call->peer)) {
		run_unref(run);
		return NULL;
	}
	*bad = run == NULL;
	return run;
}

/* On a Unix socket the caller's place among processes counts as a token. */
static struct run *
run_of_process(struct api_call *call)
{
	if (call->peer.pid <= 0)
		return NULL;
	return gate_run_by_process(call->api->options.gate, call->peer.pid);
}

/* The operator is who can open his socket and is no part of a run: an agent
 * under the same user must not administer.  An agent that detaches itself from
 * its tree of processes can still pass for the operator; a user of its own, or a
 * container without the socket, keeps it out. */
static bool
operator_p(const struct api_call *call, const struct run *inside)
{
	return call->door == DOOR_OPERATOR && inside == NULL &&
	    (call->peer.uid == (int64_t)geteuid() || call->peer.uid == 0);
}

static bool
identify(struct api_call *call)
{
	struct run *inside;
	bool bad;

	call->run = run_of_token(call, &bad);
	if (bad) {
		api_refuse_caller(call, 401, "run/unknown",
		    "the token is of no open run (tokens do not outlive a run or a restart), or not for this process",
		    "send the token of an open run as Authorization: Bearer");
		return false;
	}
	inside = run_of_process(call);
	call->operator = operator_p(call, inside);
	if (call->run == NULL)
		call->run = inside;
	else
		run_unref(inside);
	return true;
}

static bool
allowed(struct api_call *call)
{
	switch (call->route->right) {
	case RIGHT_ANYONE:
		return true;
	case RIGHT_OPERATOR:
		if (call->operator)
			return true;
		api_refuse_caller(call, 403, "api/operator-only",
		    "only the operator may do this, on the operator's socket and not from within a run",
		    "use `countersign` outside the run");
		return false;
	case RIGHT_RUN_OR_OPERATOR:
		if (call->operator)
			return true;
		break;
	case RIGHT_RUN:
		break;
	}
	if (call->run != NULL)
		return true;
	api_refuse_caller(call, 401, "run/required", "the call names no open run",
	    "send the run's token as Authorization: Bearer");
	return false;
}

bool
api_admit(struct api_call *call)
{
	peer_find(call);
	return no_browser(call) &&
	    (call->route->right == RIGHT_ANYONE || identify(call)) &&
	    allowed(call);
}

struct run *
api_run_named(struct api_call *call)
{
	struct run *run = gate_run_by_id(call->api->options.gate,
	    slice_of(call->param));

	if (run != NULL && (call->operator || run == call->run ||
	    (call->run != NULL && run_below_p(run, call->run))))
		return run;
	run_unref(run);
	api_refuse(call, 404, "run/none", "there is no such run for you",
	    "see GET /v1/runs");
	return NULL;
}
