#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/bundle/tempdir.h"
#include "ledger/evidence/evidence.h"

static int
sweep(int fd, bool erase, unsigned depth)
{
	struct dirent *entry;
	/* no duplicate, which would go on where a reading before had ended */
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), sub, bad;
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;

	bad = dir == NULL || depth > EVIDENCE_DEPTH_MAX;
	while (!bad && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		sub = openat(fd, entry->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0) {
			bad = sweep(sub, erase, depth + 1) != 0;
			close(sub);
		}
		if (erase && !bad)
			bad = unlinkat(fd, entry->d_name, sub >= 0 ? AT_REMOVEDIR : 0) != 0;
	}
	if (dir != NULL)
		closedir(dir);
	else if (again >= 0)
		close(again);
	return bad || (!erase && fsync(fd) != 0) ? -1 : 0;
}

int
tempdir_erase_below(int fd)
{
	return sweep(fd, true, 0);
}

int
tempdir_sync_below(int fd)
{
	return sweep(fd, false, 0);
}

static int
make_dir(struct tempdir *s, char *err, size_t err_len)
{
	const char *const places[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	size_t i;
	int n;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i] == NULL || places[i][0] != '/')
			continue;
		n = snprintf(s->path, sizeof(s->path), "%s/countersign.XXXXXX", places[i]);
		if (n > 0 && (size_t)n < sizeof(s->path) && mkdtemp(s->path) != NULL)
			break;
		s->path[0] = '\0';
	}
	if (s->path[0] == '\0' || (s->dirfd = evidence_dir(s->path)) < 0) {
		snprintf(err, err_len, "no directory to unpack to ($TMPDIR): %s",
		    strerror(errno));
		return -1;
	}
	return 0;
}

/* The other process: nothing of the owner's but the directory stays open, so
 * that nobody who waits for the owner's output waits for this. */
static _Noreturn void
await_end(const struct tempdir *s, int fd)
{
	sigset_t all;
	char byte;
	int i;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	(void)setsid();
	for (i = 0; i < 3; i++)
		close(i);
	while (read(fd, &byte, 1) == -1 && errno == EINTR)
		;
	if (tempdir_erase_below(s->dirfd) == 0)
		(void)rmdir(s->path);
	_exit(0);
}

int
tempdir_make(struct tempdir *s, char *err, size_t err_len)
{
	int pipe_fd[2] = { -1, -1 };

	*s = (struct tempdir){ .dirfd = -1, .keep = -1, .sweeper = -1 };
	if (make_dir(s, err, err_len) != 0)
		return -1;
	if (pipe2(pipe_fd, O_CLOEXEC) == 0 && (s->sweeper = fork()) == 0) {
		close(pipe_fd[1]);
		await_end(s, pipe_fd[0]);
	}
	if (pipe_fd[0] >= 0)
		close(pipe_fd[0]);
	s->keep = pipe_fd[1];
	if (s->sweeper < 0) {
		snprintf(err, err_len, "a process to clean up after us: %s", strerror(errno));
		tempdir_remove(s);
		return -1;
	}
	return 0;
}

void
tempdir_remove(struct tempdir *s)
{
	if (s->path[0] == '\0')
		return;
	if (s->keep >= 0)
		close(s->keep);
	if (s->sweeper > 0)
		while (waitpid(s->sweeper, NULL, 0) == -1 && errno == EINTR)
			;
	else if (s->dirfd >= 0 && tempdir_erase_below(s->dirfd) == 0)
		(void)rmdir(s->path);
	if (s->dirfd >= 0)
		close(s->dirfd);
	s->path[0] = '\0';
	s->dirfd = s->keep = -1;
	s->sweeper = -1;
}
