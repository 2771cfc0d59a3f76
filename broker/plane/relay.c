/* One allowed exchange: the head is injected, the bodies are pumped. */
#include "gate/tcp_peer.h"
#include "inject/inject.h"
#include "plane/relay.h"

#define HEAD_ROOM 384		/* beyond the client's own head: slot, framing, Host */

enum pump_result
relay_fill(struct pump *pump, struct stream *source, struct buf *in,
    struct buf *out, char *scratch, bool *moved)
{
	struct slice bytes = buf_slice(in);
	enum pump_result result;
	ssize_t n;

	result = pump_feed(pump, &bytes, out);
	*moved |= bytes.n < in->len || result == PUMP_DONE;
	buf_take(in, in->len - bytes.n);
	if (result != PUMP_MORE || !source->readable)
		return result;
	n = stream_read(source, scratch, SCRATCH_LEN);
	if (n == STREAM_BLOCKED)
		return PUMP_MORE;
	*moved = true;
	if (n == STREAM_END)
		return pump_end(pump, out);
	if (n == STREAM_BROKEN)
		return PUMP_CUT;
	bytes = (struct slice){ scratch, (size_t)n };
	result = pump_feed(pump, &bytes, out);
	if (buf_add(in, bytes, 2 * SCRATCH_LEN) != 0)
		return PUMP_MEMORY;
	return result;
}

/* --- ends that are not as they should be ------------------------------ */

enum flow
relay_broken_off(struct conn *conn, const char *error)
{
	if (conn->exchange->error == NULL)
		conn->exchange->error = error;
	conn_reset(conn);
	return FLOW_OVER;
}

/* An answer of which the client has seen nothing may still become another. */
static bool
take_back(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	if (!exchange->answered || !exchange->unshown)
		return !exchange->answered;
	conn->out.len = exchange->ahead;
	buf_free(&exchange->hold);
	exchange->answered = exchange->unshown = exchange->holding = false;
	return true;
}

enum flow
relay_fail(struct conn *conn, const char *error, unsigned status, const char *rule,
    const char *reason)
{
	struct exchange *exchange = conn->exchange;

	worker_count(conn->worker, COUNT_UPSTREAM_ERRORS, 1);
	if (!take_back(conn))
		return relay_broken_off(conn, error);
	if (exchange->error == NULL)
		exchange->error = error;
	respond_failed(conn, status, rule, reason,
	    "the request may or may not have been carried out");
	return FLOW_OVER;
}

enum flow
relay_refuse(struct conn *conn, unsigned status, const char *rule,
    const char *reason, const char *remedy)
{
	if (!take_back(conn))
		return relay_broken_off(conn, rule);
	respond_refuse(conn, status, rule, reason, remedy);
	return FLOW_OVER;
}

enum flow
relay_no_memory(struct conn *conn)
{
	return relay_fail(conn, "out_of_memory", 503, "broker/memory", "out of memory");
}

void
relay_client_left(struct conn *conn)
{
	if (conn->exchange->error == NULL)
		conn->exchange->error = "client_gone";
	conn_close(conn);
}

/* --- the upstream is ready -------------------------------------------- */

/* Nearly every head is little longer than what the client sent. */
static int
put_head(struct exchange *exchange, const struct inject *inject, size_t more)
{
	struct buf *out = &exchange->upstream->out;
	size_t cap = exchange->head_bytes.len + 3 * inject->secret.n + more;
	char *room = buf_reserve(out, cap, PUMP_OUT_MAX);
	int n = room != NULL ? inject_request_head(inject, room, cap) : -1;

	if (n < 0)
		return -1;
	buf_commit(out, (size_t)n);
	return 0;
}

