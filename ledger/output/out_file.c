#include "ledger/output/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
is_standard_output(const struct out_file *file)
{
	return file->stream == stdout;
}

static int
open_new(struct out_file *file)
{
	int fd, n = snprintf(file->temp, sizeof(file->temp), "%s.XXXXXX", file->path);

	if (n < 0 || (size_t)n >= sizeof(file->temp)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if ((fd = mkostemp(file->temp, O_CLOEXEC)) < 0)
		return -1;
	if (fchmod(fd, 0644) != 0 || (file->stream = fdopen(fd, "w")) == NULL) {
		close(fd);
		unlink(file->temp);
		return -1;
	}
	return 0;
}

/* A FIFO that nobody reads is not waited for: ENXIO. */
static int
open_there(struct out_file *file)
{
	int fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_NONBLOCK |
	    O_CLOEXEC, 0666);

	if (fd < 0)
		return -1;
	if (fcntl(fd, F_SETFL, O_WRONLY) == 0 &&	/* waits from now on */
	    (file->stream = fdopen(fd, "w")) != NULL)
		return 0;
	close(fd);
	return -1;
}

int
out_file_open(struct out_file *file, const char *path)
{
	struct stat st;

	*file = (struct out_file){ .path = path };
	if (strcmp(path, "-") == 0) {
		file->stream = stdout;
		return 0;
	}
	if (lstat(path, &st) == 0 ? S_ISREG(st.st_mode) : errno == ENOENT)
		return open_new(file);
	return open_there(file);
}

const char *
out_file_why(int error)
{
	return error == ENXIO ? "a FIFO that nobody reads" : strerror(error);
}

bool
out_file_same(const char *path, const char *other)
{
	struct stat a, b;

	if (path == NULL || other == NULL || strcmp(path, "-") == 0)
		return false;
	if (stat(path, &a) != 0 || stat(other, &b) != 0)
		return strcmp(path, other) == 0;
	return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The directory that a file lies in, or would: to be freed, or NULL. */
static char *
directory_of(const char *path)
{
	char *real = realpath(path, NULL), *copy, *slash;

	if (real != NULL && (slash = strrchr(real, '/')) != NULL)
		slash[slash == real] = '\0';
	if (real != NULL)
		return real;
	if ((copy = strdup(path)) == NULL)
		return NULL;
	real = realpath(dirname(copy), NULL);
	free(copy);
	return real;
}

bool
out_file_within(const char *path, const char *dir)
{
	char *home, *top;
	struct stat st;
	bool within = false;
	size_t n;

	if (path == NULL || dir == NULL || strcmp(path, "-") == 0 ||
	    stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
		return false;
	home = directory_of(path);
	top = realpath(dir, NULL);
	if (home != NULL && top != NULL) {
		n = strlen(top);
		within = strncmp(home, top, n) == 0 &&
		    (home[n] == '\0' || home[n] == '/' || n == 1);
	}
	free(home);
	free(top);
	return within;
}

/* Devices and pipes have nothing to sync. */
static int
flush_and_sync(FILE *stream)
{
	if (fflush(stream) != 0 || ferror(stream))
		return -1;
	return fsync(fileno(stream)) == 0 || errno == EINVAL || errno == EROFS ||
	    errno == ENOTSUP ? 0 : -1;
}

int
out_file_close(struct out_file *file, int good)
{
	int saved = errno != 0 ? errno : EIO, status = good ? flush_and_sync(file->stream) : -1;

	if (good && status != 0)
		saved = errno;
	if (is_standard_output(file))
		goto out;
	if (fclose(file->stream) != 0 && status == 0) {
		saved = errno;
		status = -1;
	}
	if (file->temp[0] != '\0' && status == 0 &&
	    rename(file->temp, file->path) != 0) {
		saved = errno;
		status = -1;
	}
	if (file->temp[0] != '\0' && status != 0)
		unlink(file->temp);
out:
	errno = saved;
	return status;
}
