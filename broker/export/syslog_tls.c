/*
 * Syslog over TLS, RFC 5425.  There is no acknowledgement in it: what was
 * written when a connection broke may not have arrived.  So a batch is only
 * taken as sent when the connection still stood after it (for the first one of
 * a connection: a second later, since a receiver that wants none hangs up at
 * once), it is sent again over the next one otherwise, and the batch before it
 * too.  A receiver may see some twice, which have the same externalId.
 */
#include "export/sender.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define TIMEOUT_S 30
#define GOODBYE_MS 2000
#define FIRST_MS 1000

struct syslog_sender {
	struct sender_options options;
	SSL_CTX *ctx;
	SSL *ssl;
	int fd;
	bool fresh;		/* nothing was sent over this connection yet */
	char *last;		/* the batch before, which may have been lost */
	size_t last_len;
	char host[256], port[16];
};

/* tls://host:port, or tls://[v6]:port; the port is 6514 where there is none. */
static int
parse(struct syslog_sender *s, const char *url)
{
	const char *host = strncmp(url, "tls://", 6) == 0 ? url + 6 : NULL, *end, *port;

	if (host == NULL)
		return -1;
	end = host[0] == '[' ? strchr(host, ']') : host + strcspn(host, ":/");
	if (end == NULL)
		return -1;
	port = host[0] == '[' ? end + 1 : end;
	host += host[0] == '[';
	if (end == host || (size_t)(end - host) >= sizeof(s->host))
		return -1;
	memcpy(s->host, host, (size_t)(end - host));
	s->host[end - host] = '\0';
	if (*port == '\0') {
		snprintf(s->port, sizeof(s->port), "6514");
		return 0;
	}
	if (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1) ||
	    strlen(port + 1) < 1 || strlen(port + 1) > 5)
		return -1;
	snprintf(s->port, sizeof(s->port), "%s", port + 1);
	return 0;
}

static const char *
tls_error(void)
{
	const unsigned long code = ERR_peek_last_error();
	const char *text = code != 0 ? ERR_reason_error_string(code) : NULL;

	return text != NULL ? text : "the connection was closed";
}

struct syslog_sender *
syslog_sender_new(const struct sender_options *options, char *err, size_t err_len)
{
	struct syslog_sender *s = calloc(1, sizeof(*s));

	snprintf(err, err_len, "out of memory");
	if (s == NULL)
		return NULL;
	s->options = *options;
	s->fd = -1;
	if (parse(s, options->url) != 0) {
		snprintf(err, err_len, "no tls://host:port");
		goto bad;
	}
	if ((s->ctx = SSL_CTX_new(TLS_client_method())) == NULL)
		goto bad;
	SSL_CTX_set_verify(s->ctx, SSL_VERIFY_PEER, NULL);
	if (SSL_CTX_set_min_proto_version(s->ctx, TLS1_2_VERSION) != 1 ||
	    (options->ca != NULL ? SSL_CTX_load_verify_file(s->ctx, options->ca) :
	    SSL_CTX_set_default_verify_paths(s->ctx)) != 1) {
		snprintf(err, err_len, "the CA file cannot be used: %s", tls_error());
		goto bad;
	}
	return s;
bad:
	syslog_sender_free(s);
	return NULL;
}

static void
hang_up(struct syslog_sender *s)
{
	SSL_free(s->ssl);
	if (s->fd >= 0)
		close(s->fd);
	s->ssl = NULL;
	s->fd = -1;
}

/* Until the receiver has said it is done, or for two seconds. */
static void
say_goodbye(struct syslog_sender *s)
{
	struct pollfd wait = { s->fd, POLLIN, 0 };
	char rest[256];

	if (s->ssl == NULL || SSL_shutdown(s->ssl) != 0)
		return;
	while (poll(&wait, 1, GOODBYE_MS) == 1 && SSL_read(s->ssl, rest, sizeof(rest)) > 0)
		;
}

void
syslog_sender_free(struct syslog_sender *s)
{
	if (s == NULL)
		return;
	say_goodbye(s);
	hang_up(s);
	free(s->last);
	SSL_CTX_free(s->ctx);
	free(s);
}

static int
dial(struct syslog_sender *s, char *err, size_t err_len)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct timeval patience = { TIMEOUT_S, 0 };
	struct addrinfo *all = NULL, *one;
	int rc = getaddrinfo(s->host, s->port, &hints, &all);

	if (rc != 0) {
		snprintf(err, err_len, "%s: %s", s->host, gai_strerror(rc));
		return -1;
	}
	for (one = all; one != NULL && s->fd < 0; one = one->ai_next) {
		s->fd = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
		if (s->fd < 0)
			continue;
		(void)setsockopt(s->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		(void)setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		if (connect(s->fd, one->ai_addr, one->ai_addrlen) != 0) {
			snprintf(err, err_len, "%s:%s: %s", s->host, s->port, strerror(errno));
			close(s->fd);
			s->fd = -1;
		}
	}
	freeaddrinfo(all);
	return s->fd >= 0 ? 0 : -1;
}

