#include "private_file.h"

#include "ledger/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* close without losing the errno that brought us here. */
static void
close_quietly(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

static int
check_owner(const struct stat *st, mode_t forbidden, size_t max)
{
	if (!S_ISREG(st->st_mode))
		errno = EINVAL;
	else if ((st->st_uid != geteuid() && st->st_uid != 0) ||
	    (st->st_mode & forbidden) != 0)
		errno = EPERM;
	else if (st->st_size < 0 || (uintmax_t)st->st_size > max)
		errno = EFBIG;
	else
		return 0;
	return -1;
}

/* A file that grew or shrank meanwhile is somebody's mistake. */
static int
read_all(int fd, uint8_t *bytes, size_t len)
{
	ssize_t n = io_read(fd, bytes, len + 1, 0);

	if (n >= 0 && (size_t)n != len) {
		errno = EAGAIN;
		return -1;
	}
	if (n < 0)
		return -1;
	bytes[len] = '\0';
	return 0;
}

uint8_t *
private_file_read(const char *path, mode_t forbidden, size_t max, size_t *len)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	uint8_t *bytes = NULL;
	struct stat st;
	int fd;

	if (forbidden == PRIVATE_SECRET)
		flags |= O_NOFOLLOW;
	if ((fd = open(path, flags)) < 0)
		return NULL;
	if (fstat(fd, &st) != 0 || check_owner(&st, forbidden, max) != 0)
		goto out;
	if ((bytes = malloc((size_t)st.st_size + 1)) == NULL)
		goto out;
	if (read_all(fd, bytes, (size_t)st.st_size) != 0) {
		free(bytes);
		bytes = NULL;
		goto out;
	}
	*len = (size_t)st.st_size;
out:
	close_quietly(fd);
	return bytes;
}

const char *
private_file_why(int error)
{
	switch (error) {
	case EPERM:
		return "belongs to another user, or its mode lets others at it: "
		    "chown it, chmod 600 it";
	case ENOENT:
		return "is not there";
	case EEXIST:
		return "is there already";
	case EFBIG:
		return "is far larger than such a file can be, or than `ulimit "
		    "-f` lets it be";
	case ELOOP:
		return "is a symbolic link: name the file itself";
	case EINVAL:
		return "is no regular file: move it away and put the file there";
	case EAGAIN:
		return "changed while it was read: try again";
	case EACCES:
		return "cannot be reached by this user: chown it";
	case ENOTDIR:
		return "is not there: a file is where its directory should be";
	case EMFILE:
		return "cannot be opened, too many files are: raise `ulimit -n`";
	case ENOSPC:
		return "cannot be written, the disk is full: free some space";
	case EROFS:
		return "cannot be written: its file system is read-only";
	default:
		return strerror(error);
	}
}

static int
write_all(int fd, const uint8_t *bytes, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(fd, bytes, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = EIO;
			return -1;
		}
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static int
sync_directory(const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	int fd, result;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash == NULL)
		snprintf(dir, sizeof(dir), ".");
	else
		slash[slash == dir ? 1 : 0] = '\0';
	if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return -1;
	result = fsync(fd);
	close_quietly(fd);
	return result;
}

/* Write the bytes to a fresh file of that name and make them durable. */
static int
write_new(const char *name, const void *bytes, size_t len, mode_t mode)
{
	int fd, saved;

	/* Nothing but a leftover of a killed writer can be there. */
	if (unlink(name) != 0 && errno != ENOENT)
		return -1;
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    mode);
	if (fd < 0)
		return -1;
	if (fchmod(fd, mode) != 0 || write_all(fd, bytes, len) != 0 ||
	    fsync(fd) != 0)
		goto fail;
	if (close(fd) == 0)
		return 0;
	fd = -1;
fail:
	saved = errno;
	if (fd >= 0)
		close(fd);
	unlink(name);
	errno = saved;
	return -1;
}

static int
put(const char *path, const void *bytes, size_t len, mode_t mode, bool exclusive)
{
	char name[PATH_MAX];
	int n, saved;

	n = snprintf(name, sizeof(name), "%s.new", path);
	if (n < 0 || (size_t)n >= sizeof(name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (write_new(name, bytes, len, mode) != 0)
		return -1;
	if (exclusive ? link(name, path) != 0 : rename(name, path) != 0) {
		saved = errno;
		unlink(name);
		errno = saved;
		return -1;
	}
	if (exclusive)
		unlink(name);
	return sync_directory(path);
}

int
private_file_replace(const char *path, const void *bytes, size_t len)
{
	return put(path, bytes, len, 0600, false);
}

int
private_file_replace_mode(const char *path, const void *bytes, size_t len,
    mode_t mode)
{
	return put(path, bytes, len, mode, false);
}

int
private_file_create(const char *path, const void *bytes, size_t len)
{
	return put(path, bytes, len, 0600, true);
}

int
private_file_lock(const char *path, int exclusive)
{
	char name[PATH_MAX];
	int fd, n;

	n = snprintf(name, sizeof(name), "%s.lock", path);
	if (n < 0 || (size_t)n >= sizeof(name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	while (flock(fd, exclusive ? LOCK_EX : LOCK_SH) != 0)
		if (errno != EINTR) {
			close_quietly(fd);
			return -1;
		}
	return fd;
}
