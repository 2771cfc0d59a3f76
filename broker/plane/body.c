/* A body that is there as a whole before the head is written: the signature of a
 * request covers its hash (inject/aws_request.h).  Never more than AWS_BODY_MAX of one
 * request, RUN_BODIES_MAX of one run with all below it, BODIES_MAX of all. */
#include "inject/aws_request.h"
#include "plane/relay.h"

#define BODIES_MAX (64u * 1024 * 1024)
#define RUN_BODIES_MAX (BODIES_MAX / 2)

bool
body_wanted(const struct exchange *exchange)
{
	const struct binding *binding = exchange->verdict.binding;

	return binding != NULL && binding->placement.kind == PLACE_SIGV4 &&
	    aws_request_needs_body(&exchange->head);
}

/* For all of it, before any of it is read. */
static bool
take_room(struct exchange *exchange)
{
	const uint64_t room = exchange->head.body_len;
	const uint64_t of_all = atomic_fetch_add(&exchange->worker->plane->bodies, room);
	const uint64_t of_run = run_hold(exchange->run, (int64_t)room);

	exchange->body_room = room;
	return of_all + room <= BODIES_MAX && of_run <= RUN_BODIES_MAX &&
	    buf_reserve(&exchange->body, room, AWS_BODY_MAX) != NULL;
}

void
body_free(struct exchange *exchange)
{
	if (exchange->body_room == 0)
		return;
	atomic_fetch_sub(&exchange->worker->plane->bodies, exchange->body_room);
	run_hold(exchange->run, -(int64_t)exchange->body_room);
	exchange->body_room = 0;
	buf_free(&exchange->body);
}

void
body_begin(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	if (!take_room(exchange)) {
		body_free(exchange);
		exchange->error = "out_of_memory";
		conn->close = true;
		respond_failed(conn, 503, "sign/memory",
		    "too many bodies are being hashed for their signatures",
		    "try again, or send X-Amz-Content-Sha256");
		return;
	}
	if (exchange->head.expect_continue && exchange->head.minor > 0 &&
	    conn->in.len == 0 && buf_add(&conn->out,
	    SLICE("HTTP/1.1 100 Continue\r\n\r\n"), PUMP_OUT_MAX) != 0) {
		respond_no_memory(conn);
		return;
	}
	pump_init(&exchange->request, FRAME_LENGTH, exchange->body_room, FRAME_LENGTH, NULL, NULL);
	worker_limit(conn->worker, &conn->timer, TIME_CLIENT);
	conn->state = CONN_BODY;
}

static void
whole(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	sigv4_hash(buf_slice(&exchange->body), exchange->body_hash);
	timer_stop(&conn->timer);
	if (exchange->upstream == NULL)
		request_dial(conn, false);
	conn->state = CONN_UPSTREAM;
}

enum step
body_read(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct buf piece = { 0 };
	bool moved = false;
	enum pump_result result;

	if (conn->out.len > 0 &&
	    stream_flush(&conn->stream, &conn->out) == STREAM_BROKEN) {
		relay_client_left(conn);
		return STEP_WAIT;
	}
	result = relay_fill(&exchange->request, &conn->stream, &conn->in, &piece,
	    conn->worker->scratch, &moved);
	if (buf_add(&exchange->body, buf_slice(&piece), AWS_BODY_MAX) != 0)
		result = PUMP_MEMORY;
	buf_free(&piece);
	if (!relay_within_budget(conn))
		return STEP_ON;
	if (result == PUMP_CUT) {
		relay_client_left(conn);
		return STEP_WAIT;
	}
	if (result == PUMP_MEMORY) {
		respond_no_memory(conn);
		return STEP_ON;
	}
	if (result == PUMP_DONE) {
		whole(conn);
		return STEP_ON;
	}
	if (!moved)
		return STEP_WAIT;
	worker_limit(conn->worker, &conn->timer, TIME_CLIENT);
	return STEP_AGAIN;
}

enum flow
body_give(struct exchange *exchange)
{
	struct buf *out = &exchange->upstream->out;
	struct slice piece = buf_slice(&exchange->body);

	if (piece.n == 0 || out->len >= PUMP_MARK)
		return FLOW_WAIT;
	if (piece.n > PUMP_MARK)
		piece.n = PUMP_MARK;
	if (buf_add(out, piece, PUMP_OUT_MAX) != 0)
		return relay_no_memory(exchange->conn);
	buf_take(&exchange->body, piece.n);
	if (exchange->body.len == 0)
		body_free(exchange);
	return FLOW_MOVED;
}
