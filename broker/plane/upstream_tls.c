/* TLS towards upstreams: verified, named, resumed. */
#include "plane/upstream.h"

#include <stdio.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

static void
fail_tls(struct upstream *upstream)
{
	long verdict = SSL_get_verify_result(upstream->stream.ssl);

	if (verdict != X509_V_OK)
		upstream_fail(upstream, 502, "upstream/certificate", "certificate",
		    "the certificate of %s was not accepted: %s",
		    upstream->origin->host,
		    X509_verify_cert_error_string(verdict));
	else
		upstream_fail(upstream, 502, "upstream/tls", "tls_failed",
		    "the TLS handshake with %s failed", upstream->origin->host);
}

void
upstream_tls_handshake(struct upstream *upstream)
{
	int result = stream_handshake(&upstream->stream);

	if (result == STREAM_BROKEN)
		fail_tls(upstream);
	if (result != 1)
		return;
	timer_stop(&upstream->timer);
	upstream->state = UPSTREAM_READY;
}

/* By its alternative names alone: what a subject is called is no host
 * (RFC 9110, 4.3.4), and no browser takes it for one. */
static int
expect_host(SSL *ssl, const char *host)
{
	union address literal;

	if (address_parse(host, 0, &literal) == 0)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
	    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host);
}

void
upstream_tls_begin(struct upstream *upstream)
{
	SSL *ssl = SSL_new(upstream->worker->plane->tls);

	upstream->state = UPSTREAM_TLS;
	upstream->stream.ssl = ssl;
	if (ssl == NULL || expect_host(ssl, upstream->origin->host) != 1 ||
	    SSL_set_fd(ssl, upstream->stream.source.fd) != 1) {
		upstream_fail(upstream, 503, "upstream/tls", "out_of_memory",
		    "no memory for a TLS connection");
		return;
	}
	SSL_set_app_data(ssl, upstream);
	SSL_set_connect_state(ssl);
	if (upstream->origin->session != NULL)
		SSL_set_session(ssl, upstream->origin->session);
	worker_limit(upstream->worker, &upstream->timer, TIME_CONNECT);
	upstream_tls_handshake(upstream);
}

static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	struct upstream *upstream = SSL_get_app_data(ssl);

	pool_session(upstream->origin, session);
	return 1;	/* the reference is ours */
}

SSL_CTX *
upstream_tls_new(const char *ca_file, char *err, size_t err_len)
{
	static const unsigned char alpn[] = "\x08http/1.1";
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (ctx == NULL) {
		snprintf(err, err_len, "no TLS context for upstreams");
		return NULL;
	}
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS |
	    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn) - 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT |
	    SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, on_session);
	SSL_CTX_set_default_verify_paths(ctx);
	if (ca_file != NULL &&
	    SSL_CTX_load_verify_locations(ctx, ca_file, NULL) != 1) {
		snprintf(err, err_len, "upstream.ca_file: %s cannot be loaded",
		    ca_file);
		SSL_CTX_free(ctx);
		ctx = NULL;
	}
	ERR_clear_error();
	return ctx;
}