/* The name, or the address, that its certificate must have. */
static int
expect_peer(struct syslog_sender *s)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(s->ssl);

	if (X509_VERIFY_PARAM_set1_ip_asc(param, s->host) == 1)
		return 0;
	ERR_clear_error();
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
	    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return X509_VERIFY_PARAM_set1_host(param, s->host, 0) == 1 &&
	    SSL_set_tlsext_host_name(s->ssl, s->host) == 1 ? 0 : -1;
}

/* 1: connected; 0: try again; -1: its certificate is not good. */
static int
connect_once(struct syslog_sender *s, char *err, size_t err_len)
{
	long verified;

	if (s->ssl != NULL)
		return 1;
	ERR_clear_error();
	if (dial(s, err, err_len) != 0)
		return 0;
	if ((s->ssl = SSL_new(s->ctx)) == NULL || expect_peer(s) != 0 ||
	    SSL_set_fd(s->ssl, s->fd) != 1) {
		snprintf(err, err_len, "TLS: %s", tls_error());
		hang_up(s);
		return 0;
	}
	s->fresh = true;
	if (SSL_connect(s->ssl) == 1)
		return 1;
	verified = SSL_get_verify_result(s->ssl);
	snprintf(err, err_len, "TLS: %s", verified != X509_V_OK ?
	    X509_verify_cert_error_string(verified) : tls_error());
	hang_up(s);
	return verified != X509_V_OK ? -1 : 0;
}

/* A receiver that has hung up is readable: syslog receivers send nothing.  TLS
 * session tickets are readable too, and no goodbye: the read returns behind them. */
static bool
still_there(struct syslog_sender *s, int wait_ms)
{
	struct pollfd now = { s->fd, POLLIN, 0 };
	char byte;
	int n;

	SSL_clear_mode(s->ssl, SSL_MODE_AUTO_RETRY);
	while (poll(&now, 1, wait_ms) == 1) {
		n = SSL_read(s->ssl, &byte, 1);
		if (n <= 0 && SSL_get_error(s->ssl, n) != SSL_ERROR_WANT_READ)
			return false;
	}
	return true;
}

static int
write_all(struct syslog_sender *s, const char *bytes, size_t len, char *err, size_t err_len)
{
	size_t n;

	while (len > 0) {
		if (SSL_write_ex(s->ssl, bytes, len < 16384 ? len : 16384, &n) != 1) {
			snprintf(err, err_len, "TLS: %s", tls_error());
			return -1;
		}
		bytes += n;
		len -= n;
	}
	return 0;
}

/* The batch, and before it the one that may have been lost with the last
 * connection. */
static bool
send_once(struct syslog_sender *s, const char *frames, size_t len, char *err,
    size_t err_len)
{
	const bool fresh = s->fresh;

	ERR_clear_error();
	snprintf(err, err_len, "the receiver hung up");
	if (!still_there(s, 0) ||
	    (fresh && s->last_len > 0 && write_all(s, s->last, s->last_len, err, err_len) != 0) ||
	    write_all(s, frames, len, err, err_len) != 0)
		return false;
	s->fresh = false;
	return still_there(s, fresh ? FIRST_MS : 0);
}

static int
remember(struct syslog_sender *s, const char *frames, size_t len)
{
	char *more = realloc(s->last, len);

	if (more == NULL)
		return -1;
	memcpy(more, frames, len);
	s->last = more;
	s->last_len = len;
	return 0;
}

enum sender_status
syslog_sender_send(struct syslog_sender *s, const char *frames, size_t len, char *err,
    size_t err_len)
{
	unsigned n;
	int rc;

	for (n = 1; s->options.tries == 0 || n <= s->options.tries; n += n < 1000) {
		sender_wait(&s->options, n, 0, err);
		rc = connect_once(s, err, err_len);
		if (rc < 0)
			return SENDER_REFUSED;
		if (rc == 0)
			continue;
		if (send_once(s, frames, len, err, err_len)) {
			snprintf(err, err_len, "out of memory");
			return remember(s, frames, len) == 0 ? SENDER_TAKEN : SENDER_REFUSED;
		}
		hang_up(s);
	}
	return SENDER_GONE;
}
