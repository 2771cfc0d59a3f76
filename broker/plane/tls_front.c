/* CONNECT to a bound host: we speak for it, with a certificate of the local CA
 * that the run's clients trust. */
#include "plane/conn.h"

#include <stdlib.h>
#include <unistd.h>

#include <openssl/ssl.h>

void
front_free(struct front *front)
{
	if (front == NULL)
		return;
	run_unref(front->run);
	free(front);
}

static int
prepare_tls(struct conn *conn, struct front *front)
{
	SSL_CTX *ctx = ca_server_ctx(conn->worker->plane->ca, front->host);
	SSL *ssl = ctx != NULL ? SSL_new(ctx) : NULL;

	SSL_CTX_free(ctx);
	if (ssl == NULL)
		return -1;
	SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS |
	    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_set_read_ahead(ssl, 1);
	SSL_set_accept_state(ssl);
	if (SSL_set_fd(ssl, conn->stream.source.fd) != 1) {
		SSL_free(ssl);
		return -1;
	}
	conn->stream.ssl = ssl;
	return 0;
}

static struct front *
front_new(struct exchange *exchange)
{
	struct front *front = calloc(1, sizeof(*front));

	if (front == NULL)
		return NULL;
	front->https = exchange->target.https;
	front->port = exchange->target.port;
	memcpy(front->host, exchange->target.host, sizeof(front->host));
	front->run = run_ref(exchange->run);
	return front;
}

/*
 * The 200 goes out in the clear, everything after it belongs to the inner
 * connection.  A client that sent more before the 200 broke the protocol, and
 * its bytes would have to be handed to TLS from the side: refused.
 */
static bool
refused_early(struct conn *conn)
{
	if (conn->in.len == 0)
		return false;
	conn->close = true;
	respond_refuse(conn, 400, "http/early-bytes",
	    "bytes came after CONNECT before it was answered",
	    "wait for the answer to CONNECT");
	return true;
}

static bool
establish(struct conn *conn)
{
	static const char established[] =
	    "HTTP/1.1 200 Connection established\r\n\r\n";
	const ssize_t n = sizeof(established) - 1;

	return stream_write(&conn->stream, established, (size_t)n) == n;
}

static void
go_on_inside(struct conn *conn, enum conn_state state)
{
	exchange_end(conn->exchange);
	conn->served = false;
	conn->state = state;
	worker_limit(conn->worker, &conn->timer, TIME_HEAD);
}

/* To our own port: what comes next comes as it would have without CONNECT. */
void
front_self(struct conn *conn)
{
	if (refused_early(conn))
		return;
	if (establish(conn))
		go_on_inside(conn, CONN_HEAD);
	else
		conn_close(conn);
}

void
front_begin(struct conn *conn)
{
	struct front *front = NULL;

	if (refused_early(conn))
		return;
	front = front_new(conn->exchange);
	if (front == NULL || !establish(conn) ||
	    (front->https && prepare_tls(conn, front) != 0)) {
		front_free(front);
		conn_close(conn);
		return;
	}
	conn->front = front;
	worker_count(conn->worker, COUNT_INTERCEPTED, 1);
	go_on_inside(conn, front->https ? CONN_TLS : CONN_HEAD);
}

void
front_target(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	const struct front *front = conn->front;

	if (front == NULL)
		return;
	exchange->target = (struct target){ .https = front->https,
	    .port = front->port };
	memcpy(exchange->target.host, front->host, sizeof(front->host));
	exchange->has_target = true;
}

/* Nobody is answered: there is no protocol yet to say it in. */
void
front_refused(struct conn *conn, const char *rule, const char *reason)
{
	struct worker *worker = conn->worker;
	struct exchange *exchange = exchange_new(conn);
	struct gate_request request;

	if (exchange == NULL)
		return;
	memset(&exchange->head, 0, sizeof(exchange->head));
	exchange->route = ROUTE_CONNECT;
	exchange->run = run_ref(conn->front->run);
	front_target(conn);
	request_described(exchange, &request);
	gate_refuse(worker->plane->gate, &request, 400, rule, reason,
	    "speak TLS in the tunnel, and trust the certificate of the local CA",
	    &worker->refusal);
	worker_count(worker, COUNT_REFUSED, 1);
	(void)record_refusal(exchange, &worker->refusal);
	gate_verdict_release(&worker->refusal);
}

/* The two that users meet, each with something else to do about it, are told apart. */
static void
handshake_failed(struct conn *conn)
{
	const char *rule = "tls/handshake", *why;

	switch (conn->stream.tls_reason) {
	case SSL_R_HTTP_REQUEST:
	case SSL_R_HTTPS_PROXY_REQUEST:
	case SSL_R_WRONG_VERSION_NUMBER:
		rule = "tls/not-tls";
		why = "what came in the tunnel to a bound host is not TLS";
		break;
	case SSL_R_NO_APPLICATION_PROTOCOL:
		why = "the client offers no HTTP/1.1, but HTTP/2 alone, as gRPC does: "
		    "it cannot be used with a bound host";
		break;
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
		why = "the client does not trust the local CA: it wants to be told of "
		    "$COUNTERSIGN_CA";
		break;
	case 0:	/* no fault of TLS: the connection ended */
	case SSL_R_UNEXPECTED_EOF_WHILE_READING:
		why = "the client left before its TLS handshake was done";
		break;
	default:
		why = "the client's TLS handshake failed, or the client gave it up";
	}
	front_refused(conn, rule, why);
	conn_close(conn);
}

enum step
front_handshake(struct conn *conn)
{
	const char *name;
	int result = stream_handshake(&conn->stream);

	if (result == STREAM_BLOCKED)
		return STEP_WAIT;
	if (result != 1) {
		handshake_failed(conn);
		return STEP_WAIT;
	}
	name = SSL_get_servername(conn->stream.ssl, TLSEXT_NAMETYPE_host_name);
	if (name != NULL && strcasecmp(name, conn->front->host) != 0)
		conn->front->wrong_name = true;	/* told in HTTP, where a client can read it */
	conn->state = CONN_HEAD;
	worker_limit(conn->worker, &conn->timer, TIME_HEAD);
	return STEP_ON;
}
