/*
 * A command must not set the limits of other processes (prlimit(2)): with no
 * descriptors, or no file that may grow, the daemon of the same user serves nobody,
 * and one second of processor time kills it.  Being non-dumpable does not keep that
 * out: the kernel asks for the same user, and nothing else.
 */
#ifndef BROKER_CLI_RUN_RUN_LIMITS_H
#define BROKER_CLI_RUN_RUN_LIMITS_H

/*
 * Refuse (EPERM) to set limits of a process by its number, to this one and all below
 * it, for good; its own (number 0, which is what setrlimit does) and all reading go
 * on.  As run_tty_guard.
 */
int run_limits_guard(void);

#endif
