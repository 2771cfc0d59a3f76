/* Is a daemon there; starting one; stopping it. */
#ifndef BROKER_CLI_START_H
#define BROKER_CLI_START_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Make sure that a daemon runs, starting one where none does: it asks for the
 * passphrase on the terminal where no file or credential has it, and returns
 * when the daemon is ready.  Two starters at once start one daemon.  0, or -1
 * with the reason, which is the daemon's own where it failed to start.
 */
int start_daemon(bool *started, char *err, size_t err_len);

/* The same for a command that needs a home with a daemon: 0, or the exit status, and
 * the reason was said. */
int start_needed(bool *started);

/* HOME/run/daemon.json, NULL where there is none; json_decref it. */
json_t *start_daemon_json(void);

#endif
