/*
 * One event loop: an epoll set, an inbox that other threads post to, time
 * limits, a ledger port, an upstream pool and the connections given to it.
 * Everything here belongs to the worker's thread, but for worker_post and the
 * counters.
 */
#ifndef BROKER_WORKER_H
#define BROKER_WORKER_H

#include "gate/gate.h"
#include "plane/address.h"
#include "plane/flood.h"
#include "plane/plane.h"
#include "plane/pool.h"
#include "plane/resolve.h"
#include "plane/stream.h"
#include "plane/timer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>

struct conn;
struct exchange;
struct worker;

#define SCRATCH_LEN 65536	/* bytes read at once */
#define EVENTS_MAX 256		/* of one turn of the loop */

enum time_limit {
	TIME_HEAD,		/* a request's head, a TLS handshake of a client */
	TIME_CLIENT,		/* a client that neither sends nor takes */
	TIME_QUIET,		/* between requests, before the buffers are given up */
	TIME_ATTEMPT,		/* one of several addresses */
	TIME_CONNECT,		/* resolving, the last address, TLS */
	TIME_UPSTREAM,		/* an upstream that neither sends nor takes */
	TIME_ANSWER,		/* the head of its answer, once it has begun */
	TIME_POOL,		/* an idle pooled connection */
	TIME_LINGER,		/* a client to read our last words */
	TIME_HELD,		/* between two looks at a request that waits for a person */
	TIME_FLOOD,		/* counted refusals, before they are told */
	TIME_WALL,		/* between two looks at runs whose time is limited */
	TIME_OUTCOME,		/* records that nobody waits for, before the recorder is woken for them */
	TIME_PAUSE,		/* no accepting: there are no descriptors */
	TIME_LIMITS
};

/* Something for a worker to do, from any thread.  run() owns it. */
struct message {
	struct message *next;
	void (*run)(struct worker *worker, struct message *message);
};

enum count {
	COUNT_CONNECTIONS, COUNT_OPEN, COUNT_REQUESTS, COUNT_ALLOWED,
	COUNT_REFUSED, COUNT_TUNNELS, COUNT_BYTES_OUT, COUNT_BYTES_IN,
	COUNT_REDACTIONS, COUNT_UPSTREAM_ERRORS, COUNT_INTERCEPTED,
	COUNT_GAVE_WAY,
	COUNT_UNREAD_LIMIT, COUNT_UNREAD_FILES, COUNT_UNREAD_MEMORY, COUNTS
};

struct plane {
	const struct conf *conf;
	struct gate *gate;
	struct ca *ca;
	struct ledger *ledger;
	SSL_CTX *tls;			/* towards upstreams */
	struct resolver *resolver;
	struct decider *decider;	/* NULL: neither engine nor vault makes us wait */
	struct worker *workers;
	unsigned n_workers, started;
	unsigned max_connections;	/* of conf, or what there are descriptors for */
	int listener;
	union address address;		/* of the listener */
	struct flood flood;
	atomic_uint open;		/* connections of all workers */
	_Atomic uint64_t bodies;	/* bytes that bodies to be hashed have room for (body.c) */
	atomic_bool stopping;
	atomic_uint api_port;		/* 0: not known yet */
};

/* A record to be handed to the recorder, in order. */
struct backlog {
	struct backlog *next;
	struct ledger_record record;	/* its text lies behind */
	uint64_t ticket;
	struct run *settles;		/* referenced: its request has come to an end; NULL */
};

struct worker {
	struct plane *plane;
	unsigned index;
	pthread_t thread;
	int epoll;
	int spare_fd;			/* given up to take and refuse a connection at EMFILE */
	struct timer wall;		/* armed: a run with a time limit has been let in */
	struct timer flood;		/* armed: refusals were counted */
	struct timer outcomes;		/* armed: records lie in the ring, and nobody waits for them */
	struct timer pause;		/* armed: the listener is not watched */
	struct source listener, inbox, receipts;
	pthread_mutex_t inbox_lock;
	struct message *inbox_first, *inbox_last;
	atomic_bool cut_all;		/* a revocation could not be told in detail */
	atomic_bool stop_now;
	atomic_uint load;		/* connections, with those on their way here */

	struct timer_queue limits[TIME_LIMITS];
	int64_t now_us;			/* of this turn of the loop */

	struct ledger_port *port;
	uint64_t next_ticket;
	struct backlog *backlog, *backlog_last;
	unsigned n_backlog;
	struct backlog *handed;		/* in the ring; to be settled when the recorder was woken */
	bool postponed;			/* the recorder is woken when nothing more is ready */
	int64_t postponed_us;		/* since then */
	bool queued, awaited;		/* since then: anything, and for somebody who waits */
	struct exchange *waiting, *waiting_last;	/* for a receipt, in order */
	unsigned n_asked;		/* exchanges that the decider has */

	struct gate_thread *gate_thread;
	struct pool pool;
	struct conn *conns;		/* all of them */
	struct conn *again;		/* to be run without waiting */
	struct conn *dead;		/* freed when the turn ends */
	struct upstream *dead_upstreams;
	struct exchange *spare;		/* for reuse */
	unsigned n_spare;

	atomic_ullong counts[COUNTS];
	struct epoll_event events[EVENTS_MAX];
	struct gate_verdict refusal;	/* scratch */
	struct head response;		/* scratch */
	char outcome[GATE_RECORD_MAX];	/* scratch */
	char scratch[SCRATCH_LEN];
};

int worker_init(struct worker *worker, struct plane *plane, unsigned index,
    unsigned port);
int worker_start(struct worker *worker);
void worker_join(struct worker *worker);
void worker_free(struct worker *worker);

/* Any thread. */
void worker_post(struct worker *worker, struct message *message);
void worker_wake(struct worker *worker);

static inline int64_t
worker_now_ms(const struct worker *worker)
{
	return worker->now_us / 1000;
}

static inline void
worker_limit(struct worker *worker, struct timer *timer, enum time_limit limit)
{
	timer_arm(timer, &worker->limits[limit], worker_now_ms(worker));
}

static inline void
worker_count(struct worker *worker, enum count count, uint64_t n)
{
	atomic_fetch_add_explicit(&worker->counts[count], n,
	    memory_order_relaxed);
}

#endif
