/*
 * Who gives way when client.max_connections are busy: whoever holds most of them.  An
 * agent could else keep every other run out with requests that never end.  Whose a
 * new connection is, its head alone tells; idle ones do not count here, and give way
 * to each other where they are accepted (conn_make_room).
 */
#include "plane/conn.h"
#include "ledger/clock.h"

#include <stdint.h>

#define HOLDERS_MAX 64	/* a power of two */

/* The busy connections of a worker, and whose they are: a run's, with all below it.
 * Where there are more runs than places the rest is in `busy` alone. */
struct tally {
	unsigned busy;
	struct holder {
		const struct run *top;
		unsigned n;
	} holders[HOLDERS_MAX];
};

static const struct run *
top_of(const struct conn *conn)
{
	const struct run *run = conn->exchange != NULL ? conn->exchange->run :
	    conn->front != NULL ? conn->front->run : NULL;

	return run != NULL ? run_top(run) : NULL;
}

/* NULL where there is no place for one more. */
static struct holder *
holder_of(struct tally *tally, const struct run *top)
{
	size_t at = (uintptr_t)top / 64;

	for (size_t i = 0; i < HOLDERS_MAX; i++) {
		struct holder *holder = &tally->holders[(at + i) % HOLDERS_MAX];

		if (holder->top == NULL)
			holder->top = top;
		if (holder->top == top)
			return holder;
	}
	return NULL;
}

static void
count(const struct conn *conn, struct tally *tally)
{
	struct holder *holder;

	for (; conn != NULL; conn = conn->next) {
		const struct run *top = top_of(conn);

		if (conn_is_idle(conn))
			continue;
		tally->busy++;
		holder = top != NULL ? holder_of(tally, top) : NULL;
		if (holder != NULL)
			holder->n++;
	}
}

static const struct holder *
largest(const struct tally *tally)
{
	const struct holder *most = &tally->holders[0];

	for (size_t i = 1; i < HOLDERS_MAX; i++)
		if (tally->holders[i].n > most->n)
			most = &tally->holders[i];
	return most;
}

/* Its newest one, since what has gone on for long may be worth more. */
static void
give_way(struct conn *conn, const struct run *top)
{
	while (conn_is_idle(conn) || top_of(conn) != top)
		conn = conn->next;
	if (conn->exchange != NULL && conn->exchange->error == NULL)
		conn->exchange->error = "crowded_out";
	conn_reset(conn);
}

/* Connections are dealt out evenly, and nobody closes another worker's: so each
 * worker sees to its part of the limit. */
static unsigned
most_busy(const struct plane *plane)
{
	return (plane->max_connections + plane->n_workers - 1) / plane->n_workers;
}

bool
crowd_admits(struct conn *conn)
{
	struct worker *worker = conn->worker;
	const struct plane *plane = worker->plane;
	const struct run *top = top_of(conn);
	struct tally tally = { 0 };
	const struct holder *most, *own;

	if (top == NULL || atomic_load_explicit(&plane->open,
	    memory_order_relaxed) <= plane->max_connections)
		return true;
	own = holder_of(&tally, top);	/* first, so that it has a place */
	count(worker->conns, &tally);
	if (tally.busy <= most_busy(plane))
		return true;
	most = largest(&tally);
	if (most->n > own->n) {
		give_way(worker->conns, most->top);
		return true;
	}
	conn->close = true;
	respond_refuse(conn, 503, "client/connections",
	    "too many connections are busy, and no run has more than this one",
	    "end some, or have the operator raise client.max_connections");
	return false;
}

void
crowd_unread(struct worker *worker, enum count why)
{
	static const struct { const char *rule, *reason; unsigned status; } told[] = {
		[COUNT_UNREAD_LIMIT] = { .rule = "client/connections",
		    .reason = "too many connections are open", .status = 503 },
		[COUNT_UNREAD_FILES] = { .rule = "client/descriptors",
		    .reason = "the broker had no descriptor left for a connection" },
		[COUNT_UNREAD_MEMORY] = { .rule = "broker/memory",
		    .reason = "the broker had no memory for a connection" },
	};

	worker_count(worker, why, 1);
	flood_unread(&worker->plane->flood, told[why].rule, told[why].reason,
	    told[why].status, worker_now_ms(worker), clock_wall_us());
	if (!timer_armed(&worker->flood))
		worker_limit(worker, &worker->flood, TIME_FLOOD);
}
