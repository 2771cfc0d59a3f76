#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/scan/tree.h"

struct walk {
	const struct scan_tree_calls *calls;
	char path[PATH_MAX];
	size_t len;
};

static void directory(struct walk *walk, int dirfd, unsigned depth);

static void
failed(struct walk *walk, int error)
{
	walk->calls->failed(walk->calls->context, walk->path, strerror(error));
}

static void
entry(struct walk *walk, int dirfd, const char *name, unsigned depth)
{
	const struct scan_tree_calls *calls = walk->calls;
	struct stat st;
	int fd;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		failed(walk, errno);
	} else if (S_ISLNK(st.st_mode)) {
		calls->link(calls->context, walk->path);
	} else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
		    (S_ISDIR(st.st_mode) ? O_DIRECTORY : 0));
		if (fd < 0)
			failed(walk, errno);
		else if (S_ISDIR(st.st_mode))
			directory(walk, fd, depth + 1);
		else
			calls->file(calls->context, walk->path, fd);
		if (fd >= 0 && !S_ISDIR(st.st_mode))
			close(fd);
	} else {
		calls->special(calls->context, walk->path);
	}
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The directory's names in order, to be freed. */
static char **
names_of(DIR *dir, size_t *n, int *error)
{
	char **names = NULL, **more;
	size_t cap = 0;
	struct dirent *e;

	for (errno = 0; (e = readdir(dir)) != NULL; errno = 0) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (*n == cap) {
			cap = cap == 0 ? 64 : 2 * cap;
			more = reallocarray(names, cap, sizeof(*more));
			if (more == NULL)
				break;
			names = more;
		}
		if ((names[*n] = strdup(e->d_name)) == NULL)
			break;
		++*n;
	}
	*error = errno;
	if (names != NULL && *n > 1)
		qsort(names, *n, sizeof(*names), by_name);
	return names;
}

/* Takes dirfd. */
static void
directory(struct walk *walk, int dirfd, unsigned depth)
{
	size_t n = 0, i, was = walk->len;
	char **names;
	int error, added;
	DIR *dir;

	if (depth > SCAN_TREE_DEPTH_MAX || (dir = fdopendir(dirfd)) == NULL) {
		failed(walk, depth > SCAN_TREE_DEPTH_MAX ? ELOOP : errno);
		close(dirfd);
		return;
	}
	names = names_of(dir, &n, &error);
	if (error != 0)
		failed(walk, error);
	else if (n == 0 && was > 0)
		walk->calls->empty(walk->calls->context, walk->path);
	for (i = 0; names != NULL && i < n; i++) {
		added = snprintf(walk->path + was, sizeof(walk->path) - was, "%s%s",
		    was > 0 ? "/" : "", names[i]);
		if (added > 0 && (size_t)added < sizeof(walk->path) - was) {
			walk->len = was + (size_t)added;
			entry(walk, dirfd, names[i], depth);
		} else {
			failed(walk, ENAMETOOLONG);
		}
		walk->path[walk->len = was] = '\0';
		free(names[i]);
	}
	free(names);
	closedir(dir);
}

void
scan_tree_walk(int dirfd, const struct scan_tree_calls *calls)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (walk == NULL) {
		calls->failed(calls->context, "", strerror(ENOMEM));
		close(dirfd);
		return;
	}
	walk->calls = calls;
	directory(walk, dirfd, 0);
	free(walk);
}
