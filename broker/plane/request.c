/* From a head to a decision: which door, who, where to. */
#include "inject/inject.h"
#include "plane/conn.h"

#include "gate/tcp_peer.h"

#include <assert.h>
#include <stdio.h>

#include <openssl/evp.h>
#include <openssl/sha.h>

static const char *const route_names[] = {
	[ROUTE_NONE] = "none", [ROUTE_REVERSE] = "reverse",
	[ROUTE_ABSOLUTE] = "absolute", [ROUTE_CONNECT] = "connect",
};

/* Who holds the other end is looked up once a connection. */
static struct peer
peer_of(struct conn *conn)
{
	if (conn == NULL)
		return (struct peer){ -1, -1, 0 };
	if (!conn->peer_known) {
		conn->peer = tcp_peer(conn->stream.source.fd);
		conn->peer_known = true;
	}
	return conn->peer;
}

void
request_described(const struct exchange *exchange, struct gate_request *out)
{
	*out = (struct gate_request){
		.kind = exchange->route == ROUTE_CONNECT &&
		    exchange->head.target_form == HEAD_AUTHORITY ?
		    GATE_CONNECT : GATE_HTTP,
		.run = exchange->run,
		.route = route_names[exchange->route],
		.peer = peer_of(exchange->conn),
		.method = exchange->head.method,
		.target = exchange->has_target ? &exchange->target : NULL,
		.head = &exchange->head,
		.only = exchange->only,
		.rules = exchange->rules,
		.credential = exchange->credential,
		.copies = exchange->copies,
		.websocket = exchange->websocket,
		.body_len = exchange->head.framing == HEAD_CHUNKED ||
		    exchange->websocket ? -1 :
		    exchange->head.framing == HEAD_LENGTH ?
		    (int64_t)exchange->head.body_len : 0,
	};
	if (out->kind == GATE_CONNECT) {
		out->head = NULL;
		out->body_len = -1;
	}
}

/* --- what may not go on ----------------------------------------------- */

static void
drop_field(struct head *head, struct slice name)
{
	size_t kept = 0;

	for (size_t i = 0; i < head->n_fields; i++) {
		if (!slice_case_eq(head->fields[i].name, name))
			head->fields[kept++] = head->fields[i];
	}
	head->n_fields = kept;
}

/* RFC 6455 section 4.2.2: what a server must answer to the client's key. */
static void
websocket_accept(struct exchange *exchange, struct slice key)
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	uint8_t digest[SHA_DIGEST_LENGTH];
	char text[128];
	int n;

	n = snprintf(text, sizeof(text), "%.*s%s", (int)key.n, key.p, guid);
	SHA1((const unsigned char *)text, (size_t)n, digest);
	EVP_EncodeBlock((unsigned char *)exchange->accept, digest, sizeof(digest));
}

/* Only WebSocket is relayed.  Another protocol is not switched to (RFC 9110
 * section 7.8 leaves that to the server): the request goes on without. */
static void
note_upgrade(struct exchange *exchange)
{
	struct head *head = &exchange->head;
	const struct head_field *to = head_find(head, SLICE("Upgrade"));
	const struct head_field *key = head_find(head, SLICE("Sec-WebSocket-Key"));

	if (!head->upgrade || to == NULL || key == NULL || key->value.n > 64 ||
	    !slice_case_eq(to->value, SLICE("websocket")) ||
	    !slice_eq(head->method, SLICE("GET")) || head->framing != HEAD_NO_BODY)
		return;
	websocket_accept(exchange, key->value);
	exchange->websocket = true;
}

/* Where a secret may come back, it has to come whole: half of it in one answer
 * and half in the next would be found in neither. */
static void
keep_readable(struct exchange *exchange)
{
	const struct binding *binding = exchange->verdict.binding;

	/* A session's token is of no use without the key, which stays here; and
	 * clients of S3 fetch what is large in ranges. */
	if (exchange->verdict.needles == NULL || (binding != NULL &&
	    binding->placement.kind == PLACE_SIGV4))
		return;
	drop_field(&exchange->head, SLICE("Range"));
	drop_field(&exchange->head, SLICE("If-Range"));
}

