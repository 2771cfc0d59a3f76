#define OPENSSL_SUPPRESS_DEPRECATED
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/sha.h>
#include <sodium.h>

#include "ledger/evidence/evidence.h"
#include "ledger/io.h"

#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

const char *
evidence_special(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return NULL;
	switch (st.st_mode & S_IFMT) {
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return NULL;
	}
}

int
evidence_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The next component of *path in name; -1 and errno where it is none that may be. */
static int
component(const char **path, char name[NAME_MAX + 1])
{
	size_t n = strcspn(*path, "/");

	errno = n > NAME_MAX ? ENAMETOOLONG : EINVAL;
	if (n == 0 || n > NAME_MAX)
		return -1;
	memcpy(name, *path, n);
	name[n] = '\0';
	*path += n;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -1;
	if (**path == '/' && *++*path == '\0')
		return -1;
	return 0;
}

/* Every directory on the way is opened by itself, so that none is a link. */
int
evidence_open(int dirfd, const char *path, uint64_t *size)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int at = dirfd, fd = -1, next, saved;

	while (*path != '\0' || fd == -1) {
		if (component(&path, name) != 0)
			goto out;
		if (*path == '\0') {
			fd = openat(at, name, FILE_FLAGS);
			break;
		}
		if ((next = openat(at, name, DIR_FLAGS)) < 0)
			goto out;
		if (at != dirfd)
			close(at);
		at = next;
	}
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		errno = EINVAL;
	}
	if (fd >= 0 && size != NULL)
		*size = (uint64_t)st.st_size;
out:
	saved = errno;
	if (at != dirfd)
		close(at);
	errno = saved;
	return fd;
}

char *
evidence_read(int dirfd, const char *path, size_t max, size_t *len)
{
	uint64_t size;
	char *buf = NULL;
	ptrdiff_t n = -1;
	int fd, saved;

	if ((fd = evidence_open(dirfd, path, &size)) < 0)
		return NULL;
	if (size > max)
		errno = EFBIG;
	else if ((buf = malloc((size_t)size + 1)) != NULL)
		n = io_read(fd, buf, (size_t)size, 0);
	saved = errno;
	close(fd);
	errno = saved;
	if (n < 0) {
		free(buf);
		return NULL;
	}
	buf[n] = '\0';
	*len = (size_t)n;
	return buf;
}

int
evidence_digest(int dirfd, const char *path, char hex[65])
{
	static const size_t block = 256 * 1024;
	uint8_t *buf = malloc(block), digest[SHA256_DIGEST_LENGTH];
	uint64_t at = 0;
	SHA256_CTX sha;
	ptrdiff_t n = -1;
	int fd;

	if (buf == NULL)
		return -1;
	if ((fd = evidence_open(dirfd, path, NULL)) >= 0) {
		SHA256_Init(&sha);
		while ((n = io_read(fd, buf, block, at)) > 0) {
			SHA256_Update(&sha, buf, (size_t)n);
			at += (uint64_t)n;
		}
		SHA256_Final(digest, &sha);
		close(fd);
	}
	free(buf);
	if (n < 0)
		return -1;
	sodium_bin2hex(hex, 65, digest, sizeof(digest));
	return 0;
}

struct walk {
	int (*visit)(void *, const char *, uint64_t, int);
	void *context;
	char path[EVIDENCE_PATH_MAX];
	size_t held;	/* names in memory, of all directories on the way */
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
free_names(char **names, size_t count)
{
	while (count > 0)
		free(names[--count]);
	free(names);
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The names in a directory, sorted; EOVERFLOW: more than max.  Closes fd. */
static char **
list(int fd, size_t max, size_t *count)
{
	char **names = NULL, **more, *name;
	struct dirent *entry;
	DIR *dir;

	*count = 0;
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return NULL;
	}
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
		if (is_dots(entry->d_name))
			continue;
		if (*count == max) {
			errno = EOVERFLOW;
			break;
		}
		if ((*count & (*count + 1)) == 0) {
			more = realloc(names, (2 * *count + 2) * sizeof(*names));
			if (more == NULL)
				break;
			names = more;
		}
		if ((name = strdup(entry->d_name)) == NULL)
			break;
		names[(*count)++] = name;
	}
	if (errno == 0 && names == NULL)
		names = calloc(1, sizeof(*names));
	if (errno != 0 || names == NULL) {
		int saved = errno;

		free_names(names, *count);
		names = NULL;
		errno = saved != 0 ? saved : ENOMEM;
	} else if (*count > 0) {
		qsort(names, *count, sizeof(*names), by_name);
	}
	closedir(dir);
	return names;
}

static int walk_dir(struct walk *, int, size_t, unsigned);

static int
walk_entry(struct walk *w, int fd, const char *name, size_t at, unsigned depth)
{
	size_t n = strlen(name);
	struct stat st;
	int sub;

	if (at + n + 2 > sizeof(w->path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(w->path + at, name, n + 1);
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -1;	/* gone since it was listed */
	if (!S_ISDIR(st.st_mode))
		return w->visit(w->context, w->path,
		    st.st_size > 0 ? (uint64_t)st.st_size : 0, S_ISREG(st.st_mode));
	if (depth + 1 >= EVIDENCE_DEPTH_MAX) {
		errno = ELOOP;
		return -1;
	}
	if ((sub = openat(fd, name, DIR_FLAGS)) < 0)
		return -1;
	w->path[at + n] = '/';
	return walk_dir(w, sub, at + n + 1, depth + 1);
}

/* As they lie there, none kept.  Closes fd. */
static int
walk_many(struct walk *w, int fd, size_t at, unsigned depth)
{
	struct dirent *entry;
	DIR *dir = fdopendir(fd);
	int result = 0;

	if (dir == NULL) {
		close(fd);
		return -1;
	}
	rewinddir(dir);		/* list was here, by the same open file */
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
		if (!is_dots(entry->d_name) &&
		    (result = walk_entry(w, fd, entry->d_name, at, depth)) != 0)
			break;
	}
	if (entry == NULL && errno != 0)
		result = -1;
	closedir(dir);
	return result;
}

/* Closes fd. */
static int
walk_dir(struct walk *w, int fd, size_t at, unsigned depth)
{
	size_t count, i;
	char **names;
	int again, result = 0;

	/* listing takes one descriptor, opening below needs another */
	if ((again = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0) {
		close(fd);
		return -1;
	}
	names = list(again, EVIDENCE_FILES_MAX - w->held, &count);
	if (names == NULL && errno == EOVERFLOW)
		return walk_many(w, fd, at, depth);
	if (names == NULL) {
		result = -1;
		count = 0;
	}
	w->held += count;
	for (i = 0; result == 0 && i < count; i++)
		result = walk_entry(w, fd, names[i], at, depth);
	free_names(names, count);
	w->held -= count;
	close(fd);
	return result;
}

int
evidence_walk(int dirfd, int (*visit)(void *context, const char *path,
    uint64_t size, int regular), void *context)
{
	struct walk w = { visit, context, "", 0 };
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : walk_dir(&w, fd, 0, 0);
}
