#include "cli/start.h"
#include "build_digest.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/home_key.h"
#include "home.h"
#include "json_in.h"
#include "private_file.h"
#include "trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_LINE_MAX 1200
#define FD_PASSPHRASE 3
#define FD_READY 4

json_t *
start_daemon_json(void)
{
	char path[PATH_MAX];

	cli_home_path("run/daemon.json", path, sizeof(path));
	return json_in_file(path);
}

/* Does a daemon answer on HOME's operator socket, that goes on to?  One that is ending
 * has a lock, which the next one waits for. */
static bool
start_running(struct start_found *found)
{
	struct client_reply reply;
	enum client_result result;
	bool stopping;

	result = client_operator("GET", "/healthz", NULL, &reply);
	found->config_changed = strcmp(client_str(reply.json, "config"),
	    "changed") == 0;
	found->policy_changed = strcmp(client_str(reply.json, "policy"),
	    "changed") == 0;
	stopping = strcmp(client_str(reply.json, "status"), "stopping") == 0;
	client_reply_release(&reply);
	return (result == CLIENT_OK || result == CLIENT_REFUSED) && !stopping;
}

/* The absolute path of a program of ours: beside this one, in ../libexec, or
 * as installed.  0, or -1 with a message. */
static int
start_find(const char *program, char *path, size_t cap, char *err,
    size_t err_len)
{
	static const char *const places[] = { "", "../libexec/countersign/" };
	char self[PATH_MAX];
	ssize_t len;
	size_t i;
	int n;

	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len <= 0) {
		snprintf(err, err_len, "/proc/self/exe: %s", strerror(errno));
		return -1;
	}
	self[len] = '\0';
	*(strrchr(self, '/') + 1) = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		n = snprintf(path, cap, "%s%s%s", self, places[i], program);
		if (n > 0 && (size_t)n < cap && access(path, X_OK) == 0)
			return 0;
	}
	snprintf(err, err_len, "%s is neither beside countersign nor in "
	    "../libexec/countersign", program);
	return -1;
}

bool
start_other_build(const json_t *daemon)
{
	char path[PATH_MAX], err[CLI_ERR_MAX], installed[BUILD_DIGEST_LEN + 1];

	return daemon != NULL && start_find("countersignd", path, sizeof(path),
	    err, sizeof(err)) == 0 && build_digest(path, installed) == 0 &&
	    strcmp(client_str(daemon, "build"), installed) != 0;
}

void
start_tell(const struct start_found *found)
{
	if (found->other_build)
		cli_err("the daemon that runs is of another build than the one that "
		    "is installed: `countersign stop` and `start` replace it");
	if (found->config_changed)
		cli_err("config.json was changed since the daemon read it: "
		    "`countersign stop` and `start` put it in force");
	if (found->policy_changed)
		cli_err("the policy pack was changed since the daemon read it: "
		    "`countersign policy reload` puts it in force");
}

/* --- the daemon's process -------------------------------------------- */

/* It gets what it needs and nothing that might be a secret of this shell. */
static char **
daemon_environment(void)
{
	static const char *const names[] = { "HOME", "PATH", "USER", "LOGNAME",
	    "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_STATE_HOME",
	    "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "ASAN_OPTIONS",
	    "UBSAN_OPTIONS", "LSAN_OPTIONS", NULL };
	static char *out[sizeof(names) / sizeof(names[0]) + 1];
	static char text[16][PATH_MAX];
	size_t i, n = 0;
	const char *value;
	int len;

	for (i = 0; names[i] != NULL && n < 15; i++) {
		if ((value = getenv(names[i])) == NULL)
			continue;
		len = snprintf(text[n], PATH_MAX, "%s=%s", names[i], value);
		if (len > 0 && len < PATH_MAX) {
			out[n] = text[n];
			n++;
		}
	}
	snprintf(text[15], PATH_MAX, "COUNTERSIGN_HOME=%s", cli_home());
	out[n++] = text[15];
	out[n] = NULL;
	return out;
}

/* Move a descriptor to a fixed number that survives exec. */
static int
place(int fd, int number)
{
	if (fd == number)
		return fcntl(fd, F_SETFD, 0);
	return dup2(fd, number) == -1 ? -1 : 0;
}

static void __attribute__((noreturn))
become_daemon(const char *program, int passphrase, int ready, int log)
{
	static char name[] = "countersignd", foreground[] = "--foreground",
	    ready_fd[] = "--ready-fd", passphrase_fd[] = "--passphrase-fd";
	char fd_passphrase[8], fd_ready[8];
	char *argv[7] = { name, foreground, ready_fd, fd_ready };
	int devnull, high_pass = -1, high_ready;

	snprintf(fd_passphrase, sizeof(fd_passphrase), "%d", FD_PASSPHRASE);
	snprintf(fd_ready, sizeof(fd_ready), "%d", FD_READY);
	if (passphrase != -1) {
		argv[4] = passphrase_fd;
		argv[5] = fd_passphrase;
		high_pass = fcntl(passphrase, F_DUPFD_CLOEXEC, 10);
	}
	high_ready = fcntl(ready, F_DUPFD_CLOEXEC, 10);
	devnull = open("/dev/null", O_RDONLY);
	if (setsid() == -1 || high_ready == -1 || devnull == -1 ||
	    dup2(devnull, STDIN_FILENO) == -1 ||
	    dup2(log, STDOUT_FILENO) == -1 || dup2(log, STDERR_FILENO) == -1 ||
	    place(high_ready, FD_READY) != 0 ||
	    (high_pass != -1 && place(high_pass, FD_PASSPHRASE) != 0) ||
	    chdir("/") != 0)
		_exit(127);
	execve(program, argv, daemon_environment());
	dprintf(FD_READY, "ERROR=%s: %s\n", program, strerror(errno));
	_exit(127);
}

