#include "plane/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ACCEPTS_MAX 32		/* of one turn */
#define LINGER_MS 5000
#define QUIET_MS 500
#define PAUSE_MS 50
#define WALL_MS 500
#define HELD_MS 500
#define POOL_MS 60000		/* servers close idle connections after about as long */
#define OUTCOME_MS 5		/* until outcomes alone wake the recorder */
#define POSTPONE_US 200		/* that a decision may wait to be handed over with others */
#define RETRY_MS 2		/* the ledger's ring was full */

/* --- inbox ------------------------------------------------------------ */

void
worker_wake(struct worker *worker)
{
	uint64_t one = 1;
	ssize_t n = write(worker->inbox.fd, &one, sizeof(one));

	(void)n;	/* full: it is awake anyway */
}

void
worker_post(struct worker *worker, struct message *message)
{
	bool first;

	message->next = NULL;
	pthread_mutex_lock(&worker->inbox_lock);
	first = worker->inbox_first == NULL;
	if (first)
		worker->inbox_first = message;
	else
		worker->inbox_last->next = message;
	worker->inbox_last = message;
	pthread_mutex_unlock(&worker->inbox_lock);
	if (first)
		worker_wake(worker);
}

static void
read_inbox(struct worker *worker)
{
	struct message *message, *next;

	pthread_mutex_lock(&worker->inbox_lock);
	message = worker->inbox_first;
	worker->inbox_first = NULL;
	pthread_mutex_unlock(&worker->inbox_lock);
	for (; message != NULL; message = next) {
		next = message->next;
		message->run(worker, message);
	}
}

static void
on_inbox(struct source *source, uint32_t events)
{
	struct worker *worker = (struct worker *)((char *)source -
	    offsetof(struct worker, inbox));
	uint64_t count;
	ssize_t n = read(source->fd, &count, sizeof(count));

	(void)n;
	read_inbox(worker);
}

static void
on_receipts(struct source *source, uint32_t events)
{
	struct worker *worker = (struct worker *)((char *)source -
	    offsetof(struct worker, receipts));

	record_take(worker);
	if (!ledger_healthy(worker->plane->ledger)) {
		/* Readable for ever: nothing more is to be learned from it. */
		epoll_ctl(worker->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	}
}

/* --- accepting -------------------------------------------------------- */

struct handover {
	struct message message;
	int fd;
	bool full;
};

static void
take_over(struct worker *worker, struct message *message)
{
	struct handover *handover = (struct handover *)message;

	if (atomic_load(&worker->stop_now)) {
		close(handover->fd);
		atomic_fetch_sub(&worker->plane->open, 1);
		atomic_fetch_sub(&worker->load, 1);
	} else {
		conn_accept(worker, handover->fd, handover->full);
	}
	free(handover);
}

static struct worker *
least_loaded(struct worker *self)
{
	struct plane *plane = self->plane;
	struct worker *best = self;

	for (unsigned i = 0; i < plane->n_workers; i++) {
		struct worker *worker = &plane->workers[i];

		if (atomic_load_explicit(&worker->load, memory_order_relaxed) <
		    atomic_load_explicit(&best->load, memory_order_relaxed))
			best = worker;
	}
	return best;
}

static void
place(struct worker *self, int fd)
{
	struct plane *plane = self->plane;
	bool full = atomic_fetch_add(&plane->open, 1) >=
	    plane->max_connections + CROWD_ROOM;
	struct worker *worker = least_loaded(self);
	struct handover *handover;

	atomic_fetch_add_explicit(&worker->load, 1, memory_order_relaxed);
	if (worker == self) {
		conn_accept(self, fd, full);
		return;
	}
	handover = malloc(sizeof(*handover));
	if (handover == NULL) {
		crowd_unread(self, COUNT_UNREAD_MEMORY);
		atomic_fetch_sub(&worker->load, 1);
		atomic_fetch_sub(&plane->open, 1);
		close(fd);
		return;
	}
	*handover = (struct handover){ .message.run = take_over, .fd = fd,
	    .full = full };
	worker_post(worker, &handover->message);
}

static void
listen_again(struct worker *worker)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE,
	    .data.ptr = &worker->listener };

	if (worker->listener.fd >= 0)
		epoll_ctl(worker->epoll, EPOLL_CTL_ADD, worker->listener.fd, &event);
}

static void
on_pause_over(struct timer *timer)
{
	listen_again((struct worker *)((char *)timer -
	    offsetof(struct worker, pause)));
}

/*
 * No descriptor is left, and a connection that stays in the queue would wake us
 * for ever: one descriptor is kept back to take it, in an idle one's place, or to
 * close it.  First taken, since accept(2) says that there is none without looking
 * whether anybody waits.  Where another thread was faster to use that one, nothing
 * is accepted for a moment.
 */
