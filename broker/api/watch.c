#include "api/watch.h"

#include "gate/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_MS 1000	/* between two looks at what has no pidfd */
#define EVENTS 16
#define WAKE 0		/* no watched process has this number */

struct watched {
	struct watched *next;
	struct run *run;	/* referenced */
	uint64_t number;	/* what epoll calls it: an entry may be gone by then */
	int64_t pid;
	uint64_t start_time;
	int fd;			/* -1: looked at */
};

struct api_watch {
	void (*ended)(void *arg, struct run *run);
	bool (*due)(void *arg);
	void *arg;
	pthread_t thread;
	int epoll, wake;
	pthread_mutex_t lock;	/* for what follows; not held while ended() runs */
	struct watched *first;
	uint64_t next_number;
	size_t n_looked_at;
	bool stop, later;
};

static void
watched_free(struct watched *watched)
{
	if (watched->fd != -1)
		close(watched->fd);	/* which takes it out of the epoll set */
	run_unref(watched->run);
	free(watched);
}

static bool
alive(const struct watched *watched)
{
	struct process process;

	return process_look(watched->pid, &process) && !process.ended &&
	    process.start_time == watched->start_time;
}

/* A number may have passed to another process before the pidfd was opened, so
 * the start time is compared afterwards. */
static void
begin(struct api_watch *watch, struct watched *watched)
{
	struct epoll_event event = { .events = EPOLLIN,
	    .data.u64 = watched->number };

	watched->fd = (int)syscall(SYS_pidfd_open, (pid_t)watched->pid, 0);
	if (watched->fd != -1 && alive(watched) && epoll_ctl(watch->epoll,
	    EPOLL_CTL_ADD, watched->fd, &event) == 0)
		return;
	if (watched->fd != -1)
		close(watched->fd);
	watched->fd = -1;
}

static void
wake(struct api_watch *watch)
{
	uint64_t one = 1;

	(void)!write(watch->wake, &one, sizeof(one));
}

int
api_watch_add(struct api_watch *watch, struct run *run, int64_t pid,
    uint64_t start_time)
{
	struct watched *watched = calloc(1, sizeof(*watched));

	if (watched == NULL)
		return -1;
	*watched = (struct watched){ .run = run_ref(run), .pid = pid,
	    .start_time = start_time, .fd = -1 };
	pthread_mutex_lock(&watch->lock);
	watched->number = ++watch->next_number;
	begin(watch, watched);
	watched->next = watch->first;
	watch->first = watched;
	if (watched->fd == -1) {
		watch->n_looked_at++;
		wake(watch);
	}
	pthread_mutex_unlock(&watch->lock);
	return 0;
}

/* --- taking out ------------------------------------------------------- */

static bool
is_number(const struct watched *watched, uint64_t number)
{
	return watched->number == number;
}

/* Not to be able to look, for want of descriptors or memory, proves nothing. */
static bool
is_gone(const struct watched *watched, uint64_t number)
{
	if (watched->fd != -1)
		return false;
	errno = 0;
	return !alive(watched) && errno != EMFILE && errno != ENFILE &&
	    errno != ENOMEM;
}

static bool
is_closed(const struct watched *watched, uint64_t number)
{
	return !run_open_p(watched->run);
}

/* Those of whom which() is true, as a list that is the caller's. */
static struct watched *
take(struct api_watch *watch,
    bool (*which)(const struct watched *watched, uint64_t number),
    uint64_t number)
{
	struct watched **at, *watched, *taken = NULL;

	pthread_mutex_lock(&watch->lock);
	at = &watch->first;
	while ((watched = *at) != NULL) {
		if (!which(watched, number)) {
			at = &watched->next;
			continue;
		}
		*at = watched->next;
		watched->next = taken;
		taken = watched;
		if (watched->fd == -1)
			watch->n_looked_at--;
	}
	pthread_mutex_unlock(&watch->lock);
	return taken;
}