/* The daemon's one line; -1 with its words where it is not READY. */
static int
await_ready(int fd, char *err, size_t err_len)
{
	char line[READY_LINE_MAX] = "";
	size_t len = 0;
	ssize_t got;

	while (len < sizeof(line) - 1) {
		got = read(fd, line + len, sizeof(line) - 1 - len);
		if (got == -1 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "READY=1") == 0)
		return 0;
	if (strncmp(line, "ERROR=", 6) == 0)
		snprintf(err, err_len, "the daemon did not start: %.900s",
		    line + 6);
	else
		snprintf(err, err_len, "the daemon ended before it was ready: "
		    "the end of %s/run/daemon.log may say why; a limit (`ulimit "
		    "-a`) that is too low ends it without a word", cli_home());
	return -1;
}

/* Through a pipe that is written whole before anybody reads: a passphrase is
 * shorter than any pipe's capacity. */
static int
passphrase_pipe(const struct secret *passphrase, char *err, size_t err_len)
{
	struct slice bytes = secret_bytes(passphrase);
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return trouble(err, err_len, "cannot make a pipe", errno);
	if (write(fds[1], bytes.p, bytes.n) != (ssize_t)bytes.n) {
		(void)trouble(err, err_len, "cannot fill a pipe", errno);
		close(fds[0]);
		fds[0] = -1;
	}
	close(fds[1]);
	return fds[0];
}

static int
open_log(char *err, size_t err_len)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	cli_home_path("run/daemon.log", path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK, 0600);
	if (fd != -1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	if (fd != -1 || errno == ENXIO)
		snprintf(err, err_len, "%s %s", path, private_file_why(EINVAL));
	else
		(void)trouble(err, err_len, path, errno);
	if (fd != -1)
		close(fd);
	return -1;
}

static int
launch(int passphrase, char *err, size_t err_len)
{
	char program[PATH_MAX];
	int ready[2] = { -1, -1 }, log = -1, rc = -1;
	pid_t child;

	if (start_find("countersignd", program, sizeof(program), err,
	    err_len) != 0 || (log = open_log(err, err_len)) == -1)
		goto out;
	if (pipe2(ready, O_CLOEXEC) != 0 || (child = fork()) == -1) {
		(void)trouble(err, err_len, "cannot start the daemon", errno);
		goto out;
	}
	if (child == 0)
		become_daemon(program, passphrase, ready[1], log);
	close(ready[1]);
	ready[1] = -1;
	rc = await_ready(ready[0], err, err_len);
	if (rc != 0)
		(void)waitpid(child, NULL, 0);
out:
	if (ready[0] != -1)
		close(ready[0]);
	if (ready[1] != -1)
		close(ready[1]);
	if (log != -1)
		close(log);
	return rc;
}

/* The passphrase where it must be given along, else *fd stays -1: what is in a
 * file or credential the daemon would read itself, but its environment is not
 * ours, so everything goes through the pipe. */
static int
get_passphrase(int *fd, char *err, size_t err_len)
{
	struct secret *passphrase = home_passphrase(NULL, HOME_ASK, err, err_len);

	if (passphrase == NULL)
		return -1;
	*fd = passphrase_pipe(passphrase, err, err_len);
	secret_unref(passphrase);
	return *fd == -1 ? -1 : 0;
}

static void
look_at_build(struct start_found *found)
{
	json_t *daemon = start_daemon_json();

	found->other_build = start_other_build(daemon);
	json_decref(daemon);
}

int
start_daemon(struct start_found *found, char *err, size_t err_len)
{
	char path[PATH_MAX];
	int lock, passphrase = -1, rc = -1;

	*found = (struct start_found){ .started = false };
	if (start_running(found)) {
		look_at_build(found);
		return 0;
	}
	if ((rc = home_narrow(err, err_len)) == -1)
		return -1;
	if (rc == 1)
		cli_err("others could look into %s: its mode is 0700 now",
		    cli_home());
	rc = -1;
	if (home_make_rooms(err, err_len) != 0)
		return -1;
	cli_home_path("run/start.lock", path, sizeof(path));
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock == -1 || flock(lock, LOCK_EX) != 0) {
		(void)trouble(err, err_len, path, errno);
		goto out;
	}
	if (start_running(found)) {	/* somebody was faster */
		rc = 0;
	} else if (get_passphrase(&passphrase, err, err_len) == 0 &&
	    launch(passphrase, err, err_len) == 0) {
		found->started = true;
		rc = 0;
	}
out:
	if (passphrase != -1)
		close(passphrase);
	if (lock != -1)
		close(lock);
	return rc;
}

int
start_needed(struct start_found *found)
{
	struct start_found unasked;
	char err[CLI_ERR_MAX] = "";
	int rc = cli_need_home();

	if (rc != 0)
		return rc;
	if (start_daemon(found != NULL ? found : &unasked, err, sizeof(err)) == 0)
		return 0;
	cli_err("%s", err);
	return CLI_REFUSED;
}
