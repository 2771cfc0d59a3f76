/*
 * The local API: JSON over HTTP/1.1 on two Unix sockets and one loopback port,
 * served by libmicrohttpd; described by broker/api/openapi.json.
 *
 *   operator socket   everything; a caller inside an open run's process tree
 *                     has no more than that run's rights
 *   agent socket      the run whose token is shown, or whose process tree the
 *                     caller belongs to
 *   TCP               the run whose token is shown
 */
#ifndef BROKER_API_H
#define BROKER_API_H

#include "gate/admin.h"

#include <netinet/in.h>
#include <stdatomic.h>

struct api;
struct plane;
struct anchorer;
struct conf_hosts;

#define API_LEDGER_PORTS 5	/* how many ledger ports api_start takes */

struct api_options {
	struct gate *gate;
	struct ledger *ledger;
	unsigned first_port;	/* ledger ports first_port .. first_port + API_LEDGER_PORTS - 1 */
	const struct plane *plane;	/* for /metrics; NULL: none */

	/* Listening sockets, bound by the caller; api_start takes them over
	 * where it succeeds, and api_stop closes them.  -1: none. */
	int operator_fd, agent_fd, tcp_fd;

	/* Told to clients. */
	const char *proxy_host, *api_host;	/* IPv4 */
	uint16_t proxy_port, api_port;
	const char *agent_socket, *ca_cert, *ca_bundle;	/* paths */
	const struct anchorer *anchorer;	/* for /healthz and /metrics; NULL: none */
	const char *checkpoint_path;	/* HOME/ledger/checkpoint: the latest signed note */
	const atomic_bool *conf_changed;	/* borrowed; NULL: not known */
	const struct conf_hosts *hosts;	/* not copied: names in Host over TCP; NULL: none but ours */
	const char *ledger_dir;	/* HOME/ledger, for tiles and proofs; NULL: none */

	/* POST /v1/shutdown: called once, from an API thread; must not block. */
	void (*shutdown)(void *arg);
	void *arg;
};

/* Copies what it needs from options.  NULL with a message. */
struct api *api_start(const struct api_options *options, char *err,
    size_t err_len);

/* The daemon is about to end: /healthz says so.  NULL-safe. */
void api_stopping(struct api *api);

/* Refuse new requests, finish those under way, join. */
void api_stop(struct api *api);

/* Helpers for the caller: a Unix socket (0600, replaces a stale one) or a
 * loopback TCP socket, listening, or -1 with a message.  *port: as bound. */
int api_listen_unix(const char *path, char *err, size_t err_len);
int api_listen_tcp(const struct sockaddr_in *address, uint16_t *port,
    char *err, size_t err_len);

#endif
