/* The server: listeners, and the way of one call. */
#include "api/impl.h"
#include "ledger/clock.h"
#include "trouble.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#define STOP_MS 2000	/* how long api_stop waits for calls under way */

/* --- routing ------------------------------------------------------------ */

static bool
param_ok(const char *text, size_t n)
{
	return n > 0 && n < API_PARAM_MAX && strspn(text,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
	    >= n;
}

/* The rest of the path, of several segments. */
static bool
rest_matches(const char *pattern, size_t before, const char *path,
    char param[API_PARAM_MAX])
{
	const char *rest = path + before;
	size_t n;

	if (strncmp(pattern, path, before) != 0)
		return false;
	n = strlen(rest);
	if (n == 0 || n >= API_PARAM_MAX || strspn(rest,
	    "abcdefghijklmnopqrstuvwxyz0123456789./") < n)
		return false;
	memcpy(param, rest, n + 1);
	return true;
}

/* Does path match pattern?  The segment that stands for {}, or what stands for
 * the final **, goes to param. */
static bool
path_matches(const char *pattern, const char *path, char param[API_PARAM_MAX])
{
	const char *hole = strstr(pattern, "{}");
	size_t before, n;

	if (hole == NULL && (hole = strstr(pattern, "**")) != NULL)
		return rest_matches(pattern, (size_t)(hole - pattern), path,
		    param);
	if (hole == NULL)
		return strcmp(pattern, path) == 0;
	before = (size_t)(hole - pattern);
	if (strncmp(pattern, path, before) != 0)
		return false;
	n = strcspn(path + before, "/");
	if (!param_ok(path + before, n) ||
	    strcmp(path + before + n, hole + 2) != 0)
		return false;
	memcpy(param, path + before, n);
	param[n] = '\0';
	return true;
}

static void
route_find(struct api_call *call, const char *method, const char *path)
{
	const char *asked = strcmp(method, "HEAD") == 0 ? "GET" : method;
	const struct api_route *other = NULL;

	for (size_t i = 0; i < api_n_routes; i++) {
		if (!path_matches(api_routes[i].path, path, call->param))
			continue;
		other = &api_routes[i];
		if (strcmp(other->method, asked) == 0) {
			call->route = other;
			return;
		}
	}
	call->route = other;	/* for Allow */
	if (other != NULL)
		api_refuse(call, 405, "api/method",
		    "this path has no such method", API_SEE);
	else
		api_refuse(call, 404, "api/path", "there is no such path",
		    API_SEE);
}

/* --- one call ------------------------------------------------------------ */

/* Does a body follow that is short enough to be read before the call is refused?
 * Otherwise the refusal closes the connection, and a client that still sends
 * sees that instead of the refusal. */
static bool
short_body_coming(const struct api_call *call)
{
	const char *length = MHD_lookup_connection_value(call->connection,
	    MHD_HEADER_KIND, "Content-Length");
	unsigned long long n = length != NULL ? strtoull(length, NULL, 10) : 0;

	return n > 0 && n <= API_BODY_MAX && MHD_lookup_connection_value(
	    call->connection, MHD_HEADER_KIND, "Expect") == NULL;
}

static enum MHD_Result
answer_held(struct api_call *call)
{
	call->result = MHD_queue_response(call->connection, call->held_status,
	    call->held);
	MHD_destroy_response(call->held);
	call->held = NULL;
	return call->result;
}

static void
begin(struct api_call *call, const char *method, const char *path)
{
	call->body_coming = short_body_coming(call);
	route_find(call, method, path);
	if (call->answered)
		return;
	if (MHD_get_connection_values(call->connection, MHD_GET_ARGUMENT_KIND,
	    NULL, NULL) > 0)
		api_refuse(call, 400, "api/query",
		    "this call takes no query", "send none");
	else if (api_admit(call))
		api_body_begin(call);
}

/* False where it cannot begin now, which is answered. */
static bool
lane_for(struct api_call *call)
{
	if (call->route->waits == WAITS_NOT)
		return true;
	call->lane = api_lane_ask(call->api, call->route->waits);
	if (call->lane == NULL)
		api_refuse(call, 503, "ledger/silent", "the recorder does not "
		    "answer, so nothing was done",
		    "see `countersign status`; ask again when it answers");
	return call->lane != NULL;
}

static void
finish(struct api_call *call)
{
	struct seat_holder who;

	if (!api_body_end(call) || !lane_for(call))
		return;
	who = api_holder(call->api, call->run, &call->peer);
	seats_busy(&call->listener->seats, call->seat, &who);
	call->route->handle(call);
	if (gate_refusals_pending(call->api->options.gate))
		api_watch_later(call->api->watch);	/* told a while later */
	if (call->lane != NULL)
		api_lane_give(call->api, call->lane);
	call->lane = NULL;
}

static struct api_call *
call_new(struct api_listener *listener, struct MHD_Connection *connection)
{
	struct api_call *call = calloc(1, sizeof(*call));
	const union MHD_ConnectionInfo *info;

	if (call == NULL)
		return NULL;
	call->api = listener->api;
	call->listener = listener;
	info = MHD_get_connection_info(connection,
	    MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	call->seat = info != NULL ? info->socket_context : NULL;
	call->door = listener->door;
	call->connection = connection;
	call->began_ms = clock_ms();
	atomic_fetch_add(&call->api->in_flight, 1);
	return call;
}

/* The bytes lie in the library's memory: a secret's are wiped there too. */
static enum MHD_Result
take_body(struct api_call *call, const char *bytes, size_t *len)
{
	bool fine = clock_ms() - call->began_ms <= API_CALL_MS &&
	    (call->held != NULL || api_body_add(call, bytes, *len));

	sodium_memzero((void *)(uintptr_t)bytes, *len);
	*len = 0;
	return fine ? MHD_YES : MHD_NO;
}

static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *upload,
    size_t *upload_len, void **state)
{
	struct api_call *call = *state;

	if (call == NULL) {
		call = *state = call_new(arg, connection);
		if (call == NULL)
			return MHD_NO;
		begin(call, method, url);
		call->body_coming = false;
		return call->answered ? call->result : MHD_YES;
	}
	if (*upload_len > 0)
		return take_body(call, upload, upload_len);
	if (call->held != NULL)
		return answer_held(call);
	if (!call->answered)
		finish(call);
	return call->result;
}

static void
completed(void *arg, struct MHD_Connection *connection, void **state,
    enum MHD_RequestTerminationCode how)
{
	struct api_call *call = *state;

	if (call == NULL)
		return;
	*state = NULL;
	if (call->held != NULL)
		MHD_destroy_response(call->held);
	api_body_free(call);
	seats_wait(&call->listener->seats, call->seat);
	run_unref(call->run);
	atomic_fetch_sub(&call->api->in_flight, 1);
	free(call);
}

/* A connection comes or goes; its descriptor is open either time. */
static void
connected(void *arg, struct MHD_Connection *connection, void **seat,
    enum MHD_ConnectionNotificationCode what)
{
	struct api_listener *listener = arg;
	const union MHD_ConnectionInfo *info;
	struct peer peer;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		seats_leave(&listener->seats, *seat);
		*seat = NULL;
		return;
	}
	info = MHD_get_connection_info(connection,
	    MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info == NULL)
		return;
	peer = api_peer(info->connect_fd, listener->door);
	*seat = seats_take(&listener->seats, info->connect_fd,
	    api_holder(listener->api, NULL, &peer));
}

