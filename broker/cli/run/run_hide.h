/*
 * Hides the home from the agent, as far as an unprivileged process can: a user
 * and mount name space in which an empty read-only file system lies over HOME.
 * What the agent needs is put there again: the CA certificates, Node's preload
 * and agent.sock.  The operators' socket, the vault and the ledger are not.
 *
 * Nor does it keep what it had hold of before: the working directory is entered
 * and inherited descriptors of directories are opened anew (run_reach.h), other
 * names that bind mounts give to the home are covered too (run_mounts.h), and
 * all of it is looked at again from inside.
 *
 * The user name space also keeps the agent from looking into processes of the
 * same user outside it (ptrace, /proc/PID/environ, /proc/PID/root).  It is no
 * sandbox: what runs services for the user (systemd --user, cron, a reachable
 * sshd) can still be asked to act outside.
 */
#ifndef BROKER_CLI_RUN_RUN_HIDE_H
#define BROKER_CLI_RUN_RUN_HIDE_H

#include <stddef.h>

#define RUN_HIDE_FILES 5
#define RUN_HIDE_MASKS 24

struct run_hide {
	const char *home;
	const char *socket;		/* agent.sock below home */
	const char *files[RUN_HIDE_FILES];	/* below home, small, kept readable; NULL: none */
	const char *masks[RUN_HIDE_MASKS];	/* files elsewhere that read as empty (passphrases, tokens); NULL: none */
};

struct run_hide_plan;	/* contents and descriptors gathered before the fork */

/* NULL with a message where out of memory or a file cannot be read.  Masks are
 * resolved here, relative ones too; those that are no file are left out. */
struct run_hide_plan *run_hide_prepare(const struct run_hide *what, char *err,
    size_t err_len);
void run_hide_release(struct run_hide_plan *plan);

/* CANNOT: the system does not let this process have mounts of its own.  FAILED:
 * it does, and something else went wrong; nothing must be run then. */
enum run_hide_result { RUN_HIDE_DONE, RUN_HIDE_CANNOT, RUN_HIDE_FAILED };

/* In the child.  *step is what did not work, and errno why, or 0. */
enum run_hide_result run_hide_apply(const struct run_hide_plan *plan,
    const char **step);

#endif
