/*
 * Where exported records go over the network.  A sender is given batches, and
 * says when one was taken; between tries it waits longer and longer, so that a
 * receiver that comes back is not run over.  It runs in a process of its own
 * and reads files, so the broker never waits for it.
 */
#ifndef BROKER_EXPORT_SENDER_H
#define BROKER_EXPORT_SENDER_H

#include <stddef.h>

struct sender_options {
	const char *url;	/* http(s)://host:port[/path], or tls://host:port */
	const char *ca;		/* file of certificates to trust, or NULL: the system's */
	const char *header;	/* "Name: value" for HTTP, or NULL */
	unsigned tries;		/* of one batch; 0: until it is taken */
	unsigned wait_ms;	/* before the second try; doubled each time, 30 s at most */
};

enum sender_status {
	SENDER_TAKEN,
	SENDER_GONE,		/* given up after so many tries */
	SENDER_REFUSED		/* it would be refused for ever: err says why */
};

/* Wait before try number n (from 1), with jitter: nothing before the first.  Before the
 * second it is told why (err), since the others may go on for ever. */
void sender_wait(const struct sender_options *options, unsigned n, long least_s,
    const char *err);

/* ---- OTLP over HTTP ---- */

struct otlp_sender;
struct otlp_sender *otlp_sender_new(const struct sender_options *options, char *err,
    size_t err_len);
void otlp_sender_free(struct otlp_sender *sender);
/* One request's body. */
enum sender_status otlp_sender_send(struct otlp_sender *sender, const char *body,
    size_t len, char *err, size_t err_len);

/* ---- syslog over TLS, RFC 5425 ---- */

struct syslog_sender;
struct syslog_sender *syslog_sender_new(const struct sender_options *options, char *err,
    size_t err_len);
/* Says goodbye, so that all that was sent arrives. */
void syslog_sender_free(struct syslog_sender *sender);
/* Messages that are framed already ("LEN message"), as many as there are. */
enum sender_status syslog_sender_send(struct syslog_sender *sender, const char *frames,
    size_t len, char *err, size_t err_len);

#endif