/* Paths are matched as they are sent: nothing in them needs an escape. */
static size_t
unescape_nothing(void *arg, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

/* --- life ----------------------------------------------------------------- */

/* jansson's copies of what was sent are wiped when they are freed. */
static void
wiping_free(void *memory)
{
	if (memory == NULL)
		return;
	sodium_memzero(memory, malloc_usable_size(memory));
	free(memory);
}

static int
listen_start(struct api *api, enum api_door door, int fd)
{
	struct api_listener *listener = &api->listeners[door];

	listener->api = api;
	listener->door = door;
	if (fd == -1)
		return 0;
	listener->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD |
	    MHD_USE_ITC, 0, NULL, NULL, handle, listener,
	    MHD_OPTION_LISTEN_SOCKET, fd,
	    MHD_OPTION_THREAD_POOL_SIZE, (unsigned)API_THREADS,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)(API_CONNECTIONS + API_LEAVING),
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)API_IDLE_S,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
	    MHD_OPTION_THREAD_STACK_SIZE, (size_t)(512 * 1024),
	    MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
	    MHD_OPTION_NOTIFY_CONNECTION, connected, listener,
	    MHD_OPTION_UNESCAPE_CALLBACK, unescape_nothing, NULL,
	    MHD_OPTION_END);
	return listener->daemon != NULL ? 0 : -1;
}

