#include "plane/upstream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define KEPT_MAX 4096	/* bytes of a buffer that an idle connection keeps */

/* A name being looked up: it outlives the upstream that asked. */
struct lookup {
	struct resolve_job job;		/* first: done() casts */
	struct message message;
	struct worker *worker;
	struct upstream *upstream;	/* NULL: nobody waits any more */
};

static void dial(struct upstream *upstream);
static void on_ready(struct source *source, uint32_t events);

void
upstream_fail(struct upstream *upstream, unsigned status, const char *rule,
    const char *word, const char *format, ...)
{
	struct upstream_error *error = &upstream->error;
	va_list args;

	error->status = status;
	error->rule = rule;
	error->word = word;
	va_start(args, format);
	vsnprintf(error->reason, sizeof(error->reason), format, args);
	va_end(args);
	timer_stop(&upstream->timer);
	upstream->state = UPSTREAM_FAILED;
	worker_count(upstream->worker, COUNT_UPSTREAM_ERRORS, 1);
}

static void
tell(struct upstream *upstream)
{
	if (upstream->changed != NULL)
		upstream->changed(upstream->owner);
}

/* --- dialling --------------------------------------------------------- */

static bool
may_dial(struct upstream *upstream, struct rules *rules, size_t at,
    const char **kind)
{
	const union address *address = &upstream->answer.addresses[at];
	union address plain;

	address_unwrap(address, &plain);
	if (own_address(upstream->worker->plane, &plain)) {
		*kind = "the broker itself";
		return false;
	}
	*kind = address_special(address);
	return *kind == NULL || bindings_private_allowed(rules_bindings(rules), &plain.sa);
}

/* Of the origin that was asked last of all; false where nothing is idle. */
static bool
drop_idle(struct worker *worker)
{
	struct upstream *goes = NULL;

	for (struct origin *o = worker->pool.origins; o != NULL; o = o->next)
		goes = o->idle != NULL ? o->idle : goes;
	upstream_drop(goes);
	return goes != NULL;
}

/* Where descriptors have run out, idle connections give theirs up. */
static int
new_socket(struct worker *worker, int family)
{
	int fd;

	do
		fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	while (fd < 0 && (errno == EMFILE || errno == ENFILE) && drop_idle(worker));
	return fd;
}

/* 0: under way or done; -1: this address does not answer. */
static int
try_address(struct upstream *upstream)
{
	const union address *address = &upstream->answer.addresses[upstream->at];
	int fd, one = 1;

	fd = new_socket(upstream->worker, address->sa.sa_family);
	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if ((connect(fd, &address->sa, address_len(address)) != 0 &&
	    errno != EINPROGRESS) ||
	    stream_open(&upstream->stream, upstream->worker->epoll, fd,
	    on_ready) != 0) {
		close(fd);
		upstream->stream.source.fd = -1;
		return -1;
	}
	upstream->stream.writable = false;	/* until connected */
	upstream->state = UPSTREAM_CONNECTING;
	worker_limit(upstream->worker, &upstream->timer,
	    upstream->at + 1 < upstream->answer.n ? TIME_ATTEMPT : TIME_CONNECT);
	stream_sync(&upstream->stream);
	return 0;
}

static void
refuse_address(struct upstream *upstream, const char *kind)
{
	upstream_fail(upstream, 403, "upstream/private-address", "private_address",
	    "%s resolves to an address that may not be dialled (%s)",
	    upstream->origin->host, kind);
}

/* From answer.addresses[at] on: the first allowed one that can be tried. */
static void
dial(struct upstream *upstream)
{
	const char *kind, *refused = NULL;

	for (; upstream->at < upstream->answer.n; upstream->at++) {
		if (!may_dial(upstream, upstream->rules, upstream->at, &kind))
			refused = kind;
		else if (try_address(upstream) == 0)
			return;
	}
	if (refused != NULL)
		refuse_address(upstream, refused);
	else
		upstream_fail(upstream, upstream->timed_out ? 504 : 502, "upstream/connect",
		    upstream->timed_out ? "connect_timeout" : "connect_failed",
		    "no connection to %s port %u", upstream->origin->host,
		    upstream->origin->port);
}

static void
dial_next(struct upstream *upstream)
{
	stream_close(&upstream->stream);
	upstream->at++;
	dial(upstream);
}