static bool
take_or_shed(struct worker *worker)
{
	int fd;

	if (worker->spare_fd >= 0)
		close(worker->spare_fd);
	fd = worker->spare_fd < 0 ? -1 : accept4(worker->listener.fd, NULL, NULL,
	    SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0 && conn_make_room(worker)) {
		place(worker, fd);
	} else if (fd >= 0) {
		close(fd);
		crowd_unread(worker, COUNT_UNREAD_FILES);
	}
	worker->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (worker->spare_fd >= 0)
		return fd >= 0;
	epoll_ctl(worker->epoll, EPOLL_CTL_DEL, worker->listener.fd, NULL);
	worker_limit(worker, &worker->pause, TIME_PAUSE);
	return false;
}

static void
on_listener(struct source *source, uint32_t events)
{
	struct worker *worker = (struct worker *)((char *)source -
	    offsetof(struct worker, listener));

	for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(source->fd, NULL, NULL,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);

		bool full = fd < 0 && (errno == EMFILE || errno == ENFILE);

		if (fd >= 0)
			place(worker, fd);
		else if (full ? !take_or_shed(worker) :
		    errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void
on_wall(struct timer *timer)
{
	struct worker *worker = (struct worker *)((char *)timer -
	    offsetof(struct worker, wall));

	if (cut_overdue(worker))
		worker_limit(worker, timer, TIME_WALL);
}

static void
on_outcomes_due(struct timer *timer)
{
	record_hand_over((struct worker *)((char *)timer -
	    offsetof(struct worker, outcomes)), true);
}

/* Another worker may have told them already. */
static void
on_flood_counted(struct timer *timer)
{
	record_counted((struct worker *)((char *)timer -
	    offsetof(struct worker, flood)), false);
}

/* --- the loop --------------------------------------------------------- */

static void
run_again(struct worker *worker)
{
	struct conn *conn = worker->again, *next;

	worker->again = NULL;
	for (; conn != NULL; conn = next) {
		next = conn->again;
		conn->queued = false;
		if (conn->state == CONN_DEAD) {
			conn->again = worker->dead;
			worker->dead = conn;
		} else {
			conn_run(conn);
		}
	}
}

static int
how_long(const struct worker *worker)
{
	int wait;

	if (worker->again != NULL || worker->postponed)
		return 0;
	wait = timer_wait(worker->limits, TIME_LIMITS, worker_now_ms(worker));
	if (worker->backlog != NULL && (wait < 0 || wait > RETRY_MS))
		wait = RETRY_MS;
	return wait;
}

static void
dispatch(struct worker *worker, int n)
{
	for (int i = 0; i < n; i++) {
		struct source *source = worker->events[i].data.ptr;

		source->ready(source, worker->events[i].events);
	}
}

static void
stop_accepting(struct worker *worker)
{
	if (worker->listener.fd >= 0)
		epoll_ctl(worker->epoll, EPOLL_CTL_DEL, worker->listener.fd, NULL);
	worker->listener.fd = -1;
	held_stop(worker);
	conn_close_idle(worker);
	upstream_close_idle(worker);
}

/*
 * While there is more to do, its records go with those that are there: one
 * waking of the recorder, which mostly takes this processor from us, and one
 * commit instead of several.  So we look once more before waking it, but for a
 * connection that is alone: that never waits for company.
 */
static bool
may_postpone(struct worker *worker, int n)
{
	if (!worker->awaited || n <= 0 || worker->conns == NULL ||
	    worker->conns->next == NULL)
		return false;
	if (!worker->postponed)
		worker->postponed_us = worker->now_us;
	return worker->now_us - worker->postponed_us < POSTPONE_US;
}

static void
turn(struct worker *worker)
{
	int n;

	n = epoll_wait(worker->epoll, worker->events, EVENTS_MAX, how_long(worker));
	worker->now_us = timer_now_us();
	dispatch(worker, n);
	timer_fire(worker->limits, TIME_LIMITS, worker_now_ms(worker));
	if (atomic_exchange(&worker->cut_all, false))
		cut_matching(worker, &(struct gate_cut){ 0 });
	if (atomic_load(&worker->plane->stopping))
		stop_accepting(worker);
	run_again(worker);
	worker->postponed = may_postpone(worker, n);
	record_hand_over(worker, false);
	conn_free_dead(worker);
	upstream_free_dead(worker);
}

static void *
work(void *arg)
{
	struct worker *worker = arg;

	while (!atomic_load(&worker->stop_now) &&
	    !(atomic_load(&worker->plane->stopping) && worker->conns == NULL &&
	    worker->waiting == NULL && worker->n_asked == 0))
		turn(worker);
	while (worker->conns != NULL)
		conn_reset(worker->conns);
	run_again(worker);
	record_counted(worker, true);
	record_hand_over(worker, true);
	return NULL;
}

/* --- life ------------------------------------------------------------- */

static int
watch(struct worker *worker, struct source *source, int fd, uint32_t events,
    void (*ready)(struct source *source, uint32_t events))
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	*source = (struct source){ .fd = fd, .armed = events, .ready = ready };
	return fd < 0 ? -1 : epoll_ctl(worker->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void
init_limits(struct worker *worker, const struct conf *conf)
{
	unsigned attempt = conf->connect_ms / 4;

	timer_queue_init(&worker->limits[TIME_HEAD], conf->head_ms);
	timer_queue_init(&worker->limits[TIME_CLIENT], conf->client_idle_ms);
	timer_queue_init(&worker->limits[TIME_QUIET], QUIET_MS);
	timer_queue_init(&worker->limits[TIME_ATTEMPT], attempt > 0 ? attempt : 1);
	timer_queue_init(&worker->limits[TIME_CONNECT], conf->connect_ms);
	timer_queue_init(&worker->limits[TIME_UPSTREAM], conf->upstream_idle_ms);
	timer_queue_init(&worker->limits[TIME_ANSWER], conf->upstream_head_ms <
	    conf->upstream_idle_ms ? conf->upstream_head_ms : conf->upstream_idle_ms);
	timer_queue_init(&worker->limits[TIME_POOL],
	    conf->upstream_idle_ms < POOL_MS ? conf->upstream_idle_ms : POOL_MS);
	timer_queue_init(&worker->limits[TIME_LINGER], LINGER_MS);
	timer_queue_init(&worker->limits[TIME_HELD],
	    conf->approval_ms < HELD_MS ? conf->approval_ms : HELD_MS);
	timer_queue_init(&worker->limits[TIME_PAUSE], PAUSE_MS);
	worker->pause.fire = on_pause_over;
	timer_queue_init(&worker->limits[TIME_WALL], WALL_MS);
	worker->wall.fire = on_wall;
	timer_queue_init(&worker->limits[TIME_FLOOD], COUNTS_MS);
	worker->flood.fire = on_flood_counted;
	timer_queue_init(&worker->limits[TIME_OUTCOME], OUTCOME_MS);
	worker->outcomes.fire = on_outcomes_due;
}

int
worker_init(struct worker *worker, struct plane *plane, unsigned index,
    unsigned port)
{
	memset(worker, 0, sizeof(*worker));
	worker->plane = plane;
	worker->index = index;
	worker->inbox.fd = worker->spare_fd = -1;
	worker->pool.max_idle = plane->conf->pool;
	pthread_mutex_init(&worker->inbox_lock, NULL);
	init_limits(worker, plane->conf);
	worker->now_us = timer_now_us();
	worker->port = ledger_port(plane->ledger, port);
	worker->gate_thread = gate_thread_new(plane->gate);
	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	worker->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (worker->port == NULL || worker->gate_thread == NULL ||
	    worker->epoll < 0 || worker->spare_fd < 0)
		return -1;
	if (watch(worker, &worker->inbox, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	    EPOLLIN, on_inbox) != 0 ||
	    watch(worker, &worker->receipts, ledger_port_fd(worker->port),
	    EPOLLIN, on_receipts) != 0)
		return -1;
	return watch(worker, &worker->listener, plane->listener,
	    EPOLLIN | EPOLLEXCLUSIVE, on_listener);
}

int
worker_start(struct worker *worker)
{
	sigset_t all, old;
	int result;

	/* Signals are the main thread's; SIGPIPE from TLS writes is nobody's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	result = pthread_create(&worker->thread, NULL, work, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return result == 0 ? 0 : -1;
}

void
worker_join(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
}

void
worker_free(struct worker *worker)
{
	struct exchange *exchange;

	read_inbox(worker);	/* lookups that came late, connections nobody took */
	while ((exchange = worker->waiting) != NULL) {
		record_waited(exchange);
		exchange_end(exchange);
	}
	upstream_close_idle(worker);
	conn_free_dead(worker);
	upstream_free_dead(worker);
	pool_free(&worker->pool);
	record_forget(worker);
	while ((exchange = worker->spare) != NULL) {
		worker->spare = exchange->next;
		free(exchange);
	}
	gate_thread_free(worker->gate_thread);
	if (worker->inbox.fd >= 0)
		close(worker->inbox.fd);
	if (worker->spare_fd >= 0)
		close(worker->spare_fd);
	if (worker->epoll >= 0)
		close(worker->epoll);
	pthread_mutex_destroy(&worker->inbox_lock);
	sodium_memzero(worker->scratch, sizeof(worker->scratch));
}
