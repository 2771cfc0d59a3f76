#include "plane/conn.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOKS_MAX 64	/* timers that are looked at for one that may go */
#define TURNS_MAX 64	/* steps of one connection before others get theirs */

/* --- life ------------------------------------------------------------- */

static void
unlink_conn(struct conn *conn)
{
	struct worker *worker = conn->worker;

	if (conn->prev != NULL)
		conn->prev->next = conn->next;
	else
		worker->conns = conn->next;
	if (conn->next != NULL)
		conn->next->prev = conn->prev;
}

static void
retire(struct conn *conn, void (*close_stream)(struct stream *stream))
{
	struct worker *worker = conn->worker;

	if (conn->state == CONN_DEAD)
		return;
	if (conn->state == CONN_HELD)
		held_refuse(conn, "the connection was closed before a person answered");
	conn->state = CONN_DEAD;
	timer_stop(&conn->timer);
	if (conn->exchange != NULL)
		exchange_end(conn->exchange);
	close_stream(&conn->stream);
	buf_free(&conn->in);
	buf_free(&conn->out);
	front_free(conn->front);
	conn->front = NULL;
	unlink_conn(conn);
	atomic_fetch_sub(&worker->plane->open, 1);
	atomic_fetch_sub(&worker->load, 1);
	atomic_fetch_sub(&worker->counts[COUNT_OPEN], 1);
	if (!conn->queued) {	/* else the queue's turn moves it over */
		conn->again = worker->dead;
		worker->dead = conn;
	}
}

void
conn_close(struct conn *conn)
{
	retire(conn, stream_close);
}

void
conn_reset(struct conn *conn)
{
	retire(conn, stream_reset);
}

void
conn_free_dead(struct worker *worker)
{
	struct conn *conn;

	while ((conn = worker->dead) != NULL) {
		worker->dead = conn->again;
		free(conn);
	}
}

void
conn_close_idle(struct worker *worker)
{
	struct conn *conn, *next;

	for (conn = worker->conns; conn != NULL; conn = next) {
		next = conn->next;
		if (conn->state == CONN_HEAD && conn->in.len == 0)
			conn_close(conn);
	}
}

/* --- states ----------------------------------------------------------- */

static enum step
run_dead(struct conn *conn)
{
	return STEP_WAIT;
}

/* True where the head is dealt with, one way or the other. */
static bool
take_head(struct conn *conn)
{
	struct head_error error = { 431, "the head is too long" };
	struct exchange *exchange;
	enum head_result result;
	size_t used = 0;

	exchange = exchange_new(conn);
	if (exchange == NULL) {
		conn_close(conn);
		return true;
	}
	result = head_parse_request(conn->in.p + conn->in.off, conn->in.len,
	    &exchange->head, &used, &error);
	conn->parsed = conn->in.len;
	if (result == HEAD_MORE && conn->in.len < HEAD_BYTES_MAX) {
		exchange_end(exchange);
		return false;
	}
	timer_stop(&conn->timer);
	worker_count(conn->worker, COUNT_REQUESTS, 1);
	if (result == HEAD_DONE)
		request_begin(conn, exchange, used);
	else
		request_malformed(conn, exchange, &error);
	conn->parsed = 0;
	conn->line_passed = false;
	return true;
}

/* RFC 9112 section 2.2: one empty line before a request is passed over, since some
 * clients end a body with one too many.  One, whole: what comes behind it is a
 * head or is refused.  False while there is nothing to be parsed. */
static bool
pass_empty_line(struct conn *conn)
{
	const char *in;

	if (conn->line_passed || conn->in.len == 0)
		return conn->in.len > 0;
	in = conn->in.p + conn->in.off;
	if (in[0] != '\r')
		return true;
	if (conn->in.len == 1)
		return false;
	if (in[1] != '\n')
		return true;
	conn->line_passed = true;
	buf_take(&conn->in, 2);
	if (conn->in.len == 0)
		timer_stop(&conn->timer);	/* no request has begun */
	return conn->in.len > 0;
}

static enum step
wait_for_head(struct conn *conn)
{
	if (conn->in.len == 0 && !timer_armed(&conn->timer)) {
		conn->quiet = false;
		worker_limit(conn->worker, &conn->timer,
		    conn->served ? TIME_QUIET : TIME_HEAD);
	}
	return STEP_WAIT;
}

