/* Answers of our own: application/problem+json (RFC 9457). */
#include "plane/conn.h"

#include "ledger/record/json_out.h"

#include <stdio.h>

static const char *
title_of(unsigned status)
{
	static const struct { unsigned status; const char *title; } titles[] = {
		{ 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 403, "Forbidden" }, { 404, "Not Found" },
		{ 407, "Proxy Authentication Required" },
		{ 408, "Request Timeout" }, { 413, "Content Too Large" },
		{ 414, "URI Too Long" }, { 417, "Expectation Failed" },
		{ 421, "Misdirected Request" }, { 426, "Upgrade Required" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 501, "Not Implemented" }, { 502, "Bad Gateway" },
		{ 503, "Service Unavailable" }, { 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		if (titles[i].status == status)
			return titles[i].title;
	}
	return "Refused";
}

/* Of a body whose length is known, what was not read yet (body.c reads some). */
static uint64_t
to_come(const struct exchange *exchange)
{
	return exchange->head.body_len - exchange->request.taken;
}

/* The rest of the body that may be read to keep the connection: only where its
 * end is known and near, and the client does not wait for leave to send. */
static bool
can_drain(const struct conn *conn)
{
	const struct exchange *exchange = conn->exchange;
	const struct head *head = &exchange->head;

	if (head->framing == HEAD_NO_BODY)
		return true;
	return !exchange->sent && head->framing == HEAD_LENGTH &&
	    to_come(exchange) <= DRAIN_MAX && !head->expect_continue;
}

static int
problem(unsigned status, const char *rule, const char *reason,
    const char *remedy, char *buf, size_t cap)
{
	struct json_out json;
	char type[192];

	snprintf(type, sizeof(type), "urn:countersign:%s", rule);
	json_out_begin(&json, buf, cap);
	json_out_object(&json, NULL);
	json_out_str(&json, "type", type);
	json_out_str(&json, "title", title_of(status));
	json_out_uint(&json, "status", status);
	json_out_str(&json, "detail", reason);
	json_out_str(&json, "rule", rule);
	json_out_str(&json, "remedy", remedy);
	json_out_object_end(&json);
	return json_out_end(&json);
}

/* Write the answer into conn->out, behind what is left of a 1xx response. */
static void
compose(struct conn *conn, unsigned status, const char *rule,
    const char *reason, const char *remedy)
{
	bool head_only = strcmp(conn->exchange->method, "HEAD") == 0;
	char head[512], body[4096];
	int n, body_len;

	/* Nothing else is asked where a tunnel was refused, and Node's own agent
	 * waits for the end of the connection before its process ends. */
	if (!can_drain(conn) || (status != 407 &&
	    strcmp(conn->exchange->method, "CONNECT") == 0))
		conn->close = true;
	body_len = problem(status, rule, reason, remedy, body, sizeof(body));
	if (body_len < 0)
		body_len = problem(status, rule, "refused", "", body, sizeof(body));
	n = snprintf(head, sizeof(head), "HTTP/1.1 %u %s\r\n"
	    "Content-Type: application/problem+json\r\n"
	    "Content-Length: %d\r\nCache-Control: no-store\r\n%s%s\r\n",
	    status, title_of(status), body_len,
	    status == 407 ? "Proxy-Authenticate: Basic realm=\"countersign\"\r\n" :
	    status == 401 ? "WWW-Authenticate: Bearer realm=\"countersign\"\r\n" :
	    status == 426 ? "Upgrade: HTTP/1.1\r\nConnection: Upgrade\r\n" : "",
	    conn->close ? "Connection: close\r\n" :
	    conn->exchange->head.minor == 0 ? "Connection: keep-alive\r\n" : "");
	if (buf_add(&conn->out, (struct slice){ head, (size_t)n }, ANSWER_MAX) != 0 ||
	    (!head_only && buf_add(&conn->out,
	    (struct slice){ body, (size_t)body_len }, ANSWER_MAX) != 0)) {
		buf_free(&conn->out);
		conn->close = true;	/* no memory: the end is the answer */
	}
}

/* The upstream has no more part in it. */
static void
let_go(struct exchange *exchange)
{
	if (exchange->upstream != NULL) {
		record_unsent(exchange);
		if (exchange->sent || exchange->upstream->state != UPSTREAM_READY)
			upstream_drop(exchange->upstream);
		else
			upstream_give_back(exchange->upstream);
	}
	exchange->upstream = NULL;
	exchange->refused = true;
}

/*
 * Of a WebSocket that is not allowed, plain requests to the same place may be
 * (RFC 9110 section 15.5.22): clients that can do without, such as Codex, then go
 * on at once, where 403 makes them try six times more, for ten seconds.
 */
static unsigned
status_of(const struct exchange *exchange, const struct gate_verdict *verdict)
{
	return exchange->websocket && verdict->status == 403 ? 426 :
	    verdict->status;
}

void
respond_verdict(struct conn *conn, const struct gate_verdict *verdict)
{
	compose(conn, status_of(conn->exchange, verdict), verdict->rule,
	    verdict->reason, verdict->remedy);
	let_go(conn->exchange);
	worker_count(conn->worker, COUNT_REFUSED, 1);
	conn->state = record_refusal(conn->exchange, verdict) ? CONN_REFUSED :
	    CONN_ANSWER;
}

void
respond_refuse(struct conn *conn, unsigned status, const char *rule,
    const char *reason, const char *remedy)
{
	struct exchange *exchange = conn->exchange;
	struct worker *worker = conn->worker;
	struct gate_request request;
	bool was_allowed = exchange->decided && exchange->verdict.allow;

	/* What was allowed before gets its outcome first. */
	if (was_allowed) {
		exchange->error = exchange->error != NULL ? exchange->error : rule;
		exchange->withdrawn = true;
		record_outcome(exchange);
		exchange->verdict.allow = false;
	}
	if (!exchange->has_target)
		front_target(conn);
	request_described(exchange, &request);
	request.was_allowed = was_allowed;
	gate_refuse(worker->plane->gate, &request, status, rule, reason, remedy,
	    &worker->refusal);
	respond_verdict(conn, &worker->refusal);
	gate_verdict_release(&worker->refusal);
}

void
respond_failed(struct conn *conn, unsigned status, const char *rule,
    const char *reason, const char *remedy)
{
	compose(conn, status, rule, reason, remedy);
	let_go(conn->exchange);
	conn->state = CONN_ANSWER;
}

void
respond_no_memory(struct conn *conn)
{
	respond_failed(conn, 503, "broker/memory", "out of memory", "try again");
}

enum step
respond_recorded(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	if (exchange->waiting)
		return STEP_WAIT;
	if (exchange->failed) {
		conn->close = true;
		buf_free(&conn->out);
		compose(conn, 503, "ledger/unavailable",
		    "the refusal could not be written to the ledger",
		    "nothing was sent; see `countersign status`");
	}
	conn->state = CONN_ANSWER;
	return STEP_ON;
}

enum step
respond_send(struct conn *conn)
{
	int result = stream_flush(&conn->stream, &conn->out);

	if (result == STREAM_BLOCKED) {
		if (!timer_armed(&conn->timer))
			worker_limit(conn->worker, &conn->timer, TIME_CLIENT);
		return STEP_WAIT;
	}
	if (result != 0) {
		conn_close(conn);
		return STEP_WAIT;
	}
	if (conn->exchange != NULL && !conn->close &&
	    conn->exchange->head.framing == HEAD_LENGTH) {
		timer_stop(&conn->timer);
		conn->exchange->head.body_len = to_come(conn->exchange);
		conn->state = CONN_DRAIN;
		return STEP_ON;
	}
	conn_finish(conn);
	return STEP_ON;
}

enum step
respond_drain(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	uint64_t *left = &exchange->head.body_len;
	size_t n;
	ssize_t got;

	for (;;) {
		n = *left < conn->in.len ? (size_t)*left : conn->in.len;
		buf_take(&conn->in, n);
		*left -= n;
		if (*left == 0)
			break;
		if (!conn->stream.readable)
			goto wait;
		got = stream_read(&conn->stream, conn->worker->scratch,
		    *left < SCRATCH_LEN ? (size_t)*left : SCRATCH_LEN);
		if (got == STREAM_BLOCKED)
			goto wait;
		if (got <= 0) {
			conn_close(conn);
			return STEP_WAIT;
		}
		*left -= (uint64_t)got;
	}
	conn_finish(conn);
	return STEP_ON;
wait:
	if (!timer_armed(&conn->timer))
		worker_limit(conn->worker, &conn->timer, TIME_LINGER);
	return STEP_WAIT;
}
