/* The upstream's answer on its way to the client. */
#include "plane/relay.h"

#include <stdio.h>

#define INTERIMS_MAX 16		/* 1xx responses before the final one */

/* --- response: upstream to client ------------------------------------- */

static enum flow
upstream_lost(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct upstream *upstream = exchange->upstream;

	/* A pooled connection that the server closed while we wrote: once more,
	 * where nothing was answered and nothing of a body is gone. */
	if (upstream->reused && !exchange->retried && exchange->idempotent &&
	    exchange->head.framing == HEAD_NO_BODY && exchange->interims == 0 &&
	    upstream->in.len == 0) {
		upstream_drop(upstream);
		exchange->upstream = NULL;
		pump_free(&exchange->request);
		exchange->sent = exchange->request_broken = false;
		exchange->retried = true;
		request_dial(conn, true);
		conn->state = CONN_UPSTREAM;
		return FLOW_OVER;
	}
	return relay_fail(conn, "upstream_closed", 502, "upstream/closed",
	    "the upstream closed the connection before it answered");
}

/* rule: what it breaks, static text, nothing of the answer. */
static enum flow
answer_malformed(struct conn *conn, const char *rule)
{
	char reason[160];

	snprintf(reason, sizeof(reason),
	    "the upstream's answer is not well-formed HTTP: %s", rule);
	return relay_fail(conn, "upstream_malformed", 502, "upstream/malformed",
	    reason);
}

static enum flow
switch_protocol(struct conn *conn, const struct head *head)
{
	struct exchange *exchange = conn->exchange;
	const struct head_field *accept = head_find(head,
	    SLICE("Sec-WebSocket-Accept"));
	const struct head_field *to = head_find(head, SLICE("Upgrade"));

	if (!exchange->websocket || accept == NULL || to == NULL ||
	    !slice_case_eq(to->value, SLICE("websocket")) ||
	    !slice_eq(accept->value, slice_of(exchange->accept)))
		return answer_malformed(conn, "a 101 that nobody asked for");
	exchange->status = 101;
	exchange->answered = true;
	if (reply_upgrade(exchange, head) != REPLY_OK)
		return relay_broken_off(conn, "out_of_memory");
	tunnel_begin(conn);
	return FLOW_OVER;
}

static enum flow
final_answer(struct conn *conn, const struct head *head)
{
	struct exchange *exchange = conn->exchange;

	exchange->status = head->status;
	exchange->keeps = head->keep_alive && head->framing != HEAD_UNTIL_CLOSE;
	exchange->unshown = true;
	exchange->ahead = conn->out.len;
	if (!exchange->request.done)
		conn->close = true;	/* what the client still sends has no place to go */
	switch (reply_begin(exchange, head)) {
	case REPLY_CODING:
		return relay_refuse(conn, 502, "upstream/undecodable-coding",
		    "the answer's content coding cannot be searched for the secret",
		    "the upstream was asked for no coding, and gave one that is "
		    "neither gzip nor deflate: have it send one of these");
	case REPLY_MEMORY:
		return relay_broken_off(conn, "out_of_memory");
	case REPLY_OK:
		break;
	}
	exchange->answered = true;
	return FLOW_MOVED;
}

static enum flow
understood(struct conn *conn, const struct head *head)
{
	struct exchange *exchange = conn->exchange;

	if (head->status == 101)
		return switch_protocol(conn, head);
	if (head->status >= 200)
		return final_answer(conn, head);
	if (head->status == 100)
		return FLOW_MOVED;	/* the client has had ours */
	if (++exchange->interims > INTERIMS_MAX)
		return answer_malformed(conn, "too many interim answers");
	return reply_interim(exchange, head) == REPLY_OK ? FLOW_MOVED :
	    relay_no_memory(conn);
}

/* Is there more in these bytes than the parser has seen, and worth its time? */
static bool
is_news(const struct exchange *exchange, struct slice bytes)
{
	return bytes.n > exchange->looked && (exchange->looked == 0 ||
	    head_worth_parsing(bytes.p, exchange->looked, bytes.n));
}

/* Look at the bytes for a head; *rest is what follows it. */
static enum flow
parse_answer(struct conn *conn, struct slice bytes, struct slice *rest)
{
	struct exchange *exchange = conn->exchange;
	struct head *head = &conn->worker->response;
	struct head_error error = { 0, NULL };
	enum head_result result;
	size_t used = 0;

	*rest = bytes;
	if (!is_news(exchange, bytes))
		return FLOW_WAIT;
	exchange->looked = bytes.n;
	result = head_parse_response(bytes.p, bytes.n, slice_of(exchange->method),
	    head, &used, &error);
	if (result == HEAD_MORE && bytes.n < HEAD_BYTES_MAX)
		return FLOW_WAIT;
	if (result != HEAD_DONE)
		return answer_malformed(conn, result == HEAD_BAD ? error.rule :
		    "the head is too long");
	exchange->looked = 0;
	*rest = (struct slice){ bytes.p + used, bytes.n - used };
	return understood(conn, head);
}

