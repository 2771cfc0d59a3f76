/*
 * Loaded into the daemon, its recorder, commands and clients by `make late T=PROGRAM`:
 * now and then a call takes longer, as on a machine that has too much to do, and a
 * write of records arrives in two pieces.  A test that fails under it relies on who is
 * first.  LATE=mean,one-in,most: microseconds, and of how many calls one is late.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static unsigned mean_us = 20000, one_in = 40, most_us = 400000;
static __thread uint64_t dice;
static __thread int64_t quiet_until;

static int64_t
now_us(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * INT64_C(1000000) + at.tv_nsec / 1000;
}

static uint64_t
roll(void)
{
	if (dice == 0)
		dice = ((uint64_t)now_us() << 20 ^ (uint64_t)getpid() ^ (uintptr_t)&dice) | 1;
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return dice >> 16;
}

static void
pause_us(int64_t us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

/* Each thread is late for a fifth of its time at most. */
static void
be_late(void)
{
	const int saved = errno;
	int64_t us = mean_us / 4;

	if (roll() % one_in == 0 && now_us() >= quiet_until) {
		while (us < most_us && roll() % 2 == 0)
			us *= 2;
		pause_us(us);
		quiet_until = now_us() + 4 * us;
	}
	errno = saved;
}

__attribute__((constructor)) static void
begin(void)
{
	const char *text = getenv("LATE");

	if (text != NULL && (sscanf(text, "%u,%u,%u", &mean_us, &one_in, &most_us) != 3 || one_in == 0))
		abort();
}

#define REAL(type, name, args) \
	static type (*real) args; \
	if (real == NULL) \
		*(void **)&real = dlsym(RTLD_NEXT, #name);
#define LATE(type, name, args, values) \
	type name args \
	{ \
		REAL(type, name, args) \
		be_late(); \
		return real values; \
	}

LATE(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
LATE(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
LATE(ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags))
LATE(ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags))
LATE(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
LATE(int, connect, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len))
LATE(int, accept, (int fd, struct sockaddr *from, socklen_t *len), (fd, from, len))
LATE(int, accept4, (int fd, struct sockaddr *from, socklen_t *len, int flags), (fd, from, len, flags))
LATE(int, shutdown, (int fd, int how), (fd, how))
LATE(int, close, (int fd), (fd))
LATE(int, poll, (struct pollfd *fds, nfds_t n, int ms), (fds, n, ms))
LATE(int, epoll_wait, (int fd, struct epoll_event *events, int n, int ms), (fd, events, n, ms))
LATE(int, fdatasync, (int fd), (fd))
LATE(int, fsync, (int fd), (fd))
LATE(int, rename, (const char *from, const char *to), (from, to))
LATE(int, unlink, (const char *path), (path))

/* Whoever reads meanwhile sees half of it. */
ssize_t
pwrite64(int fd, const void *from, size_t n, off_t at)
{
	const size_t half = n / 2;
	ssize_t first, second;
	REAL(ssize_t, pwrite64, (int, const void *, size_t, off_t))

	be_late();
	if (n < 64 || roll() % 4 != 0)
		return real(fd, from, n, at);
	if ((first = real(fd, from, half, at)) != (ssize_t)half)
		return first;
	pause_us(3000);
	second = real(fd, (const char *)from + half, n - half, at + (off_t)half);
	return second < 0 ? first : first + second;
}

ssize_t
pwrite(int fd, const void *from, size_t n, off_t at)
{
	return pwrite64(fd, from, n, at);
}

/* A daemon is started with an environment of its own. */
int
execve(const char *path, char *const argv[], char *const envp[])
{
	const char *names[] = { "LD_PRELOAD", "LATE" };
	char text[2][4096], *more[256];
	size_t n = 0;
	REAL(int, execve, (const char *, char *const[], char *const[]))

	while (envp[n] != NULL && n < 253 && strncmp(envp[n], "LD_PRELOAD=", 11) != 0) {
		more[n] = envp[n];
		n++;
	}
	if (envp[n] != NULL)
		return real(path, argv, envp);
	for (size_t i = 0; i < 2; i++) {
		const char *value = getenv(names[i]);

		snprintf(text[i], sizeof(text[i]), "%s=%s", names[i], value != NULL ? value : "");
		if (value != NULL)
			more[n++] = text[i];
	}
	more[n] = NULL;
	return real(path, argv, more);
}