/* --- the way ---------------------------------------------------------- */

static bool
is_idempotent(struct slice method)
{
	static const struct slice names[] = { { "GET", 3 }, { "HEAD", 4 },
	    { "PUT", 3 }, { "DELETE", 6 }, { "OPTIONS", 7 }, { "TRACE", 5 } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (slice_eq(method, names[i]))
			return true;
	}
	return false;
}

/* May a credential be put into such a request at all? */
static bool
injectable(struct conn *conn)
{
	const struct exchange *exchange = conn->exchange;
	const char *why = inject_refusal(&exchange->head);

	if (why == NULL)
		why = inject_query_refusal(&exchange->head, &exchange->target);
	if (why == NULL || !route_bound(conn->exchange))
		return true;
	respond_refuse(conn, 403, "inject/unsafe-request", why,
	    "send a plain request, or one to a host without a binding");
	return false;
}

/* The verdict is there: record it, then act on it. */
static void
go_on(struct conn *conn, enum gate_kind kind)
{
	struct exchange *exchange = conn->exchange;
	struct worker *worker = conn->worker;

	if (exchange->verdict.held) {
		held_begin(conn);
		return;
	}
	if (!exchange->verdict.allow) {
		respond_verdict(conn, &exchange->verdict);
		return;
	}
	worker_count(worker, COUNT_ALLOWED, 1);
	conn->state = CONN_RECORD;
	record_submit(exchange, &exchange->verdict);
	if (!timer_armed(&worker->wall) && gate_wall_left_ms(
	    exchange->verdict.rules, exchange->run) != INT64_MAX)
		worker_limit(worker, &worker->wall, TIME_WALL);
	if (kind == GATE_CONNECT || exchange->failed || body_wanted(exchange))
		return;
	keep_readable(exchange);
	request_dial(conn, false);	/* meanwhile; the head waits for the record */
}

/* Nobody waits for the answer any more; what was decided is recorded all the
 * same, since a grant may be spent. */
static void
go_nowhere(struct exchange *exchange)
{
	if (exchange->error == NULL)
		exchange->error = "client_gone";
	if (exchange->verdict.held)
		held_for_nobody(exchange);
	else
		record_submit(exchange, &exchange->verdict);
	if (!exchange->waiting)
		exchange_end(exchange);
}

static void
on_decided(struct worker *worker, struct message *message)
{
	struct question *question = (struct question *)message;
	struct exchange *exchange = question->exchange;
	struct conn *conn = exchange->conn;

	exchange->asked = false;
	exchange->decided = true;
	worker->n_asked--;
	if (conn == NULL) {
		go_nowhere(exchange);
		return;
	}
	go_on(conn, question->request.kind);
	/* The gate may have decided before what a revocation changed. */
	if (exchange->overtaken && exchange->verdict.allow) {
		exchange->error = "revoked";
		conn_reset(conn);
	} else {
		conn_run(conn);
	}
}

static void
ask(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct question *question = &exchange->question;

	question->message.run = on_decided;
	question->worker = conn->worker;
	question->exchange = exchange;
	question->verdict = &exchange->verdict;
	request_described(exchange, &question->request);
	exchange->asked = true;
	conn->worker->n_asked++;
	conn->state = CONN_DECIDE;
	decider_ask(conn->worker->plane->decider, question);
}

enum step
request_asked(struct conn *conn)
{
	return STEP_WAIT;
}

void
request_decide(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct worker *worker = conn->worker;
	struct gate_request request;

	if (!injectable(conn))
		return;
	if (gate_may_block_ms(worker->plane->gate) > 0) {
		ask(conn);
		return;
	}
	request_described(exchange, &request);
	request.now = true;
	if (!gate_decide(worker->plane->gate, worker->gate_thread, &request,
	    &exchange->verdict)) {
		ask(conn);
		return;
	}
	exchange->decided = true;
	go_on(conn, request.kind);
}