static int
options_copy(struct api *api, const struct api_options *from)
{
	struct api_options *to = &api->options;

	*to = *from;
	to->proxy_host = strdup(from->proxy_host);
	to->api_host = strdup(from->api_host);
	to->agent_socket = strdup(from->agent_socket);
	to->ca_cert = strdup(from->ca_cert);
	to->ca_bundle = strdup(from->ca_bundle);
	to->checkpoint_path = strdup(from->checkpoint_path);
	to->ledger_dir = from->ledger_dir != NULL ? strdup(from->ledger_dir) :
	    NULL;
	return to->proxy_host != NULL && to->api_host != NULL &&
	    to->agent_socket != NULL &&
	    to->ca_cert != NULL && to->ca_bundle != NULL &&
	    to->checkpoint_path != NULL && (to->ledger_dir != NULL) ==
	    (from->ledger_dir != NULL) ? 0 : -1;
}

static int
lanes_make(struct api *api)
{
	for (unsigned i = 0; i < API_LEDGER_PORTS; i++) {
		api->lanes[i].port = ledger_port(api->options.ledger,
		    api->options.first_port + i);
		api->lanes[i].thread = gate_thread_new(api->options.gate);
		if (api->lanes[i].port == NULL || api->lanes[i].thread == NULL)
			return -1;
	}
	return 0;
}

static void
sockets_close(struct api *api)
{
	const int fds[3] = { api->options.operator_fd, api->options.agent_fd,
	    api->options.tcp_fd };

	for (size_t i = 0; i < 3; i++)
		if (fds[i] != -1)
			close(fds[i]);
}

struct api *
api_start(const struct api_options *options, char *err, size_t err_len)
{
	struct api *api = calloc(1, sizeof(*api));
	pthread_condattr_t monotonic;

	if (api == NULL) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&api->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&api->freed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	flood_init(&api->flood);
	for (size_t i = 0; i < 3; i++)
		seats_init(&api->listeners[i].seats, API_CONNECTIONS);
	json_set_alloc_funcs(malloc, wiping_free);
	if (options_copy(api, options) == -1 || lanes_make(api) == -1) {
		snprintf(err, err_len, "the API needs %d ledger ports and memory",
		    API_LEDGER_PORTS);
		goto fail;
	}
	api->watch = api_watch_new(api_run_orphaned, api_due, api);
	if (api->watch == NULL) {
		(void)trouble(err, err_len, "nothing to watch processes with", errno);
		goto fail;
	}
	if (listen_start(api, DOOR_OPERATOR, options->operator_fd) == -1 ||
	    listen_start(api, DOOR_AGENT, options->agent_fd) == -1 ||
	    listen_start(api, DOOR_TCP, options->tcp_fd) == -1) {
		(void)trouble(err, err_len, "the API's server does not start", errno);
		goto fail;
	}
	return api;
fail:
	api->options.operator_fd = api->options.agent_fd =
	    api->options.tcp_fd = -1;	/* still the caller's */
	api_stop(api);
	return NULL;
}

/* No new connections; those that are open are served on for a while. */
static void
quiesce(struct api *api)
{
	const struct timespec pause = { 0, 10000000 };

	for (size_t i = 0; i < 3; i++)
		if (api->listeners[i].daemon != NULL)
			MHD_quiesce_daemon(api->listeners[i].daemon);
	for (int ms = 0; ms < STOP_MS && atomic_load(&api->in_flight) > 0;
	    ms += 10)
		nanosleep(&pause, NULL);
}

void
api_stop(struct api *api)
{
	if (api == NULL)
		return;
	quiesce(api);
	for (size_t i = 0; i < 3; i++)
		if (api->listeners[i].daemon != NULL)
			MHD_stop_daemon(api->listeners[i].daemon);
	api_watch_free(api->watch);
	if (api->lanes[0].port != NULL)
		(void)api_refusals_tell(api, true);
	flood_destroy(&api->flood);
	for (size_t i = 0; i < 3; i++)
		seats_destroy(&api->listeners[i].seats);
	sockets_close(api);
	for (size_t i = 0; i < API_LEDGER_PORTS; i++)
		gate_thread_free(api->lanes[i].thread);
	free((char *)(uintptr_t)api->options.proxy_host);
	free((char *)(uintptr_t)api->options.api_host);
	free((char *)(uintptr_t)api->options.agent_socket);
	free((char *)(uintptr_t)api->options.ca_cert);
	free((char *)(uintptr_t)api->options.ca_bundle);
	free((char *)(uintptr_t)api->options.checkpoint_path);
	free((char *)(uintptr_t)api->options.ledger_dir);
	pthread_mutex_destroy(&api->lock);
	pthread_cond_destroy(&api->freed);
	free(api);
}