static void
tell(struct api_watch *watch, struct watched *taken)
{
	struct watched *next;

	for (; taken != NULL; taken = next) {
		next = taken->next;
		if (run_open_p(taken->run))
			watch->ended(watch->arg, taken->run);
		watched_free(taken);
	}
}

void
api_watch_sweep(struct api_watch *watch)
{
	struct watched *taken = take(watch, is_closed, 0), *next;

	for (; taken != NULL; taken = next) {
		next = taken->next;
		watched_free(taken);
	}
}

/* --- the thread ------------------------------------------------------- */

/* False when it is time to stop. */
static bool
look(struct api_watch *watch, int *wait_ms)
{
	bool stop;

	pthread_mutex_lock(&watch->lock);
	*wait_ms = watch->n_looked_at > 0 || watch->later ? LOOK_MS : -1;
	stop = watch->stop;
	pthread_mutex_unlock(&watch->lock);
	return !stop;
}

void
api_watch_later(struct api_watch *watch)
{
	bool first;

	pthread_mutex_lock(&watch->lock);
	first = !watch->later;
	watch->later = true;
	pthread_mutex_unlock(&watch->lock);
	if (first)
		wake(watch);
}

static void
call_due(struct api_watch *watch)
{
	bool call;

	pthread_mutex_lock(&watch->lock);
	call = watch->later;
	watch->later = false;
	pthread_mutex_unlock(&watch->lock);
	if (!call || !watch->due(watch->arg))
		return;
	pthread_mutex_lock(&watch->lock);
	watch->later = true;
	pthread_mutex_unlock(&watch->lock);
}

static void *
thread_main(void *arg)
{
	struct api_watch *watch = arg;
	struct epoll_event events[EVENTS];
	uint64_t drained;
	int n, wait_ms;

	while (look(watch, &wait_ms)) {
		n = epoll_wait(watch->epoll, events, EVENTS, wait_ms);
		for (int i = 0; i < n; i++) {
			if (events[i].data.u64 == WAKE)
				(void)!read(watch->wake, &drained, sizeof(drained));
			else
				tell(watch, take(watch, is_number,
				    events[i].data.u64));
		}
		tell(watch, take(watch, is_gone, 0));
		call_due(watch);
	}
	return NULL;
}

static int
start(struct api_watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = WAKE };
	int error;

	watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->epoll == -1 || watch->wake == -1 || epoll_ctl(watch->epoll,
	    EPOLL_CTL_ADD, watch->wake, &event) != 0)
		return -1;
	error = pthread_create(&watch->thread, NULL, thread_main, watch);
	errno = error;
	return error == 0 ? 0 : -1;
}

static void
release(struct api_watch *watch)
{
	struct watched *watched;

	while ((watched = watch->first) != NULL) {
		watch->first = watched->next;
		watched_free(watched);
	}
	if (watch->epoll != -1)
		close(watch->epoll);
	if (watch->wake != -1)
		close(watch->wake);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

struct api_watch *
api_watch_new(void (*ended)(void *arg, struct run *run),
    bool (*due)(void *arg), void *arg)
{
	struct api_watch *watch = calloc(1, sizeof(*watch));
	int error;

	if (watch == NULL)
		return NULL;
	*watch = (struct api_watch){ .ended = ended, .due = due, .arg = arg,
	    .epoll = -1,
	    .wake = -1 };
	error = pthread_mutex_init(&watch->lock, NULL);
	if (error != 0) {
		free(watch);
		errno = error;
		return NULL;
	}
	if (start(watch) == 0)
		return watch;
	error = errno;
	release(watch);
	errno = error;
	return NULL;
}

void
api_watch_free(struct api_watch *watch)
{
	if (watch == NULL)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->stop = true;
	pthread_mutex_unlock(&watch->lock);
	wake(watch);
	pthread_join(watch->thread, NULL);
	release(watch);
}