static void
connected(struct upstream *upstream)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(upstream->stream.source.fd, SOL_SOCKET, SO_ERROR, &error,
	    &len) != 0 || error != 0 || upstream->stream.gone) {
		dial_next(upstream);
		return;
	}
	if (!upstream->stream.writable)
		return;
	if (upstream->at > 0)
		resolver_prefer(upstream->worker->plane->resolver,
		    upstream->origin->host, upstream->origin->port,
		    &upstream->answer.addresses[upstream->at]);
	if (upstream->https) {
		upstream_tls_begin(upstream);
		return;
	}
	timer_stop(&upstream->timer);
	upstream->state = UPSTREAM_READY;
}

/* --- names ------------------------------------------------------------ */

static void
use_answer(struct upstream *upstream)
{
	if (upstream->answer.n == 0)
		upstream_fail(upstream, 502, "upstream/unresolved", "unresolved",
		    "%s: %s", upstream->origin->host, upstream->answer.error);
	else
		dial(upstream);
}

static void
resolved(struct worker *worker, struct message *message)
{
	struct lookup *lookup = (struct lookup *)((char *)message -
	    offsetof(struct lookup, message));
	struct upstream *upstream = lookup->upstream;

	if (upstream != NULL) {
		upstream->lookup = NULL;
		upstream->answer = lookup->job.answer;
		use_answer(upstream);
	}
	free(lookup);
	if (upstream != NULL)
		tell(upstream);
}

static void
on_resolved(struct resolve_job *job)
{
	struct lookup *lookup = (struct lookup *)job;

	worker_post(lookup->worker, &lookup->message);
}

static void
resolve(struct upstream *upstream, const void *whose)
{
	struct worker *worker = upstream->worker;
	const struct origin *origin = upstream->origin;
	struct lookup *lookup;

	upstream->state = UPSTREAM_RESOLVING;
	if (resolver_now(worker->plane->resolver, origin->host, origin->port,
	    &upstream->answer)) {
		use_answer(upstream);
		return;
	}
	lookup = calloc(1, sizeof(*lookup));
	if (lookup != NULL) {
		*lookup = (struct lookup){ .worker = worker, .upstream = upstream,
		    .message.run = resolved, .job.done = on_resolved,
		    .job.port = origin->port, .job.whose = whose };
		memcpy(lookup->job.host, origin->host, sizeof(origin->host));
	}
	if (lookup == NULL ||
	    resolver_start(worker->plane->resolver, &lookup->job) != 0) {
		free(lookup);
		upstream_fail(upstream, 503, "upstream/unresolved", "resolver_busy",
		    "too many names are being looked up");
		return;
	}
	upstream->lookup = lookup;
	worker_limit(worker, &upstream->timer, TIME_CONNECT);
}

/* --- events ----------------------------------------------------------- */

static void
idle_disturbed(struct upstream *upstream)
{
	/* Whatever a server says unasked would answer the next request. */
	if (stream_disturbed(&upstream->stream))
		upstream_drop(upstream);
	else
		stream_sync(&upstream->stream);
}

static void
on_ready(struct source *source, uint32_t events)
{
	struct upstream *upstream = (struct upstream *)source;

	if (source->fd < 0)
		return;
	stream_note(&upstream->stream, events);
	switch (upstream->state) {
	case UPSTREAM_IDLE:
		idle_disturbed(upstream);
		return;
	case UPSTREAM_CONNECTING:
		connected(upstream);
		break;
	case UPSTREAM_TLS:
		upstream_tls_handshake(upstream);
		break;
	default:
		break;
	}
	if (upstream->state == UPSTREAM_TLS || upstream->state == UPSTREAM_CONNECTING)
		stream_sync(&upstream->stream);
	else
		tell(upstream);
}

/* Between two requests buffers are kept, but not for long. */
static void
quieten(struct upstream *upstream)
{
	upstream->quiet = true;
	buf_free(&upstream->in);
	buf_free(&upstream->out);
	worker_limit(upstream->worker, &upstream->timer, TIME_POOL);
}

static void
on_time(struct timer *timer)
{
	struct upstream *upstream = (struct upstream *)((char *)timer -
	    offsetof(struct upstream, timer));

	switch (upstream->state) {
	case UPSTREAM_IDLE:
		if (upstream->quiet)
			upstream_drop(upstream);
		else
			quieten(upstream);
		return;
	case UPSTREAM_RESOLVING:
		upstream_fail(upstream, 504, "upstream/unresolved", "resolve_timeout",
		    "%s was not resolved in time", upstream->origin->host);
		break;
	case UPSTREAM_CONNECTING:
		upstream->timed_out = true;
		dial_next(upstream);
		upstream->timed_out = upstream->state == UPSTREAM_FAILED;
		break;
	case UPSTREAM_TLS:
		upstream_fail(upstream, 504, "upstream/tls", "tls_timeout",
		    "the TLS handshake with %s was not over in time",
		    upstream->origin->host);
		break;
	default:
		upstream->timed_out = true;
		break;
	}
	tell(upstream);
}

