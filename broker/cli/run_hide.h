/*
 * Hides the home from the agent, as far as an unprivileged process can: a user
 * and mount name space in which an empty read-only file system lies over HOME.
 * What the agent needs is put there again: the CA certificates, Node's preload
 * and agent.sock.  The operators' socket, the vault and the ledger are not.
 *
 * The user name space also keeps the agent from looking into processes of the
 * same user outside it (ptrace, /proc/PID/environ, /proc/PID/root).  It is no
 * sandbox: what runs services for the user (systemd --user, cron, a reachable
 * sshd) can still be asked to act outside.
 */
#ifndef BROKER_CLI_RUN_HIDE_H
#define BROKER_CLI_RUN_HIDE_H

#include <stddef.h>

#define RUN_HIDE_FILES 4

struct run_hide {
	const char *home;
	const char *socket;		/* agent.sock below home */
	const char *files[RUN_HIDE_FILES];	/* below home, small, kept readable; NULL: none */
	const char *mask;		/* a file elsewhere that reads as empty (passphrase); NULL */
};

struct run_hide_plan;	/* contents and descriptors gathered before the fork */

/* NULL where out of memory or a file cannot be read. */
struct run_hide_plan *run_hide_prepare(const struct run_hide *what);
void run_hide_release(struct run_hide_plan *plan);

/* In the child: NULL, or the step that did not work (errno says why); then
 * nothing is hidden, or less than all of it. */
const char *run_hide_apply(const struct run_hide_plan *plan);

#endif