static void
begin_proxy(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	bool connect = exchange->head.target_form == HEAD_AUTHORITY;

	exchange->route = connect ? ROUTE_CONNECT : ROUTE_ABSOLUTE;
	route_identify(exchange);	/* a refused spelling is that run's too */
	if (!(connect ? route_connect(conn) : route_absolute(conn)) ||
	    !route_authenticate(conn) || own_api_refused(conn) ||
	    !crowd_admits(conn))
		return;
	if (connect && own_connect(exchange))
		front_self(conn);
	else if (connect && route_front(exchange))
		front_begin(conn);
	else
		request_decide(conn);
}

static void
begin_inner(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	exchange->route = ROUTE_CONNECT;
	exchange->run = run_ref(conn->front->run);
	if (exchange->head.target_form == HEAD_AUTHORITY)
		respond_refuse(conn, 400, "http/nested-connect",
		    "CONNECT within a tunnel", "use one tunnel");
	else if (route_inner(conn) && crowd_admits(conn))
		request_decide(conn);
}

static void
begin_reverse(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	exchange->route = ROUTE_REVERSE;
	if (!route_reverse(conn))
		return;
	exchange->run = route_run_of_reverse(exchange);
	if (crowd_admits(conn))
		request_decide(conn);
}

void
request_begin(struct conn *conn, struct exchange *exchange, size_t head_len)
{
	struct head *head = &exchange->head;
	struct slice rest = { conn->in.p + conn->in.off + head_len,
	    conn->in.len - head_len };

	/* The head's bytes stay where they are, since slices point to them;
	 * what follows moves to a buffer of its own. */
	exchange->head_bytes = conn->in;
	conn->in = (struct buf){ 0 };
	conn->close = !head->keep_alive;
	exchange->rules = gate_rules(conn->worker->plane->gate);
	if (buf_add(&conn->in, rest, 2 * HEAD_BYTES_MAX) != 0) {
		conn->close = true;
		respond_no_memory(conn);
		return;
	}
	assert(head->method.n <= HEAD_METHOD_MAX);
	memcpy(exchange->method, head->method.p, head->method.n);
	exchange->idempotent = is_idempotent(head->method);
	note_upgrade(exchange);
	if (conn->front != NULL)
		begin_inner(conn);
	else if (head->target_form == HEAD_AUTHORITY ||
	    (head->target_form == HEAD_ABSOLUTE && !own_absolute(exchange)))
		begin_proxy(conn);
	else
		begin_reverse(conn);
}

void
request_malformed(struct conn *conn, struct exchange *exchange,
    const struct head_error *error)
{
	memset(&exchange->head, 0, sizeof(exchange->head));
	conn->close = true;
	if (conn->front != NULL)
		exchange->run = run_ref(conn->front->run);
	respond_refuse(conn, error->status, "http/malformed", error->rule,
	    "send HTTP/1.1 as RFC 9112 has it");
}

static void
upstream_changed(void *owner)
{
	conn_run(owner);
}

void
request_dial(struct conn *conn, bool fresh)
{
	struct exchange *exchange = conn->exchange;
	struct upstream_want want = { .https = exchange->target.https &&
	    exchange->head.target_form != HEAD_AUTHORITY,
	    .host = exchange->target.host, .port = exchange->target.port,
	    .rules = exchange->verdict.rules, .fresh = fresh,
	    .careful = !exchange->idempotent ||
	    exchange->head.framing != HEAD_NO_BODY,
	    .whose = run_top(exchange->run),
	    .changed = upstream_changed, .owner = conn };

	exchange->upstream = upstream_get(conn->worker, &want);
	if (exchange->upstream == NULL)
		exchange->error = "out_of_memory";
}

enum step
request_recorded(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	if (exchange->waiting)
		return STEP_WAIT;
	if (exchange->failed) {
		conn->close = true;
		respond_failed(conn, 503, "ledger/unavailable",
		    "the decision could not be written to the ledger",
		    "nothing was sent; see `countersign status`");
		return STEP_ON;
	}
	if (body_wanted(exchange)) {
		body_begin(conn);
		return STEP_ON;
	}
	if (exchange->upstream == NULL && exchange->error == NULL)
		request_dial(conn, false);
	conn->state = CONN_UPSTREAM;
	return STEP_ON;
}
