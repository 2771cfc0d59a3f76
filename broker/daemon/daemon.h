/*
 * The daemon put together and taken apart.
 *
 * Order of opening, which is also the argument for who can read what:
 *
 *   1. lock on the home, process hardened, memory lockable
 *      and the anchoring process forked, which asks witnesses and authorities
 *   2. passphrase -> master key (Argon2id) -> keys of vault, CA, ledger and
 *      pseudonyms, in a page that no forked child inherits; passphrase and
 *      master are wiped
 *   3. the ledger's seed is unsealed, the recorder forked with it; seed and
 *      ledger key are wiped here: from now on this process cannot sign
 *   4. vault, CA and gate are opened: the recorder has never seen their keys
 *   5. the process is confined (Landlock, seccomp): it may write the vault and
 *      run/, nothing else; then sockets, worker threads, API threads
 *   6. daemon.json, READY
 */
#ifndef BROKER_DAEMON_DAEMON_H
#define BROKER_DAEMON_DAEMON_H

#include "conf/conf.h"

#include <stdbool.h>
#include <stddef.h>

struct daemon;

struct daemon_options {
	const struct conf *conf;
	int passphrase_fd;		/* -1: none */
	const char *passphrase_file;
	bool terminal;			/* may ask */
};

/* NULL with a message; nothing is left behind. */
struct daemon *daemon_open(const struct daemon_options *options, char *err,
    size_t err_len);

/* Bind, start threads, write daemon.json. 0, or -1 with a message. */
int daemon_start(struct daemon *daemon, char *err, size_t err_len);

/*
 * Wait for SIGTERM or SIGINT, or POST /v1/shutdown; SIGHUP reloads the policy.
 * When the recorder is gone or the ledger cannot be written, it is logged once
 * and the daemon stays: everything is refused, /healthz says 503, and who asks
 * learns why instead of meeting a closed port.
 */
void daemon_wait(struct daemon *daemon);

/* Orderly end: workers, API, open runs, ledger.  0, or -1 where the ledger's
 * close record could not be made durable.  NULL-safe. */
int daemon_close(struct daemon *daemon);

#endif
