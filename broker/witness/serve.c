#include "witness/serve.h"

#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <microhttpd.h>

#define CONNECTIONS 128
#define OF_ONE_ADDRESS 32	/* of them: who says a byte now and then keeps his */
#define IDLE_S 10

struct witness_server {
	struct witness *witness;
	struct MHD_Daemon *daemon;
};

struct call {
	char *body;
	size_t len, cap;
};

static enum MHD_Result
answer(struct MHD_Connection *connection, unsigned status, const char *type,
    const char *text, size_t len)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(len,
	    (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result
answer_text(struct MHD_Connection *connection, unsigned status,
    const char *text)
{
	return answer(connection, status, "text/plain; charset=utf-8", text,
	    strlen(text));
}

static bool
is_submission(const char *method, const char *url)
{
	return strcmp(method, "POST") == 0 &&
	    (strcmp(url, "/add-checkpoint") == 0 || strcmp(url, "/epochs") == 0);
}

static enum MHD_Result
get(const struct witness_server *server, struct MHD_Connection *connection,
    const char *method, const char *url)
{
	static const char prefix[] = "/checkpoint/";
	const char *note;
	size_t len;

	if (strcmp(url, "/add-checkpoint") == 0)
		return answer_text(connection, 405, "POST a checkpoint\n");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return answer_text(connection, 405, "GET only\n");
	if (strcmp(url, "/healthz") == 0)
		return answer_text(connection, 200, "ok\n");
	if (strncmp(url, prefix, sizeof(prefix) - 1) == 0 &&
	    (note = witness_latest(server->witness, url + sizeof(prefix) - 1,
	    &len)) != NULL)
		return answer(connection, 200, "text/plain; charset=utf-8",
		    note, len);
	return answer_text(connection, 404, "there is no such path\n");
}

/* The client's address is not logged: the log's origin says who it is. */
static void
tell(const struct witness_reply *reply)
{
	bool alarm = strcmp(reply->event, "equivocation") == 0 ||
	    strcmp(reply->event, "inconsistent") == 0 || reply->status == 500;

	if (reply->origin[0] != '\0')
		log_event(alarm ? LOG_ERROR : LOG_INFO, reply->event,
		    "%s, size %" PRIu64 ": status %u", reply->origin,
		    reply->size, reply->status);
}

static enum MHD_Result
submit(struct witness_server *server, struct MHD_Connection *connection,
    const struct call *call, const char *url)
{
	const char *body = call->body != NULL ? call->body : "";
	struct witness_reply reply;

	if (strcmp(url, "/epochs") == 0)
		witness_add_epochs(server->witness, body, call->len, &reply);
	else
		witness_add_checkpoint(server->witness, body, call->len,
		    (uint64_t)time(NULL), &reply);
	tell(&reply);
	return answer(connection, reply.status, reply.type, reply.body,
	    reply.len);
}

/* False: no more than can be meant is read. */
static bool
collect(struct call *call, const char *data, size_t len)
{
	char *more;

	if (len > WITNESS_EPOCHS_MAX - call->len)
		return false;
	if (call->cap - call->len < len) {
		call->cap = 2 * (call->len + len);
		if ((more = realloc(call->body, call->cap)) == NULL)
			return false;
		call->body = more;
	}
	memcpy(call->body + call->len, data, len);
	call->len += len;
	return true;
}

static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *data, size_t *len,
    void **state)
{
	struct witness_server *server = arg;
	struct call *call = *state;
	size_t n = *len;

	if (call == NULL) {
		*state = calloc(1, sizeof(*call));
		return *state != NULL ? MHD_YES : MHD_NO;
	}
	if (!is_submission(method, url)) {
		*len = 0;
		return n > 0 ? MHD_YES : get(server, connection, method, url);
	}
	if (n > 0) {
		*len = 0;
		return collect(call, data, n) ? MHD_YES : MHD_NO;
	}
	return submit(server, connection, call, url);
}

static void
completed(void *arg, struct MHD_Connection *connection, void **state,
    enum MHD_RequestTerminationCode how)
{
	struct call *call = *state;

	if (call != NULL)
		free(call->body);
	free(call);
	*state = NULL;
}

static int
listen_on(const struct sockaddr_in *address, uint16_t *port, char *err,
    size_t err_len)
{
	struct sockaddr_in bound = *address;
	socklen_t len = sizeof(bound);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on,
	    sizeof(on)) == 0 && bind(fd, (const struct sockaddr *)address,
	    sizeof(*address)) == 0 && listen(fd, 64) == 0 &&
	    getsockname(fd, (struct sockaddr *)&bound, &len) == 0) {
		*port = ntohs(bound.sin_port);
		return fd;
	}
	snprintf(err, err_len, "cannot listen: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

struct witness_server *
witness_server_start(struct witness *witness,
    const struct sockaddr_in *address, uint16_t *port, char *err,
    size_t err_len)
{
	struct witness_server *server = calloc(1, sizeof(*server));
	int fd;

	snprintf(err, err_len, "out of memory");
	if (server == NULL ||
	    (fd = listen_on(address, port, err, err_len)) < 0) {
		free(server);
		return NULL;
	}
	server->witness = witness;
	server->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD |
	    MHD_USE_ITC, 0, NULL, NULL, handle, server,
	    MHD_OPTION_LISTEN_SOCKET, fd,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
	    MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)OF_ONE_ADDRESS,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768,
	    MHD_OPTION_STRICT_FOR_CLIENT, 1,
	    MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
	    MHD_OPTION_END);
	if (server->daemon != NULL)
		return server;
	snprintf(err, err_len, "the HTTP server cannot start");
	close(fd);
	free(server);
	return NULL;
}

void
witness_server_stop(struct witness_server *server)
{
	if (server == NULL)
		return;
	MHD_stop_daemon(server->daemon);
	free(server);
}
