/*
 * The data plane: worker threads, each with its own epoll,
 * upstream pool and ledger port, at one listener.  See broker/plane/DESIGN.md for the
 * states of a connection.
 */
#ifndef BROKER_PLANE_H
#define BROKER_PLANE_H

#include "conf/conf.h"
#include "gate/gate.h"
#include "tls/ca.h"

struct plane;

struct plane_options {
	const struct conf *conf;
	struct gate *gate;
	struct ca *ca;
	struct ledger *ledger;
	unsigned first_port;	/* ledger ports first_port .. first_port + workers - 1 are ours */
};

/* Bind, start the workers.  NULL with a message. */
struct plane *plane_start(const struct plane_options *options, char *err,
    size_t err_len);
uint16_t plane_port(const struct plane *plane);
/* The API's port, once it is known: a request for it that comes through the
 * proxy is told the way. */
void plane_name_api(struct plane *plane, uint16_t port);

/* Refuse new work, give what runs up to grace_ms, cut the rest, join. */
void plane_stop(struct plane *plane, unsigned grace_ms);

struct plane_counts {
	uint64_t connections, open, requests, allowed, refused, tunnels;
	uint64_t bytes_out, bytes_in, redactions, upstream_errors, intercepted;
	uint64_t gave_way;	/* closed while idle, for others */
	uint64_t unread_limit, unread_files, unread_memory;	/* closed before anything was read */
};
void plane_counts(const struct plane *plane, struct plane_counts *out);

#endif
