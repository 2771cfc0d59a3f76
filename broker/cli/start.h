/* Is a daemon there; starting one; stopping it. */
#ifndef BROKER_CLI_START_H
#define BROKER_CLI_START_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The daemon that is there. */
struct start_found {
	bool started;		/* by us, just now */
	/* Where it was there before: what it goes on without, until told. */
	bool config_changed, policy_changed;	/* files say something else than it read */
	bool other_build;	/* its program is not the one that is installed */
};

/*
 * Make sure that a daemon runs, starting one where none does: it asks for the
 * passphrase on the terminal where no file or credential has it, and returns
 * when the daemon is ready.  Two starters at once start one daemon.  0, or -1
 * with the reason, which is the daemon's own where it failed to start.
 */
int start_daemon(struct start_found *found, char *err, size_t err_len);

/* The same for a command that needs a home with a daemon (found may be NULL): 0, or the
 * exit status, and the reason was said. */
int start_needed(struct start_found *found);

/* Says on standard error what of that somebody may not expect, and what to do. */
void start_tell(const struct start_found *found);

/* Does daemon.json tell of another program than would be started now? */
bool start_other_build(const json_t *daemon);

/* HOME/run/daemon.json, NULL where there is none; json_decref it. */
json_t *start_daemon_json(void);

#endif