static enum step
send_head(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct upstream *upstream = exchange->upstream;
	const struct head *head = &exchange->head;
	struct inject inject = { .head = head, .target = &exchange->target,
	    .binding = exchange->verdict.binding,
	    .keep_accept_encoding = exchange->verdict.needles == NULL,
	    .websocket = exchange->websocket,
	    .body_hash = exchange->body_hash[0] != '\0' ? exchange->body_hash : NULL,
	    .now = time(NULL) };

	if (exchange->verdict.secret != NULL)
		inject.secret = secret_bytes(exchange->verdict.secret);
	if (put_head(exchange, &inject, HEAD_ROOM) != 0 &&
	    put_head(exchange, &inject, HEAD_BYTES_MAX) != 0) {
		relay_refuse(conn, 431, "http/head-too-long",
		    "the head is too long with the credential in it", "send less");
		return STEP_ON;
	}
	/* The client waited for the decision; the upstream was not asked. */
	if (head->expect_continue && head->minor > 0 && conn->in.len == 0 &&
	    !exchange->request.done && buf_add(&conn->out, SLICE("HTTP/1.1 100 Continue\r\n\r\n"),
	    PUMP_OUT_MAX) != 0) {
		relay_no_memory(conn);
		return STEP_ON;
	}
	exchange->sent = true;
	exchange->head_left = upstream->out.len;
	if (!exchange->request.done)	/* else the body is there */
		pump_init(&exchange->request, head->framing == HEAD_LENGTH ? FRAME_LENGTH :
	    head->framing == HEAD_CHUNKED ? FRAME_CHUNKED : FRAME_NONE,
	    head->body_len, head->framing == HEAD_LENGTH ? FRAME_LENGTH :
	    head->framing == HEAD_CHUNKED ? FRAME_CHUNKED : FRAME_NONE, NULL, NULL);
	upstream_touch(upstream);
	conn->state = CONN_RELAY;
	return STEP_ON;
}

enum step
relay_upstream(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct upstream *upstream = exchange->upstream;

	if (upstream == NULL) {
		respond_failed(conn, 503, "broker/memory", "out of memory",
		    "try again");
		return STEP_ON;
	}
	if (upstream->state == UPSTREAM_READY)
		return exchange->head.target_form == HEAD_AUTHORITY ?
		    tunnel_connect(conn) : send_head(conn);
	if (upstream->state != UPSTREAM_FAILED)
		return STEP_WAIT;
	exchange->error = upstream->error.word;
	if (upstream->error.status == 403) {
		respond_refuse(conn, 403, upstream->error.rule,
		    upstream->error.reason,
		    "only an operator can allow it: `countersign egress allow --private CIDR`");
	} else {
		exchange->unreached = true;
		respond_failed(conn, upstream->error.status, upstream->error.rule,
		    upstream->error.reason, "nothing was sent; try again");
	}
	return STEP_ON;
}

/* --- request: client to upstream -------------------------------------- */

bool
relay_within_budget(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	const struct gate_verdict *verdict = &exchange->verdict;
	uint64_t taken = exchange->request.taken;
	uint64_t fresh = taken - exchange->passed;

	if (fresh == 0)
		return true;
	/* First, since the policy's limit may be what was left of the budget. */
	if (!gate_spend_bytes(conn->worker->plane->gate, exchange->run, fresh)) {
		relay_refuse(conn, 429, "budget/bytes-out",
		    "the run's budget of bytes to be sent is spent",
		    GATE_BUDGET_REMEDY("--budget-bytes", "bytes_out"));
		return false;
	}
	exchange->passed = taken;
	if (verdict->max_bytes < 0 || taken <= (uint64_t)verdict->max_bytes)
		return true;
	relay_refuse(conn, 413, "request/too-long",
	    "the body is longer than the policy allows", "send less");
	return false;
}

static enum flow
take_body(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct upstream *upstream = exchange->upstream;
	bool moved = false;
	enum pump_result result;

	if (exchange->request_broken || upstream->out.len >= PUMP_MARK)
		return FLOW_WAIT;
	result = relay_fill(&exchange->request, &conn->stream, &conn->in,
	    &upstream->out, conn->worker->scratch, &moved);
	if (!relay_within_budget(conn))
		return FLOW_OVER;
	switch (result) {
	case PUMP_BAD:
		return relay_refuse(conn, 400, "http/malformed",
		    "the chunked body is malformed", "send HTTP/1.1 as RFC 9112 has it");
	case PUMP_CUT:
		relay_client_left(conn);
		return FLOW_OVER;
	case PUMP_MEMORY:
		return relay_no_memory(conn);
	default:
		return moved ? FLOW_MOVED : FLOW_WAIT;
	}
}

/* From then on the service may have logged it, whatever becomes of the body. */
static void
note_head(struct exchange *exchange, size_t flushed)
{
	const size_t of_head = flushed < exchange->head_left ? flushed : exchange->head_left;

	if (exchange->head_left == 0)
		return;
	exchange->head_left -= of_head;
	exchange->head_sent = exchange->head_sent || exchange->head_left == 0;
}

