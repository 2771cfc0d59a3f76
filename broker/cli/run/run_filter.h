/*
 * What a command must not ask the kernel for, though it is the same user's as we are:
 * seccomp filters, each of which looks at one call and at nothing else, for this
 * process and all below it, for good.  They need the rights of a name space's root,
 * which hiding the home gave, or root's own.  0, or -1 with errno: EACCES without
 * those rights, ENOSYS on a processor that is not known here.
 */
#ifndef BROKER_CLI_RUN_RUN_FILTER_H
#define BROKER_CLI_RUN_RUN_FILTER_H

/*
 * To type into the terminal of the shell that it was started from: TIOCSTI and
 * TIOCLINUX (ioctl_tty(2)) put characters before the shell that it reads, and runs,
 * as its user's own, once the command has ended.
 */
int run_filter_typing(void);

/*
 * To set limits of a process by its number (prlimit(2)): with no descriptors, or no
 * file that may grow, the daemon of the same user serves nobody, and one second of
 * processor time kills it.  Being non-dumpable does not keep that out: the kernel asks
 * for the same user, and nothing else.  Its own (number 0, which is what setrlimit
 * does) and all reading go on.
 */
int run_filter_limits(void);

#endif
