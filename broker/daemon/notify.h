/*
 * Telling others how the daemon is: the service manager (sd_notify(3)'s
 * datagrams, without its library), the command that started it (--ready-fd),
 * and everybody who reads HOME/run/daemon.json.
 */
#ifndef BROKER_DAEMON_NOTIFY_H
#define BROKER_DAEMON_NOTIFY_H

#include <stddef.h>
#include <netinet/in.h>
#include <stdint.h>

/* "READY=1", "STOPPING=1", ... to $NOTIFY_SOCKET; nothing where it is unset. */
void notify_manager(const char *state);

/* One line on fd, which is closed: "READY=1", or "ERROR=<why>".  -1: none. */
void notify_starter(int *fd, const char *line);

struct notify_daemon {
	char proxy_host[INET_ADDRSTRLEN], api_host[INET_ADDRSTRLEN];
	uint16_t proxy_port, api_port;
	const char *build;	/* build_digest() of its program, "" where not known */
};
/* Write HOME/run/daemon.json (0600) by rename. 0, or -1 with a message. */
int notify_daemon_file(const char *path, const struct notify_daemon *daemon,
    char *err, size_t err_len);

/*
 * One daemon per home: lock path (made 0600) for as long as the returned
 * descriptor is open.  One that is ending, or was killed, is waited for.  -1
 * with a message that names who holds it, as far as daemon_json tells.
 */
int notify_lock(const char *path, const char *daemon_json, char *err,
    size_t err_len);

#endif
