/* Listening sockets for the API's callers. */
#include "api/api.h"
#include "trouble.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

static int
failed(int fd, const char *what, char *err, size_t err_len)
{
	(void)trouble(err, err_len, what, errno);
	if (fd != -1)
		close(fd);
	return -1;
}

/* Only a socket of ours is replaced: anything else at that path stays. */
static int
unlink_stale(const char *path)
{
	struct stat is;

	if (lstat(path, &is) == -1)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISSOCK(is.st_mode) || is.st_uid != geteuid()) {
		errno = EEXIST;
		return -1;
	}
	return unlink(path);
}

int
api_listen_unix(const char *path, char *err, size_t err_len)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int fd, bound;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return failed(-1, path, err, err_len);
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (unlink_stale(path) == -1)
		return failed(-1, path, err, err_len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return failed(-1, path, err, err_len);
	mask = umask(0177);
	bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (bound == -1 || listen(fd, BACKLOG) == -1)
		return failed(fd, path, err, err_len);
	return fd;
}

int
api_listen_tcp(const struct sockaddr_in *address, uint16_t *port, char *err,
    size_t err_len)
{
	struct sockaddr_in bound = { .sin_port = 0 };
	socklen_t len = sizeof(bound);
	int fd, on = 1;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return failed(-1, "api", err, err_len);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1 ||
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) == -1 ||
	    listen(fd, BACKLOG) == -1 ||
	    getsockname(fd, (struct sockaddr *)&bound, &len) == -1)
		return failed(fd, "the API's address", err, err_len);
	*port = ntohs(bound.sin_port);
	return fd;
}