static enum flow
push_request(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct upstream *upstream = exchange->upstream;
	enum flow flow = FLOW_WAIT;
	int flushed;
	size_t before;

	if (!exchange->request.done)
		flow = take_body(conn);
	else if (!exchange->request_broken)
		flow = body_give(exchange);
	if (flow == FLOW_OVER || upstream->out.len == 0)
		return flow;
	before = upstream->out.len;
	flushed = stream_flush(&upstream->stream, &upstream->out);
	note_head(exchange, before - upstream->out.len);
	if (flushed == STREAM_BROKEN) {
		/* Perhaps it has answered already, and closed before it took
		 * everything: what it said may still lie in our socket. */
		exchange->request_broken = true;
		upstream->stream.broken = false;
		upstream->stream.readable = true;
		record_unsent(exchange);
		buf_free(&upstream->out);
		return FLOW_MOVED;
	}
	return upstream->out.len < before ? FLOW_MOVED : flow;
}

/* --- both ------------------------------------------------------------- */

static bool
complete(const struct conn *conn)
{
	return conn->exchange->response.done && !conn->exchange->holding &&
	    conn->out.len == 0;
}

static enum step
finish(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	/* Only here: after any other end bytes of this response may still come,
	 * and would answer somebody else's request. */
	exchange->reusable = exchange->keeps && exchange->request.done &&
	    exchange->upstream->out.len == 0 && exchange->body.len == 0;
	upstream_limit_off(exchange->upstream);
	conn_finish(conn);
	return STEP_ON;
}

/* A head that has begun has a limit of its own, which no drop of it moves. */
static void
limit_upstream(struct exchange *exchange, bool moved)
{
	struct upstream *upstream = exchange->upstream;
	bool in_head = !exchange->answered && exchange->looked > 0;

	if (in_head && (!exchange->head_limited || !timer_armed(&upstream->timer)))
		worker_limit(upstream->worker, &upstream->timer, TIME_ANSWER);
	else if (!in_head && (moved || !timer_armed(&upstream->timer)))
		upstream_touch(upstream);
	exchange->head_limited = in_head;
}

/* Who is it that everything waits for?  Only that one's time runs. */
static void
set_limits(struct conn *conn, bool moved)
{
	struct exchange *exchange = conn->exchange;
	struct upstream *upstream = exchange->upstream;
	bool client = conn->out.len >= PUMP_MARK || exchange->response.done ||
	    (!exchange->request.done && !exchange->request_broken &&
	    upstream->out.len == 0 && !exchange->answered);

	if (client) {
		upstream_limit_off(upstream);
		if (moved || !timer_armed(&conn->timer))
			worker_limit(conn->worker, &conn->timer, TIME_CLIENT);
	} else {
		timer_stop(&conn->timer);
		limit_upstream(exchange, moved);
	}
}

static enum flow
on_timeout(struct conn *conn)
{
	return relay_fail(conn, "upstream_timeout", 504, "upstream/timeout",
	    "the upstream did not answer in time");
}

enum step
relay_run(struct conn *conn)
{
	enum flow out = FLOW_MOVED, in = FLOW_MOVED;
	bool moved = false;

	for (unsigned turn = 0; turn < 16; turn++) {
		if (conn->exchange->upstream->timed_out) {
			on_timeout(conn);
			return STEP_ON;
		}
		out = push_request(conn);
		if (out == FLOW_OVER)
			return STEP_ON;
		in = answer_pull(conn);
		if (in == FLOW_OVER)
			return STEP_ON;
		if (complete(conn))
			return finish(conn);
		if (out == FLOW_WAIT && in == FLOW_WAIT)
			break;
		moved = true;
	}
	/* A client that hangs up wants no answer, and a stream might have no
	 * other end.  One that only ended its half waits for it. */
	if (conn->stream.hung_up && conn->exchange->request.done &&
	    conn->in.len == 0 && !tcp_peer_held(conn->stream.source.fd)) {
		relay_client_left(conn);
		return STEP_ON;
	}
	set_limits(conn, moved);
	return out == FLOW_WAIT && in == FLOW_WAIT ? STEP_WAIT : STEP_AGAIN;
}
