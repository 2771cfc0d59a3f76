#include "cli/run/run_child.h"
#include "cli/cli.h"
#include "cli/run/run_filter.h"
#include "ledger/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child says before it becomes the command; one write each. */
struct report {
	enum { HIDDEN, NOT_HIDDEN, HIDING_FAILED, NO_EXEC } what;
	int error;
	char step[96];
};

static void
tell(int fd, int what, int error, const char *step)
{
	struct report report = { .error = error };

	report.what = what;
	snprintf(report.step, sizeof(report.step), "%s", step);
	(void)!write(fd, &report, sizeof(report));
}

/* Where it is not possible the command runs all the same, unless it was asked for,
 * and the user knows before it does. */
static void
hide(const struct run_child *child, int fd)
{
	const char *step;
	enum run_hide_result result = run_hide_apply(child->hide, &step);
	int error = errno;

	if (result == RUN_HIDE_FAILED ||
	    (result == RUN_HIDE_CANNOT && child->must_hide)) {
		tell(fd, HIDING_FAILED, error, step);
		_exit(125);
	}
	if (result == RUN_HIDE_CANNOT) {
		cli_err("note: the home is not hidden from the command: %s: %s",
		    step, strerror(error));
		tell(fd, NOT_HIDDEN, error, step);
		return;
	}
	/* It is the same user's, and could kill the daemon. */
	tell(fd, HIDDEN, 0, confine_signals() == 0 ? "" :
	    "it can signal processes outside: this kernel does not keep that in");
}

static void __attribute__((noreturn))
become(const struct run_child *child, int fd, pid_t parent,
    const sigset_t *mask)
{
	int error;

	/* Or the files of /proc/self would belong to root. */
	(void)prctl(PR_SET_DUMPABLE, 1);
	if (child->hide != NULL)
		hide(child, fd);
	/* Without the rights for it nothing is hidden, either, and that was said. */
	if (run_filter_typing() != 0 && errno != EACCES)
		cli_err("note: the command could type into this terminal: %s",
		    strerror(errno));
	if (run_filter_limits() != 0 && errno != EACCES)
		cli_err("note: the command could set limits of the daemon: %s",
		    strerror(errno));
	/* An agent must not go on without its broker. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(125);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	environ = (char **)child->env;
	execvp(child->argv[0], child->argv);
	error = errno;
	tell(fd, NO_EXEC, error, "");
	_exit(error == ENOENT || error == ENOTDIR ? 127 : 126);
}

static void
hear(int fd, const struct run_child *child, struct run_child_result *result)
{
	const char *without = child->must_hide ? "without --hide-credentials the "
	    "command could read them" : "--no-hide runs it without";
	struct report report;

	result->started = true;
	while (read(fd, &report, sizeof(report)) == sizeof(report)) {
		report.step[sizeof(report.step) - 1] = '\0';
		result->hidden = report.what == HIDDEN || (report.what == NO_EXEC &&
		    result->hidden);
		if (report.what == HIDDEN)
			snprintf(result->why, sizeof(result->why), "%s", report.step);
		if (report.what == NOT_HIDDEN)
			snprintf(result->why, sizeof(result->why), "%s: %s",
			    report.step, strerror(report.error));
		if (report.what == HIDING_FAILED) {
			result->started = false;
			snprintf(result->why, sizeof(result->why), "%s could "
			    "not be hidden from the command: %s%s%s; %s",
			    child->must_hide ? "credentials of other programs" :
			    "the home", report.step,
			    report.error != 0 ? ": " : "",
			    report.error != 0 ? strerror(report.error) : "",
			    without);
		}
		if (report.what == NO_EXEC) {
			result->started = false;
			snprintf(result->why, sizeof(result->why), "%.100s: %s",
			    child->argv[0], strerror(report.error));
		}
	}
}

static int
shell_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What is typed (SI_KERNEL) has reached the child too.  A hangup has not: of that the
 * kernel tells the session's leader alone, which may be us. */
static void
pass_on(int signals, pid_t child)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD &&
		    (info.ssi_code != SI_KERNEL || info.ssi_signo == SIGHUP))
			(void)kill(child, (int)info.ssi_signo);
}

/* The command's status; orphans that were handed to us are reaped on the way. */
static int
attend(int signals, pid_t child)
{
	struct pollfd poll_fd = { .fd = signals, .events = POLLIN };
	int status = 0;
	pid_t ended;

	for (;;) {
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == child)
				return shell_status(status);
		if (ended == -1 && errno != EINTR)
			return 125;
		(void)poll(&poll_fd, 1, -1);
		pass_on(signals, child);
	}
}

static void
set_of_signals(sigset_t *set)
{
	static const int numbers[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP,
	    SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH };
	size_t i;

	sigemptyset(set);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(set, numbers[i]);
}

void
run_child(const struct run_child *child, struct run_child_result *result)
{
	sigset_t set, old;
	int fds[2] = { -1, -1 }, signals;
	pid_t parent = getpid(), pid;

	memset(result, 0, sizeof(*result));
	result->status = 125;
	set_of_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals == -1 || pipe2(fds, O_CLOEXEC) != 0 || (pid = fork()) == -1) {
		snprintf(result->why, sizeof(result->why), "fork: %s",
		    strerror(errno));
	} else if (pid == 0) {
		become(child, fds[1], parent, &old);
	} else {
		close(fds[1]);
		fds[1] = -1;
		hear(fds[0], child, result);
		result->status = attend(signals, pid);
	}
	if (fds[0] != -1)
		close(fds[0]);
	if (fds[1] != -1)
		close(fds[1]);
	if (signals != -1)
		close(signals);
	/* The signals stay blocked: closing the run is not to be cut short by
	 * the second Ctrl-C. */
}
