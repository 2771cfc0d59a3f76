#include "daemon/notify.h"
#include "json_in.h"
#include "trouble.h"
#include "ledger/record/json_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#define LOCK_WAIT_MS 30000
#define LOCK_STEP_MS 20

void
notify_manager(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len;
	int fd;

	if (path == NULL || (path[0] != '/' && path[0] != '@'))
		return;
	len = strlen(path);
	if (len >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';	/* the abstract name space */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
	    (const struct sockaddr *)&to,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

void
notify_starter(int *fd, const char *line)
{
	if (*fd == -1)
		return;
	(void)dprintf(*fd, "%s\n", line);
	close(*fd);
	*fd = -1;
}

static int
daemon_text(const struct notify_daemon *daemon, char *buf, size_t cap)
{
	struct json_out out;
	char started[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_uint(&out, "v", 1);
	json_out_int(&out, "pid", getpid());
	json_out_str(&out, "version", COUNTERSIGN_VERSION);
	json_out_str(&out, "build", daemon->build);
	json_out_str(&out, "proxy_host", daemon->proxy_host);
	json_out_uint(&out, "proxy_port", daemon->proxy_port);
	json_out_str(&out, "api_host", daemon->api_host);
	json_out_uint(&out, "api_port", daemon->api_port);
	json_out_str(&out, "started", started);
	json_out_object_end(&out);
	return json_out_end(&out);
}

int
notify_daemon_file(const char *path, const struct notify_daemon *daemon,
    char *err, size_t err_len)
{
	char text[512], temp[PATH_MAX];
	int fd = -1, len, n;

	n = snprintf(temp, sizeof(temp), "%s.new", path);
	len = daemon_text(daemon, text, sizeof(text));
	if (n < 0 || (size_t)n >= sizeof(temp) || len < 0) {
		snprintf(err, err_len, "%s: the path is too long", path);
		return -1;
	}
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK, 0600);
	if (fd == -1 || write(fd, text, (size_t)len) != len ||
	    close(fd) != 0 || rename(temp, path) != 0)
		return trouble(err, err_len, path, errno);
	return 0;
}

static void
held_by(const char *daemon_json, char *err, size_t err_len)
{
	json_t *json = json_in_file(daemon_json);
	const char *started = json_string_value(json_object_get(json, "started"));

	/* The broker may be gone, and its recorder stuck. */
	snprintf(err, err_len, "another daemon runs on this home, or its recorder "
	    "has not ended: `fuser HOME/run/daemon.lock` names it");
	if (started != NULL)
		snprintf(err, err_len, "another daemon runs on this home: "
		    "pid %lld, since %.32s; `countersign stop` ends it",
		    (long long)json_integer_value(json_object_get(json, "pid")),
		    started);
	json_decref(json);
}

/* One that ends has taken its file away, one that was killed has left it: what still
 * has the lock then is about to let it go. */
static bool
serves(const char *daemon_json)
{
	json_t *json = json_in_file(daemon_json);
	const json_int_t pid = json_integer_value(json_object_get(json, "pid"));

	json_decref(json);
	return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

int
notify_lock(const char *path, const char *daemon_json, char *err,
    size_t err_len)
{
	const struct timespec step = { 0, LOCK_STEP_MS * 1000000L };
	int fd;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd == -1)
		return trouble(err, err_len, path, errno);
	for (unsigned ms = 0;; ms += LOCK_STEP_MS) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		if (errno != EWOULDBLOCK) {
			(void)trouble(err, err_len, path, errno);
			break;
		}
		if (ms >= LOCK_WAIT_MS || serves(daemon_json)) {
			held_by(daemon_json, err, err_len);
			break;
		}
		nanosleep(&step, NULL);
	}
	close(fd);
	return -1;
}
