/* Bytes both ways: a CONNECT to a host without a binding, and WebSocket. */
#include "plane/relay.h"

#define TURNS 16

static void
over(struct conn *conn, const char *error)
{
	if (conn->exchange->error == NULL)
		conn->exchange->error = error;
	conn_reset(conn);
}

void
tunnel_begin(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	timer_stop(&conn->timer);
	pump_free(&exchange->request);
	pump_init(&exchange->request, FRAME_CLOSE, 0, FRAME_CLOSE, NULL, NULL);
	conn->close = true;
	conn->state = CONN_TUNNEL;
	worker_count(conn->worker, COUNT_TUNNELS, 1);
	upstream_touch(exchange->upstream);
}

enum step
tunnel_connect(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	if (buf_add(&conn->out,
	    SLICE("HTTP/1.1 200 Connection established\r\n\r\n"),
	    PUMP_OUT_MAX) != 0) {
		respond_failed(conn, 503, "broker/memory", "out of memory",
		    "try again");
		return STEP_ON;
	}
	exchange->sent = exchange->answered = true;
	exchange->status = 200;
	pump_init(&exchange->response, FRAME_CLOSE, 0, FRAME_CLOSE, NULL, NULL);
	tunnel_begin(conn);
	return STEP_ON;
}

/* One direction's bytes into out; nothing of them is sent yet. */
static bool
fill(struct conn *conn, struct pump *pump, struct stream *source,
    struct buf *in, struct buf *out, bool *moved)
{
	enum pump_result result;

	if (pump->done || out->len >= PUMP_MARK)
		return true;
	result = relay_fill(pump, source, in, out, conn->worker->scratch, moved);
	if (result == PUMP_MORE || result == PUMP_DONE || result == PUMP_FULL)
		return true;
	over(conn, result == PUMP_HIT ? "secret_in_stream" :
	    result == PUMP_CUT ? "reset" : "out_of_memory");
	return false;
}

/* *ended: the source's end has been passed on. */
static bool
push(struct conn *conn, const struct pump *pump, struct stream *sink,
    struct buf *out, bool *ended, bool *moved)
{
	size_t before = out->len;

	if (stream_flush(sink, out) == STREAM_BROKEN) {
		over(conn, "reset");
		return false;
	}
	*moved |= out->len < before;
	if (out->len == 0 && pump->done && !*ended) {
		stream_finish(sink);
		*ended = true;
	}
	return true;
}

static void
release_empty(struct buf *buf)
{
	if (buf->len == 0)
		buf_free(buf);
}

static enum step
rest(struct conn *conn)
{
	struct upstream *upstream = conn->exchange->upstream;

	release_empty(&conn->in);
	release_empty(&conn->out);
	release_empty(&upstream->in);
	release_empty(&upstream->out);
	return STEP_WAIT;
}

enum step
tunnel_run(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct upstream *upstream = exchange->upstream;
	bool moved = true, ever = false;

	if (upstream->timed_out) {
		over(conn, "idle_timeout");
		return STEP_ON;
	}
	for (unsigned turn = 0; turn < TURNS && moved; turn++) {
		moved = false;
		if (!fill(conn, &exchange->request, &conn->stream, &conn->in,
		    &upstream->out, &moved) || !relay_within_budget(conn) ||
		    !push(conn, &exchange->request, &upstream->stream,
		    &upstream->out, &exchange->client_done, &moved) ||
		    !fill(conn, &exchange->response, &upstream->stream,
		    &upstream->in, &conn->out, &moved) ||
		    !push(conn, &exchange->response, &conn->stream, &conn->out,
		    &exchange->upstream_done, &moved))
			return STEP_ON;
		ever |= moved;
	}
	if (exchange->client_done && exchange->upstream_done) {
		conn_close(conn);
		return STEP_ON;
	}
	if (ever)
		upstream_touch(upstream);
	return moved ? STEP_AGAIN : rest(conn);
}
