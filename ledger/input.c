#include "ledger/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes, or an end behind bytes, or somebody who may still write.  A byte that is
 * taken to find out is given back by the caller. */
static int
has_writer(int fd, unsigned char *byte, ssize_t *n)
{
	*n = read(fd, byte, 1);
	if (*n > 0 || (*n < 0 && errno == EAGAIN))
		return 0;
	errno = *n == 0 ? ENXIO : errno;
	return -1;
}

static int
check(int fd, unsigned char *byte, ssize_t *n)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	if (S_ISFIFO(st.st_mode) && has_writer(fd, byte, n) != 0)
		return -1;
	if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISDIR(st.st_mode))
		return fcntl(fd, F_SETFL, O_RDONLY);	/* waits from now on */
	errno = ENODEV;
	return -1;
}

FILE *
input_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), error;
	unsigned char byte = 0;
	FILE *in = NULL;
	ssize_t n = 0;

	if (fd >= 0 && check(fd, &byte, &n) == 0)
		in = fdopen(fd, "r");
	if (in != NULL && n > 0)
		ungetc(byte, in);
	error = errno;
	if (in == NULL && fd >= 0)
		close(fd);
	errno = error;
	return in;
}

bool
input_is_file(const char *path)
{
	struct stat st;

	return path == NULL || stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

const char *
input_why(int error)
{
	return error == ENXIO ? "a FIFO that nobody writes to" : error == ENODEV ?
	    "a device or a socket, where a file is wanted" : strerror(error);
}