static enum step
run_head(struct conn *conn)
{
	struct worker *worker = conn->worker;
	ssize_t n;

	if (pass_empty_line(conn) && conn->parsed < conn->in.len &&
	    (conn->parsed == 0 || head_worth_parsing(conn->in.p + conn->in.off,
	    conn->parsed, conn->in.len)) && take_head(conn))
		return STEP_ON;
	if (!conn->stream.readable)
		return wait_for_head(conn);
	n = stream_read(&conn->stream, worker->scratch, HEAD_BYTES_MAX);
	if (n == STREAM_BLOCKED)
		return wait_for_head(conn);
	if (n <= 0) {
		conn_close(conn);
		return STEP_WAIT;
	}
	if (conn->in.len == 0 && conn->served)
		worker_limit(worker, &conn->timer, TIME_HEAD);
	if (buf_add(&conn->in, (struct slice){ worker->scratch, (size_t)n },
	    2 * HEAD_BYTES_MAX) != 0)
		conn_close(conn);
	return STEP_ON;
}

static enum step
run_linger(struct conn *conn)
{
	ssize_t n;

	while (conn->stream.readable) {
		n = stream_read(&conn->stream, conn->worker->scratch, SCRATCH_LEN);
		if (n == STREAM_BLOCKED)
			return STEP_WAIT;
		if (n > 0)
			conn->lingered += (unsigned)n;
		if (n <= 0 || conn->lingered >= LINGER_MAX) {
			conn_close(conn);
			break;
		}
	}
	return STEP_WAIT;
}

static const struct {
	enum step (*run)(struct conn *conn);
	bool needs_client;	/* of no use once the client is gone */
} states[] = {
	[CONN_TLS] = { front_handshake, false },	/* its last words say why it left */
	[CONN_HEAD] = { run_head, false },
	[CONN_DECIDE] = { request_asked, true },
	[CONN_HELD] = { request_asked, true },
	[CONN_RECORD] = { request_recorded, true },
	[CONN_BODY] = { body_read, true },
	[CONN_UPSTREAM] = { relay_upstream, true },
	[CONN_RELAY] = { relay_run, true },
	[CONN_TUNNEL] = { tunnel_run, false },
	[CONN_REFUSED] = { respond_recorded, true },
	[CONN_ANSWER] = { respond_send, true },
	[CONN_DRAIN] = { respond_drain, false },
	[CONN_LINGER] = { run_linger, false },
	[CONN_DEAD] = { run_dead, false },
};

static void
client_gone(struct conn *conn)
{
	if (conn->state == CONN_HELD)
		held_refuse(conn, HELD_CLIENT_LEFT);
	if (conn->exchange != NULL && conn->exchange->error == NULL)
		conn->exchange->error = "client_gone";
	conn_close(conn);
}

static void
run_again(struct conn *conn)
{
	struct worker *worker = conn->worker;

	if (conn->queued)
		return;
	conn->queued = true;
	conn->again = worker->again;
	worker->again = conn;
}

void
conn_run(struct conn *conn)
{
	enum step step = STEP_ON;

	for (unsigned turns = 0; step == STEP_ON && turns < TURNS_MAX; turns++) {
		if (states[conn->state].needs_client && conn->stream.gone)
			client_gone(conn);
		step = states[conn->state].run(conn);
	}
	if (conn->state == CONN_DEAD)
		return;
	if (step != STEP_WAIT)
		run_again(conn);
	stream_sync(&conn->stream);
	if (conn->exchange != NULL && conn->exchange->upstream != NULL)
		stream_sync(&conn->exchange->upstream->stream);
}

/* --- events ----------------------------------------------------------- */

static void
on_ready(struct source *source, uint32_t events)
{
	struct conn *conn = (struct conn *)source;

	if (conn->state == CONN_DEAD)
		return;
	stream_note(&conn->stream, events);
	conn_run(conn);
}

static void
on_time(struct timer *timer)
{
	struct conn *conn = (struct conn *)((char *)timer -
	    offsetof(struct conn, timer));

	if (conn->state == CONN_HEAD && conn->in.len == 0 && conn->served &&
	    !conn->quiet) {
		conn->quiet = true;
		buf_free(&conn->in);
		buf_free(&conn->out);
		worker_limit(conn->worker, &conn->timer, TIME_CLIENT);
		return;
	}
	if (conn->state == CONN_HELD) {
		held_look(conn);
		return;
	}
	if (conn->state == CONN_TLS)
		front_refused(conn, "tls/handshake",
		    "the client's TLS handshake took too long");
	if (conn->exchange != NULL && conn->exchange->error == NULL)
		conn->exchange->error = "client_timeout";
	if (conn->state == CONN_RELAY || conn->state == CONN_ANSWER)
		conn_reset(conn);
	else
		conn_close(conn);
}

