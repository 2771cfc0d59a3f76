/*
 * A command that shares the terminal of the shell it was started from must not
 * type into it: TIOCSTI and TIOCLINUX (ioctl_tty(2)) put characters before the
 * shell that it reads, and runs, as its user's own, once the command has ended.
 */
#ifndef BROKER_CLI_RUN_RUN_TTY_H
#define BROKER_CLI_RUN_RUN_TTY_H

/*
 * Refuse both (EPERM) to this process and all below it, for good, by a seccomp
 * filter that looks at nothing else.  Needs the rights of a name space's root,
 * which hiding the home gave, or root's own.  0, or -1 with errno.
 */
int run_tty_guard(void);

#endif