/* --- life ------------------------------------------------------------- */

static bool
usable(struct upstream *upstream, const struct upstream_want *want)
{
	const char *kind;

	if (!may_dial(upstream, want->rules, upstream->at, &kind))
		return false;
	return !want->careful || !stream_disturbed(&upstream->stream);
}

static struct upstream *
from_pool(struct worker *worker, struct origin *origin,
    const struct upstream_want *want)
{
	struct upstream *upstream;

	while (!want->fresh && (upstream = pool_take(origin)) != NULL) {
		timer_stop(&upstream->timer);
		upstream->state = UPSTREAM_READY;
		if (usable(upstream, want)) {
			upstream->reused = true;
			return upstream;
		}
		upstream_drop(upstream);
	}
	return NULL;
}

static struct upstream *
dial_new(struct worker *worker, struct origin *origin,
    const struct upstream_want *want)
{
	struct upstream *upstream = calloc(1, sizeof(*upstream));

	if (upstream == NULL)
		return NULL;
	upstream->worker = worker;
	upstream->origin = origin;
	upstream->https = want->https;
	upstream->stream.source.fd = -1;
	upstream->timer.fire = on_time;
	upstream->rules = want->rules;
	resolve(upstream, want->whose);
	return upstream;
}

struct upstream *
upstream_get(struct worker *worker, const struct upstream_want *want)
{
	struct origin *origin;
	struct upstream *upstream;

	origin = pool_origin(&worker->pool, want->https, want->host, want->port);
	if (origin == NULL)
		return NULL;
	upstream = from_pool(worker, origin, want);
	if (upstream != NULL)
		pool_leave(origin);	/* it counts itself already */
	else
		upstream = dial_new(worker, origin, want);
	if (upstream == NULL) {
		pool_leave(origin);
		return NULL;
	}
	upstream->rules = want->rules;
	upstream->changed = want->changed;
	upstream->owner = want->owner;
	upstream->timed_out = false;
	return upstream;
}

void
upstream_drop(struct upstream *upstream)
{
	struct worker *worker;

	if (upstream == NULL)
		return;
	worker = upstream->worker;
	if (upstream->state == UPSTREAM_IDLE)
		pool_remove(upstream->origin, upstream);
	if (upstream->lookup != NULL) {
		upstream->lookup->upstream = NULL;
		resolver_abandon(worker->plane->resolver, &upstream->lookup->job);
	}
	timer_stop(&upstream->timer);
	stream_close(&upstream->stream);
	buf_free(&upstream->in);
	buf_free(&upstream->out);
	pool_leave(upstream->origin);
	upstream->changed = NULL;
	upstream->state = UPSTREAM_FAILED;
	/* Events of this turn may still point to it. */
	upstream->next = worker->dead_upstreams;
	worker->dead_upstreams = upstream;
}

static void
keep_small(struct buf *buf)
{
	if (buf->cap > KEPT_MAX)
		buf_free(buf);
}

void
upstream_give_back(struct upstream *upstream)
{
	struct worker *worker = upstream->worker;

	upstream->changed = NULL;
	upstream->owner = NULL;
	upstream->rules = NULL;
	upstream->reused = false;
	if (upstream->state != UPSTREAM_READY || upstream->in.len > 0 ||
	    upstream->out.len > 0 || upstream->stream.gone ||
	    (upstream->stream.readable && stream_disturbed(&upstream->stream)) ||
	    atomic_load(&worker->plane->stopping) ||
	    !pool_put(&worker->pool, upstream->origin, upstream)) {
		upstream_drop(upstream);
		return;
	}
	keep_small(&upstream->in);
	keep_small(&upstream->out);
	upstream->state = UPSTREAM_IDLE;
	upstream->quiet = false;
	worker_limit(worker, &upstream->timer, TIME_QUIET);
	stream_sync(&upstream->stream);
}

void
upstream_touch(struct upstream *upstream)
{
	worker_limit(upstream->worker, &upstream->timer, TIME_UPSTREAM);
}

void
upstream_limit_off(struct upstream *upstream)
{
	timer_stop(&upstream->timer);
}

void
upstream_free_dead(struct worker *worker)
{
	struct upstream *upstream;

	while ((upstream = worker->dead_upstreams) != NULL) {
		worker->dead_upstreams = upstream->next;
		free(upstream);
	}
}

void
upstream_close_idle(struct worker *worker)
{
	for (struct origin *o = worker->pool.origins; o != NULL; o = o->next) {
		while (o->idle != NULL)
			upstream_drop(o->idle);
	}
}