/* --- beginning and end of a request ----------------------------------- */

/* The head's buffer serves the next head. */
static void
recycle(struct conn *conn)
{
	struct buf *head = &conn->exchange->head_bytes;

	if (conn->in.p != NULL)
		return;
	buf_take(head, head->len);
	conn->in = *head;
	*head = (struct buf){ 0 };
}

void
conn_finish(struct conn *conn)
{
	conn->served = true;
	if (conn->exchange != NULL) {
		recycle(conn);
		exchange_end(conn->exchange);
	}
	timer_stop(&conn->timer);
	if (!conn->close && !atomic_load(&conn->worker->plane->stopping)) {
		conn->state = CONN_HEAD;
		return;
	}
	stream_finish(&conn->stream);
	conn->state = CONN_LINGER;
	worker_limit(conn->worker, &conn->timer, TIME_LINGER);
}

/* Static: this connection is one too many, and gets no exchange. */
#define FULL "{\"type\":\"urn:countersign:client/connections\"," \
    "\"title\":\"Service Unavailable\",\"status\":503," \
    "\"detail\":\"too many connections are open\"," \
    "\"rule\":\"client/connections\"}\n"

static void
turn_away(struct conn *conn)
{
	char answer[512];

	crowd_unread(conn->worker, COUNT_UNREAD_LIMIT);
	snprintf(answer, sizeof(answer), "HTTP/1.1 503 Service Unavailable\r\n"
	    "Content-Type: application/problem+json\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n%s", sizeof(FULL) - 1, FULL);
	if (buf_add(&conn->out, slice_of(answer), ANSWER_MAX) != 0) {
		conn_close(conn);
		return;
	}
	conn->close = true;
	conn->state = CONN_ANSWER;
	worker_limit(conn->worker, &conn->timer, TIME_LINGER);
	conn_run(conn);
}

bool
conn_is_idle(const struct conn *conn)
{
	return (conn->state == CONN_HEAD && conn->exchange == NULL) ||
	    conn->state == CONN_DRAIN || conn->state == CONN_LINGER;
}

/* The one of a queue's first that is idle, or NULL. */
static struct conn *
waiting(struct timer_queue *queue)
{
	struct timer *timer = queue->end.next;
	struct conn *conn;

	for (unsigned i = 0; i < LOOKS_MAX && timer != &queue->end; i++) {
		conn = (struct conn *)((char *)timer - offsetof(struct conn, timer));
		if (timer->fire == on_time && conn_is_idle(conn))
			return conn;
		timer = timer->next;
	}
	return NULL;
}

/* Whoever has held a connection for longest without asking for anything gives
 * it up, first one that was answered and does not leave, then one whose first head
 * is not there yet, then one that is kept for more: or one process could hold them
 * all, and keep everybody else out. */
bool
conn_make_room(struct worker *worker)
{
	static const unsigned char order[] = { TIME_LINGER, TIME_HEAD, TIME_CLIENT,
	    TIME_QUIET };
	struct conn *conn = NULL;

	for (size_t i = 0; i < sizeof(order) && conn == NULL; i++)
		conn = waiting(&worker->limits[order[i]]);
	if (conn == NULL)
		return false;
	conn_close(conn);
	worker_count(worker, COUNT_GAVE_WAY, 1);
	return true;
}

void
conn_accept(struct worker *worker, int fd, bool full)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (conn == NULL ||
	    stream_open(&conn->stream, worker->epoll, fd, on_ready) != 0) {
		crowd_unread(worker, COUNT_UNREAD_MEMORY);
		free(conn);
		close(fd);
		atomic_fetch_sub(&worker->plane->open, 1);
		atomic_fetch_sub(&worker->load, 1);
		return;
	}
	full = full && !conn_make_room(worker);
	conn->worker = worker;
	conn->state = CONN_HEAD;
	conn->timer.fire = on_time;
	conn->next = worker->conns;
	if (worker->conns != NULL)
		worker->conns->prev = conn;
	worker->conns = conn;
	worker_count(worker, COUNT_CONNECTIONS, 1);
	worker_count(worker, COUNT_OPEN, 1);
	worker_limit(worker, &conn->timer, TIME_HEAD);
	if (full)
		turn_away(conn);
}
