#include "cli/run/run_reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 4096	/* of directories; PATH_MAX / 2 is less */

struct held {
	int fd;
	bool path_only;		/* O_PATH */
	bool inside;		/* no directory, and one of the hidden files */
	struct stat st;
	char *path;		/* NULL: none that could be opened */
};

struct run_reach {
	struct held *all;
	size_t n;
	struct stat home, cwd_st;
	char *cwd;		/* NULL: it has no path any more */
};

static bool
same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* --- before ---------------------------------------------------------- */

static bool
path_hidden(const struct run_reach_hidden *hidden, const char *path)
{
	size_t i;

	if (run_mounts_within(path, hidden->home) != NULL)
		return true;
	for (i = 0; i < hidden->covers->n; i++)
		if (run_mounts_within(path, hidden->covers->path[i]) != NULL)
			return true;
	return false;
}

/* Is the file anywhere below root, by whatever name? */
static bool
found_below(const char *root, const struct stat *st)
{
	char *roots[] = { (char *)root, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	bool found = walk == NULL;	/* not known: taken for one of them */

	while (!found && (entry = fts_read(walk)) != NULL)
		found = entry->fts_statp->st_ino == st->st_ino &&
		    entry->fts_statp->st_dev == st->st_dev;
	if (walk != NULL)
		fts_close(walk);
	return found;
}

/* A path outside proves nothing for a file of two names, nor for one that was
 * opened in other mounts than these. */
static bool
file_hidden(const struct run_reach_hidden *hidden,
    const struct run_mounts *mounts, const struct held *held)
{
	bool foreign = !run_mounts_has(mounts, held->fd);
	struct stat st;
	size_t i;

	if (held->path != NULL && held->path[0] == '/' && !foreign &&
	    path_hidden(hidden, held->path))
		return true;
	for (i = 0; i < hidden->covers->n; i++)
		if (stat(hidden->covers->path[i], &st) == 0 &&
		    same(&st, &held->st))
			return true;
	if (!foreign && held->st.st_nlink <= 1)
		return false;
	if (stat(hidden->home, &st) != 0 || st.st_dev != held->st.st_dev)
		return false;	/* pipes, sockets and the like too */
	if (held->st.st_nlink == 0)
		return true;
	return found_below(hidden->home, &held->st);
}

static char *
link_of(int fd)
{
	char name[64], path[PATH_MAX];
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, path, sizeof(path) - 1);
	if (len <= 0)
		return NULL;
	path[len] = '\0';
	return strdup(path);
}

static int
look_at(struct run_reach *reach, int fd, const struct run_reach_hidden *hidden,
    const struct run_mounts *mounts)
{
	int fd_flags = fcntl(fd, F_GETFD), flags = fcntl(fd, F_GETFL);
	struct held *all, *held;

	if (fd_flags == -1 || (fd_flags & FD_CLOEXEC) != 0)
		return 0;
	all = reallocarray(reach->all, reach->n + 1, sizeof(*all));
	if (all == NULL)
		return -1;
	reach->all = all;
	held = &all[reach->n];
	memset(held, 0, sizeof(*held));
	held->fd = fd;
	held->path_only = flags != -1 && (flags & O_PATH) != 0;
	if (fstat(fd, &held->st) != 0)
		return -1;
	held->path = link_of(fd);
	reach->n++;
	held->inside = !S_ISDIR(held->st.st_mode) &&
	    file_hidden(hidden, mounts, held);
	return 0;
}

struct run_reach *
run_reach_gather(const struct run_reach_hidden *hidden,
    const struct run_mounts *mounts)
{
	struct run_reach *reach = calloc(1, sizeof(*reach));
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int rc = -1, error;

	if (reach == NULL || dir == NULL || stat(hidden->home, &reach->home) != 0)
		goto out;
	reach->cwd = getcwd(NULL, 0);
	if (stat(".", &reach->cwd_st) != 0) {
		free(reach->cwd);
		reach->cwd = NULL;
	}
	rc = 0;
	while (rc == 0 && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			rc = look_at(reach, atoi(entry->d_name), hidden, mounts);
out:
	error = errno;
	if (dir != NULL)
		closedir(dir);
	if (rc != 0) {
		run_reach_free(reach);
		reach = NULL;
	}
	errno = error;
	return reach;
}

void
run_reach_free(struct run_reach *reach)
{
	size_t i;

	if (reach == NULL)
		return;
	for (i = 0; i < reach->n; i++)
		free(reach->all[i].path);
	free(reach->all);
	free(reach->cwd);
	free(reach);
}

/* --- after ----------------------------------------------------------- */

/* Does the way up from the directory lead through the home that is hidden? */
static bool
climbs_through(int dir, const struct stat *home)
{
	int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), up;
	struct stat st, above;
	bool through = false, top = at == -1;
	size_t i;

	for (i = 0; i < DEPTH_MAX && !through && !top; i++) {
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		through = fstat(at, &st) != 0 || same(&st, home);
		/* One that may not be searched shows no more of itself. */
		top = up == -1 || fstat(up, &above) != 0 || same(&st, &above);
		close(at);
		at = up;
	}
	if (at != -1)
		close(at);
	return through || i == DEPTH_MAX;
}

/* Entered by its path, it is what the new mounts show there.  One that the user
 * may not enter stays: the kernel moved it into the new mounts with the root. */
static const char *
renew_cwd(const struct run_reach *reach)
{
	struct stat st;
	int fd;

	if (reach->cwd == NULL)
		return "the working directory is no longer there";
	fd = open(reach->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 && errno != EACCES)
		return "the working directory lies in it (change to another)";
	if (fd != -1) {
		if (fstat(fd, &st) != 0 || !same(&st, &reach->cwd_st) ||
		    (fchdir(fd) != 0 && errno != EACCES)) {
			close(fd);
			return "the working directory lies in it (change to "
			    "another)";
		}
		close(fd);
	}
	return climbs_through(AT_FDCWD, &reach->home) ?
	    "the working directory lies in it (change to another)" : NULL;
}

static bool
renew_directory(const struct held *held, const struct stat *home)
{
	struct stat st;
	bool ok = false;
	int fd;

	if (held->path == NULL || held->path[0] != '/')
		return false;
	fd = open(held->path, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW |
	    (held->path_only ? O_PATH : O_RDONLY));
	if (fd == -1)
		return false;
	if (fstat(fd, &st) == 0 && same(&st, &held->st) &&
	    !climbs_through(fd, home))
		ok = dup2(fd, held->fd) == held->fd;
	close(fd);
	return ok;
}

const char *
run_reach_renew(const struct run_reach *reach, size_t *closed, int *first)
{
	static const char *const standard[] = { "standard input leads into it",
	    "standard output leads into it", "standard error leads into it" };
	const char *bad = renew_cwd(reach);
	const struct held *held;
	size_t i;

	*closed = 0;
	for (i = 0; bad == NULL && i < reach->n; i++) {
		held = &reach->all[i];
		if (S_ISDIR(held->st.st_mode) ?
		    renew_directory(held, &reach->home) : !held->inside)
			continue;
		if (held->fd <= 2)
			bad = standard[held->fd];
		else if (close(held->fd) == 0 && (*closed)++ == 0)
			*first = held->fd;
	}
	return bad;
}
