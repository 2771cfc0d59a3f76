#include "ledger/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int (*io_fault)(enum io_op op);

static int
faulty(enum io_op op)
{
	int error = io_fault != NULL ? io_fault(op) : 0;

	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

int
io_open(int dirfd, const char *name, int flags, mode_t mode)
{
	struct stat st;
	int fd;

	if (faulty(IO_OPEN) != 0)
		return -1;
	fd = openat(dirfd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
	if (fd < 0 || (fstat(fd, &st) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

int
io_write(int fd, const void *bytes, size_t len, uint64_t at)
{
	const char *from = bytes;

	if (faulty(IO_WRITE) != 0)
		return -1;
	while (len > 0) {
		ssize_t n = pwrite(fd, from, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n == 0 ? EIO : errno;
			return -1;
		}
		from += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int
io_sync(int fd)
{
	return faulty(IO_SYNC) != 0 ? -1 : fdatasync(fd);
}

int
io_sync_all(int fd)
{
	return faulty(IO_SYNC) != 0 ? -1 : fsync(fd);
}

/* Blocks first, so that a full disk is known before anything is written; then
 * zeros, since blocks that were never written cost a journal entry each time
 * one is (35% of the append rate on ext4). */
int
io_allocate(int fd, uint64_t from, uint64_t len)
{
	static const char zeros[64 * 1024];

	if (faulty(IO_ALLOCATE) != 0)
		return -1;
	if (fallocate(fd, 0, (off_t)from, (off_t)len) != 0 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return -1;
	while (len > 0) {
		size_t n = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);

		if (io_write(fd, zeros, n, from) != 0)
			return -1;
		from += n;
		len -= n;
	}
	return 0;
}

int
io_set_aside(int fd, uint64_t from, uint64_t len)
{
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)len) == 0)
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -1;
}

int
io_truncate(int fd, uint64_t len)
{
	return faulty(IO_TRUNCATE) != 0 ? -1 : ftruncate(fd, (off_t)len);
}

int
io_rename(int dirfd, const char *from, const char *to)
{
	return faulty(IO_RENAME) != 0 ? -1 : renameat(dirfd, from, dirfd, to);
}

int
io_exchange(int dirfd, const char *from, const char *to)
{
	if (faulty(IO_RENAME) != 0)
		return -1;
	if (renameat2(dirfd, from, dirfd, to, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != ENOENT)
		return -1;
	return renameat(dirfd, from, dirfd, to);
}

int
io_write_new(int dirfd, const char *name, mode_t mode, const void *bytes, size_t len)
{
	int fd = io_open(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, mode);
	int status;

	if (fd < 0)
		return -1;
	status = io_write(fd, bytes, len, 0) == 0 ? io_sync_all(fd) : -1;
	close(fd);
	return status;
}

int
io_write_next(int dirfd, mode_t mode, const void *bytes, size_t len)
{
	if (io_write_new(dirfd, IO_NEXT, mode, bytes, len) == 0)
		return 0;
	/* A write that failed, or was killed, may have left one that is read only. */
	return errno == EACCES && unlinkat(dirfd, IO_NEXT, 0) == 0 ?
	    io_write_new(dirfd, IO_NEXT, mode, bytes, len) : -1;
}

int
io_replace(int dirfd, const char *name, mode_t mode, const void *bytes, size_t len)
{
	return io_write_next(dirfd, mode, bytes, len) == 0 &&
	    io_rename(dirfd, IO_NEXT, name) == 0 ? io_sync_all(dirfd) : -1;
}

ssize_t
io_read(int fd, void *out, size_t cap, uint64_t at)
{
	size_t done = 0;

	while (done < cap) {
		ssize_t n = pread(fd, (char *)out + done, cap - done,
		    (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t
io_read_file(int dirfd, const char *name, void *out, size_t cap)
{
	int fd = io_open(dirfd, name, O_RDONLY, 0);
	ssize_t len;
	char more;

	if (fd < 0)
		return -1;
	len = io_read(fd, out, cap, 0);
	if (len == (ssize_t)cap && io_read(fd, &more, 1, cap) != 0) {
		errno = EFBIG;
		len = -1;
	}
	close(fd);
	return len;
}
