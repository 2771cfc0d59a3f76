/* Requests that a person is asked about: held until the answer is there. */
#include "plane/conn.h"

#include "gate/tcp_peer.h"

#include <poll.h>
#include <stdio.h>

/* It is held no more, whatever comes next. */
static void
let_go(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	if (!exchange->held)
		return;
	gate_approval_held(conn->worker->plane->gate, exchange->verdict.question, -1);
	exchange->held = false;
	timer_stop(&conn->timer);
}

static void
remedy_for(const struct exchange *exchange, char remedy[GATE_WHY_MAX])
{
	snprintf(remedy, GATE_WHY_MAX, "have the operator answer it "
	    "(`countersign approve %s`), then send the request again",
	    exchange->verdict.question);
}

void
held_begin(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct worker *worker = conn->worker;

	exchange->decided = false;	/* nothing is */
	if (worker->plane->conf->approval_ms == 0) {
		held_refuse(conn, "a person has to agree to this first");
		return;
	}
	/* Between the decider and here the answer may have come, and told nobody. */
	if (!gate_approval_held(worker->plane->gate, exchange->verdict.question, 1)) {
		gate_approval_held(worker->plane->gate, exchange->verdict.question, -1);
		request_decide(conn);
		return;
	}
	exchange->held = true;
	/* Once more for another question, it waits no longer in all. */
	if (exchange->held_until_ms == 0)
		exchange->held_until_ms = worker_now_ms(worker) +
		    worker->plane->conf->approval_ms;
	if (!timer_armed(&worker->wall))	/* the run's time may end meanwhile */
		worker_limit(worker, &worker->wall, TIME_WALL);
	conn->state = CONN_HELD;
	worker_limit(worker, &conn->timer, TIME_HELD);
}

/* Behind bytes that nobody reads yet, epoll does not tell. */
static bool
client_left(const struct conn *conn)
{
	struct pollfd end = { .fd = conn->stream.source.fd, .events = POLLRDHUP };

	return poll(&end, 1, 0) > 0 && !tcp_peer_held(end.fd);
}

static bool
let_leave(struct conn *conn)
{
	if (!client_left(conn))
		return false;
	held_refuse(conn, HELD_CLIENT_LEFT);
	conn_close(conn);
	return true;
}

void
held_look(struct conn *conn)
{
	struct worker *worker = conn->worker;

	if (let_leave(conn))
		return;
	if (worker_now_ms(worker) < conn->exchange->held_until_ms) {
		worker_limit(worker, &conn->timer, TIME_HELD);
	} else {
		held_refuse(conn, "no person answered in time");
		conn_run(conn);
	}
}

void
held_refuse(struct conn *conn, const char *why)
{
	char remedy[GATE_WHY_MAX];

	let_go(conn);
	remedy_for(conn->exchange, remedy);
	respond_refuse(conn, 403, "ask/unanswered", why, remedy);
}

/* The decider asked, and the client has left meanwhile. */
void
held_for_nobody(struct exchange *exchange)
{
	struct worker *worker = exchange->worker;
	struct gate_request request;
	char remedy[GATE_WHY_MAX];

	exchange->decided = false;
	remedy_for(exchange, remedy);
	request_described(exchange, &request);
	gate_refuse(worker->plane->gate, &request, 403, "ask/unanswered",
	    HELD_CLIENT_LEFT, remedy, &worker->refusal);
	record_refusal(exchange, &worker->refusal);
	gate_verdict_release(&worker->refusal);
}

void
held_again(struct conn *conn)
{
	if (let_leave(conn))	/* no consent is used up for nobody */
		return;
	let_go(conn);
	request_decide(conn);
	conn_run(conn);
}

static bool
waits_for(const struct conn *conn, const char *id)
{
	return conn->state == CONN_HELD && (id == NULL ||
	    strcmp(conn->exchange->verdict.question, id) == 0);
}

void
held_answered(struct worker *worker, const char *id)
{
	struct conn *conn, *next;

	for (conn = worker->conns; conn != NULL; conn = next) {
		next = conn->next;
		if (waits_for(conn, id))
			held_again(conn);
	}
}

void
held_stop(struct worker *worker)
{
	struct conn *conn, *next;

	for (conn = worker->conns; conn != NULL; conn = next) {
		next = conn->next;
		if (!waits_for(conn, NULL))
			continue;
		held_refuse(conn, "the broker ends before a person answered");
		conn_run(conn);
	}
}
