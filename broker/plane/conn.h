/*
 * A client's connection: its states, and the exchange (one request and its
 * answer) or tunnel that runs on it.  DESIGN.md has the picture.
 */
#ifndef BROKER_CONN_H
#define BROKER_CONN_H

#include "plane/decider.h"
#include "plane/pump.h"
#include "plane/worker.h"
#include "plane/upstream.h"

#define ANSWER_MAX 16384	/* bytes of an answer of our own */
#define DRAIN_MAX 65536		/* bytes of a refused body that are read to keep a connection */
#define LINGER_MAX (256u * 1024 * 1024)	/* bytes read while a client takes our last words */
#define HOLD_MAX 65536		/* bytes of a body that is redacted as a whole */

enum conn_state {
	CONN_TLS,	/* handshake of an intercepted connection */
	CONN_HEAD,	/* between requests, or within a head */
	CONN_DECIDE,	/* a policy server is being asked */
	CONN_HELD,	/* a person is being asked */
	CONN_RECORD,	/* allowed; the record is not durable yet */
	CONN_BODY,	/* recorded; its signature covers the body, which is being read */
	CONN_UPSTREAM,	/* recorded; the upstream is not ready yet */
	CONN_RELAY,	/* request and response on their way */
	CONN_TUNNEL,	/* bytes both ways until both ends are done */
	CONN_REFUSED,	/* refused; the record is not durable yet */
	CONN_ANSWER,	/* an answer of our own is being sent */
	CONN_DRAIN,	/* the rest of a refused body is read and thrown away */
	CONN_LINGER,	/* closing: the client reads what we said */
	CONN_DEAD
};

enum step { STEP_ON, STEP_WAIT, STEP_AGAIN };

/* What a CONNECT to a bound host has settled for every request within. */
struct front {
	struct run *run;	/* referenced */
	bool https;
	uint16_t port;
	char host[TARGET_HOST_MAX];
	bool wrong_name;	/* SNI named another host */
};

struct conn {
	struct stream stream;	/* first: ready() casts */
	struct worker *worker;
	enum conn_state state;
	bool close;		/* after the answer */
	bool queued;		/* in worker->again */
	bool served;		/* a request was answered */
	bool quiet;		/* for a while: it holds no buffers */
	bool peer_known;	/* peer is filled */
	struct peer peer;
	unsigned lingered;	/* bytes */
	bool line_passed;	/* an empty line before the next request */
	size_t parsed;		/* bytes of in when the head was last looked at */
	struct timer timer;
	struct buf in, out;
	struct front *front;	/* NULL: the proxy's own port */
	struct exchange *exchange;	/* NULL between requests */
	struct conn *prev, *next;	/* worker->conns */
	struct conn *again;	/* worker->again, worker->dead */
};

enum route { ROUTE_NONE, ROUTE_REVERSE, ROUTE_ABSOLUTE, ROUTE_CONNECT };

struct exchange {
	struct worker *worker;
	struct conn *conn;	/* NULL: the client is gone, a receipt is still to come */
	struct exchange *next, *prev;	/* worker->waiting, worker->spare */
	int64_t began_us;

	/* The request. */
	struct buf head_bytes;	/* what head points into */
	char *target_text;	/* what target points into */
	enum route route;
	bool has_target;
	struct run *run;	/* referenced; NULL: nobody */
	struct rules *rules;	/* referenced; those that chose the route */
	const struct binding *only;
	struct credential *credential;	/* referenced: what only's slot holds; NULL: nothing of ours, or not looked at */
	unsigned copies;	/* of that slot */
	char method[HEAD_METHOD_MAX + 1];
	bool idempotent, websocket;
	char accept[32];	/* websocket: the answer to its key */

	/* The decision. */
	bool asked;		/* the decider has it: nothing of it may be freed */
	bool overtaken;		/* meanwhile something was revoked */
	bool held;		/* counted as waiting for a person's answer, */
	int64_t held_until_ms;	/* and no longer than this (worker_now_ms); 0: never yet */
	bool decided;		/* verdict holds references */
	bool waiting;		/* for a receipt */
	bool recorded;		/* it came: durable */
	bool failed;		/* it came, or never will: not durable */
	uint64_t ticket;
	uint8_t leaf[LEDGER_LEAF_LEN];