static enum flow
read_answer(struct conn *conn)
{
	struct upstream *upstream = conn->exchange->upstream;
	char *scratch = conn->worker->scratch;
	struct slice bytes = buf_slice(&upstream->in), rest;
	enum flow flow = FLOW_WAIT;
	size_t kept;
	ssize_t n;

	if (!is_news(conn->exchange, bytes)) {
		if (!upstream->stream.readable)
			return FLOW_WAIT;
		n = stream_read(&upstream->stream, scratch, SCRATCH_LEN);
		if (n == STREAM_BLOCKED)
			return FLOW_WAIT;
		if (n <= 0)
			return upstream_lost(conn);
		bytes = (struct slice){ scratch, (size_t)n };
		if (upstream->in.len > 0) {
			if (buf_add(&upstream->in, bytes, 2 * SCRATCH_LEN) != 0)
				return answer_malformed(conn, "the head is too long");
			bytes = buf_slice(&upstream->in);
		}
	}
	kept = upstream->in.len;
	flow = parse_answer(conn, bytes, &rest);
	if (conn->state == CONN_DEAD || conn->exchange == NULL ||
	    conn->exchange->upstream != upstream)
		return flow;
	if (kept > 0)
		buf_take(&upstream->in, kept - rest.n);
	else if (buf_add(&upstream->in, rest, 2 * SCRATCH_LEN) != 0)
		return relay_no_memory(conn);
	return flow == FLOW_WAIT ? FLOW_MOVED : flow;
}

static enum flow
body_ended(struct conn *conn, enum pump_result result)
{
	struct exchange *exchange = conn->exchange;

	switch (result) {
	case PUMP_BAD:
		return relay_fail(conn, "upstream_malformed", 502,
		    "upstream/malformed", "the answer's body is not well-formed: "
		    "its chunks, or its content coding");
	case PUMP_CUT:
		/* one of no told length may be of use without its end */
		if (exchange->response.from == FRAME_CLOSE)
			return relay_broken_off(conn, "upstream_truncated");
		return relay_fail(conn, "upstream_truncated", 502,
		    "upstream/truncated", "the upstream closed the connection in "
		    "the middle of its answer");
	case PUMP_MEMORY:
		return relay_no_memory(conn);
	case PUMP_HIT:	/* in a gzip file or in pieces, where it cannot be replaced */
		exchange->redactions++;
		return relay_fail(conn, "secret_in_stream", 502,
		    "upstream/secret-in-stream", "the answer has the secret where "
		    "it cannot be replaced");
	default:
		break;
	}
	if (!exchange->holding || (result != PUMP_DONE && result != PUMP_FULL))
		return FLOW_WAIT;
	return reply_release(exchange) == REPLY_OK ? FLOW_MOVED :
	    relay_broken_off(conn, "out_of_memory");
}

static enum flow
pull_body(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct upstream *upstream = exchange->upstream;
	bool moved = false;
	enum pump_result result;
	enum flow flow;

	if (exchange->response.done || conn->out.len >= PUMP_MARK)
		return FLOW_WAIT;
	result = relay_fill(&exchange->response, &upstream->stream, &upstream->in,
	    reply_sink(exchange), conn->worker->scratch, &moved);
	flow = body_ended(conn, result);
	return flow == FLOW_WAIT && moved ? FLOW_MOVED : flow;
}

static void
note_shown(struct exchange *exchange, size_t flushed)
{
	if (flushed > exchange->ahead)
		exchange->unshown = false;
	else
		exchange->ahead -= flushed;
}

enum flow
answer_pull(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	enum flow flow;
	size_t before;

	flow = exchange->answered ? pull_body(conn) : read_answer(conn);
	if (flow == FLOW_MOVED && exchange->answered && !exchange->response.done &&
	    exchange->upstream->in.len > 0)
		return flow;	/* what was read together is sent together */
	if (flow == FLOW_OVER || conn->out.len == 0 || exchange->holding)
		return flow;
	before = conn->out.len;
	if (stream_flush(&conn->stream, &conn->out) == STREAM_BROKEN) {
		relay_client_left(conn);
		return FLOW_OVER;
	}
	note_shown(exchange, before - conn->out.len);
	return conn->out.len < before ? FLOW_MOVED : flow;
}