	/* What is done. */
	struct upstream *upstream;
	bool retried;
	bool sent;		/* the head was put into the upstream's buffer */
	size_t head_left;	/* and so much of it lies there still */
	bool head_sent;		/* all of it left, to this upstream or one before */
	bool answered;		/* the final response's head was understood */
	bool unshown;		/* and nothing of the response has left conn->out yet */
	size_t ahead;		/* bytes there of 1xx responses before it */
	bool holding;		/* the head in conn->out waits for the body's length */
	bool keeps;		/* the upstream said that it goes on after this response */
	bool reusable;		/* and every byte of it was taken: back to the pool */
	bool unreached;		/* there was no connection to the upstream */
	bool withdrawn;		/* allowed, and refused after all */
	bool refused;		/* the plane answers in the upstream's place */
	bool client_done, upstream_done;	/* tunnel: this side has ended */
	bool request_broken;	/* the upstream takes no more of the body */
	bool hit;		/* the secret came back where it cannot be replaced */
	unsigned interims;	/* 1xx responses relayed */
	size_t looked;		/* bytes of a response's head when it was last parsed */
	bool head_limited;	/* its time runs */
	struct buf body;	/* taken whole, not passed on yet (body.c) */
	uint64_t body_room;	/* counted in plane->bodies */
	char body_hash[65];	/* of it, in hex; empty: there was no need */
	struct pump request, response;
	struct redact *redact;	/* until the response pump has it */
	uint32_t redact_base;	/* its count when the body began */
	struct buf hold;
	unsigned status;
	uint32_t redactions;
	uint64_t passed;	/* request bytes already booked */
	uint64_t unsent;	/* bytes that were taken and then thrown away */
	const char *error;	/* for the outcome; NULL: none */

	/* Not cleared between requests. */
	struct target target;
	struct head head;
	struct gate_verdict verdict;
	struct question question;
};

/* --- conn.c ------------------------------------------------------------ */

/* Takes the descriptor. */
void conn_accept(struct worker *worker, int fd, bool full);
void conn_run(struct conn *conn);
void conn_close(struct conn *conn);	/* at once, in order */
void conn_reset(struct conn *conn);	/* at once, so that the peer sees it as broken */
void conn_finish(struct conn *conn);	/* the answer is out: next request, or linger and close */
void conn_close_idle(struct worker *worker);
/* Nothing is done for it: no request is there, or it has had its answer. */
bool conn_is_idle(const struct conn *conn);
/* Close the idle one that has waited longest; false where none is. */
bool conn_make_room(struct worker *worker);
void conn_free_dead(struct worker *worker);

/* --- exchange.c -------------------------------------------------------- */

/* The next request's, now conn->exchange; NULL where memory lacks. */
struct exchange *exchange_new(struct conn *conn);
/* Writes the outcome record where the exchange was allowed, lets go of the
 * upstream, and frees it as soon as no receipt is due. */
void exchange_end(struct exchange *exchange);

/* --- cut.c ------------------------------------------------------------- */

/* Reset what uses what was revoked (all zero: everything).  What is only being answered
 * goes on; what waits for a person is decided again. */
void cut_matching(struct worker *worker, const struct gate_cut *what);
/* The same for what goes on although its run's time is over; false where there is
 * nothing left that could come to that. */
bool cut_overdue(struct worker *worker);

/* --- crowd.c ------------------------------------------------------------ */

#define CROWD_ROOM 64	/* idle connections above the limit of busy ones */

/* A request of the exchange's run begins: may its connection be one more that is
 * busy?  At client.max_connections one of the run that holds most gives way.  False
 * where that is this run: it is answered. */
bool crowd_admits(struct conn *conn);
/* A connection is closed before anything of it was read: counted in metrics and
 * ledger.  Why: COUNT_UNREAD_... */
void crowd_unread(struct worker *worker, enum count why);

/* --- route.c ------------------------------------------------------------ */

/* Each fills exchange->target; false where it refused instead. */
bool route_reverse(struct conn *conn);	/* and exchange->only */
bool route_absolute(struct conn *conn);
bool route_connect(struct conn *conn);
bool route_inner(struct conn *conn);	/* within an intercepted CONNECT */

/* Fills exchange->run from Proxy-Authorization, as far as it names one. */
void route_identify(struct exchange *exchange);
/* Refuses with 407 where it does not. */
bool route_authenticate(struct conn *conn);
/* By X-Countersign-Run or the token in the slot; NULL for nobody. */
struct run *route_run_of_reverse(struct exchange *exchange);

/* --- own.c ------------------------------------------------------------- */

/* Of an absolute form with our own address: makes an origin form of it. */
bool own_absolute(struct exchange *exchange);
/* Whether the target of a CONNECT is our own address. */
bool own_connect(const struct exchange *exchange);
/* True where the target is the API's, which then is refused. */
bool own_api_refused(struct conn *conn);

/* Is there a binding for the target's scheme, host and port? */
bool route_bound(struct exchange *exchange);
/* A binding for what a tunnel there would carry: TLS, else plain HTTP.  Sets
 * the target's scheme. */
bool route_front(struct exchange *exchange);

/* --- request.c --------------------------------------------------------- */

/* One whole head lies in conn->in: understand, decide, submit the record. */
void request_begin(struct conn *conn, struct exchange *exchange, size_t head_len);
void request_malformed(struct conn *conn, struct exchange *exchange,
    const struct head_error *error);
void request_described(const struct exchange *exchange, struct gate_request *out);
enum step request_asked(struct conn *conn);		/* CONN_DECIDE, CONN_HELD */
enum step request_recorded(struct conn *conn);		/* CONN_RECORD */
void request_decide(struct conn *conn);
void request_dial(struct conn *conn, bool fresh);

/* --- held.c ------------------------------------------------------------ */

#define HELD_CLIENT_LEFT "the client left before a person answered"

/* The verdict says so. */
void held_begin(struct conn *conn);
/* Now and then: is somebody still there, and time left? */
void held_look(struct conn *conn);
/* It ends without an answer, which is recorded. */
void held_refuse(struct conn *conn, const char *why);
void held_for_nobody(struct exchange *exchange);
/* Decide once more: there is an answer, or a reason to refuse. */
void held_again(struct conn *conn);
/* The same for all that wait for that question. */
void held_answered(struct worker *worker, const char *id);	/* NULL: all of them */
/* The broker ends. */
void held_stop(struct worker *worker);

/* --- respond.c --------------------------------------------------------- */

/* Refuse for a reason that the plane itself found: record, then answer. */
void respond_refuse(struct conn *conn, unsigned status, const char *rule,
    const char *reason, const char *remedy);
/* The verdict in worker->refusal or exchange->verdict is a refusal. */
void respond_verdict(struct conn *conn, const struct gate_verdict *verdict);
/* Without a record of its own: the outcome record tells. */
void respond_failed(struct conn *conn, unsigned status, const char *rule,
    const char *reason, const char *remedy);
void respond_no_memory(struct conn *conn);
enum step respond_recorded(struct conn *conn);		/* CONN_REFUSED */
enum step respond_send(struct conn *conn);		/* CONN_ANSWER */
enum step respond_drain(struct conn *conn);		/* CONN_DRAIN */

/* --- body.c ------------------------------------------------------------ */

/* Of an allowed request: must its body be there before its head can be written? */
bool body_wanted(const struct exchange *exchange);
/* In CONN_RECORD: go on to CONN_BODY, or answer. */
void body_begin(struct conn *conn);
enum step body_read(struct conn *conn);			/* CONN_BODY */
void body_free(struct exchange *exchange);

/* --- relay.c, reply.c, tunnel.c, tls_front.c, record.c ----------------- */

enum step relay_upstream(struct conn *conn);		/* CONN_UPSTREAM */
enum step relay_run(struct conn *conn);			/* CONN_RELAY */

/* Put the response's head into conn->out and set the pump up. */
enum reply { REPLY_OK, REPLY_MEMORY, REPLY_CODING };
enum reply reply_begin(struct exchange *exchange, const struct head *head);
enum reply reply_interim(struct exchange *exchange, const struct head *head);
enum reply reply_upgrade(struct exchange *exchange, const struct head *head);
/* The held body is whole, or too long to be held: head and body go out. */
enum reply reply_release(struct exchange *exchange);
/* Where the response's pump puts its bytes. */
struct buf *reply_sink(struct exchange *exchange);
uint32_t reply_redactions(const struct exchange *exchange);

enum step tunnel_connect(struct conn *conn);		/* the dialled end of a CONNECT stands */
enum step tunnel_run(struct conn *conn);		/* CONN_TUNNEL */
void tunnel_begin(struct conn *conn);			/* 101 is in conn->out */

void front_begin(struct conn *conn);			/* after request_begin found a bound CONNECT */
void front_self(struct conn *conn);			/* after it found one to our own port */
enum step front_handshake(struct conn *conn);		/* CONN_TLS */
/* It will not come to an end: record why. */
void front_refused(struct conn *conn, const char *rule, const char *reason);
/* Where the tunnel leads, as the exchange's target; nothing outside of one. */
void front_target(struct conn *conn);
void front_free(struct front *front);

void record_submit(struct exchange *exchange, const struct gate_verdict *verdict);
/* The same for a refusal; false where it was counted instead (flood.h). */
bool record_refusal(struct exchange *exchange, const struct gate_verdict *verdict);
/* Tell what was counted and is due, or all of it. */
void record_counted(struct worker *worker, bool all);
void record_waited(struct exchange *exchange);	/* it waits for no receipt any more */
void record_outcome(struct exchange *exchange);
/* The upstream's buffer is about to be given up: what is in it was not sent. */
void record_unsent(struct exchange *exchange);
void record_take(struct worker *worker);
/* At the end of a turn: the same, and the recorder learns of it; of what nobody
 * waits for (outcomes) a moment later, unless now. */
void record_hand_over(struct worker *worker, bool now);
void record_forget(struct worker *worker);	/* at the end */

#endif
