#include "plane/conn.h"
#include "trouble.h"
#include "plane/decider.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define BACKLOG 4096

/* --- revocation ------------------------------------------------------- */

struct cut {
	struct message message;
	struct gate_cut what;		/* its texts lie behind */
};

static void
do_cut(struct worker *worker, struct message *message)
{
	struct cut *cut = (struct cut *)message;

	cut_matching(worker, &cut->what);
	free(cut);
}

static size_t
room(const char *text)
{
	return text != NULL ? strlen(text) + 1 : 0;
}

/* A copy of text at *at, which is moved behind it. */
static const char *
copy(const char *text, char **at)
{
	size_t n = room(text);

	if (n == 0)
		return NULL;
	memcpy(*at, text, n);
	*at += n;
	return *at - n;
}

static void
post_cut(struct worker *worker, const struct gate_cut *what)
{
	struct cut *cut = malloc(sizeof(*cut) + room(what->run) +
	    room(what->binding) + room(what->grant) + room(what->secret));
	char *at = (char *)(cut + 1);

	if (cut == NULL) {
		/* What cannot be said in detail is said of everything. */
		atomic_store(&worker->cut_all, true);
		worker_wake(worker);
		return;
	}
	cut->message.run = do_cut;
	cut->what = (struct gate_cut){ .version = what->version };
	cut->what.run = copy(what->run, &at);
	cut->what.binding = copy(what->binding, &at);
	cut->what.grant = copy(what->grant, &at);
	cut->what.secret = copy(what->secret, &at);
	worker_post(worker, &cut->message);
}

static void
on_revoke(void *arg, const struct gate_cut *what)
{
	struct plane *plane = arg;

	for (unsigned i = 0; i < plane->started; i++)
		post_cut(&plane->workers[i], what);
}

/* --- a person's answer ------------------------------------------------ */

struct answer {
	struct message message;
	bool any;
	char id[40];
};

static void
take_answer(struct worker *worker, struct message *message)
{
	struct answer *answer = (struct answer *)message;

	held_answered(worker, answer->any ? NULL : answer->id);
	free(answer);
}

/* Without memory they wait for their time limit, and ask again. */
static void
on_answer(void *arg, const char *id)
{
	struct plane *plane = arg;
	struct answer *answer;

	for (unsigned i = 0; i < plane->started; i++) {
		if ((answer = malloc(sizeof(*answer))) == NULL)
			continue;
		answer->message.run = take_answer;
		answer->any = id == NULL;
		snprintf(answer->id, sizeof(answer->id), "%s", id != NULL ? id : "");
		worker_post(&plane->workers[i], &answer->message);
	}
}

/* --- start ------------------------------------------------------------ */

/*
 * One listener for all workers, and not SO_REUSEPORT: with that any process of
 * this user could bind the same port and be given a share of the connections,
 * tokens and all.
 */
static int
listen_on(struct plane *plane, char *err, size_t err_len)
{
	union address *address = &plane->address;
	socklen_t len = sizeof(*address);
	int one = 1;

	address->in = plane->conf->listen;
	plane->listener = socket(AF_INET,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (plane->listener >= 0)
		setsockopt(plane->listener, SOL_SOCKET, SO_REUSEADDR, &one,
		    sizeof(one));
	if (plane->listener < 0 ||
	    bind(plane->listener, &address->sa, sizeof(address->in)) != 0 ||
	    listen(plane->listener, BACKLOG) != 0 ||
	    getsockname(plane->listener, &address->sa, &len) != 0) {
		int why = errno;
		char what[64];

		snprintf(what, sizeof(what), "\"listen\", port %u",
		    ntohs(plane->conf->listen.sin_port));
		return trouble(err, err_len, what, why);
	}
	return 0;
}

/* A connection that is busy has another to its upstream, and the API has some: where
 * descriptors are few, they must not run out before connections are counted. */
static unsigned
most_connections(const struct conf *conf)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
	    files.rlim_cur / 8 * 3 >= conf->max_connections)
		return conf->max_connections;
	return files.rlim_cur >= 8 ? (unsigned)(files.rlim_cur / 8 * 3) : 1;
}

static int
prepare(struct plane *plane, unsigned first_port, char *err, size_t err_len)
{
	plane->max_connections = most_connections(plane->conf);
	if (listen_on(plane, err, err_len) != 0)
		return -1;
	plane->tls = upstream_tls_new(plane->conf->upstream_ca_file, err, err_len);
	if (plane->tls == NULL)
		return -1;
	plane->resolver = resolver_new(plane->conf);
	if (gate_may_wait(plane->gate))
		plane->decider = decider_new(plane->gate);
	plane->workers = calloc(plane->conf->workers, sizeof(*plane->workers));
	if (plane->resolver == NULL || plane->workers == NULL ||
	    (gate_may_wait(plane->gate) && plane->decider == NULL)) {
		snprintf(err, err_len, "no memory or threads for the data plane");
		return -1;
	}
	while (plane->n_workers < plane->conf->workers) {
		struct worker *worker = &plane->workers[plane->n_workers];

		if (worker_init(worker, plane, plane->n_workers,
		    first_port + plane->n_workers) != 0) {
			plane->n_workers++;	/* to be freed */
			return trouble(err, err_len,
			    "cannot prepare a worker", errno);
		}
		plane->n_workers++;
	}
	return 0;
}

struct plane *
plane_start(const struct plane_options *options, char *err, size_t err_len)
{
	struct plane *plane = calloc(1, sizeof(*plane));

	if (plane == NULL) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	plane->conf = options->conf;
	plane->gate = options->gate;
	plane->ca = options->ca;
	plane->ledger = options->ledger;
	plane->listener = -1;
	flood_init(&plane->flood);
	if (prepare(plane, options->first_port, err, err_len) != 0) {
		plane_stop(plane, 0);
		return NULL;
	}
	while (plane->started < plane->n_workers) {
		if (worker_start(&plane->workers[plane->started]) != 0) {
			snprintf(err, err_len, "cannot start a worker");
			plane_stop(plane, 0);
			return NULL;
		}
		plane->started++;
	}
	gate_on_revoke(plane->gate, on_revoke, plane);
	gate_on_answer(plane->gate, on_answer, plane);
	return plane;
}

uint16_t
plane_port(const struct plane *plane)
{
	return ntohs(plane->address.in.sin_port);
}

/* --- stop ------------------------------------------------------------- */

static void
wake_all(struct plane *plane)
{
	for (unsigned i = 0; i < plane->started; i++)
		worker_wake(&plane->workers[i]);
}

static void
wait_for_rest(struct plane *plane, unsigned grace_ms)
{
	int64_t until = timer_now_us() + (int64_t)grace_ms * 1000;

	while (atomic_load(&plane->open) > 0 && timer_now_us() < until)
		usleep(5000);
}

void
plane_stop(struct plane *plane, unsigned grace_ms)
{
	if (plane == NULL)
		return;
	if (plane->started > 0) {
		atomic_store(&plane->stopping, true);
		wake_all(plane);
		wait_for_rest(plane, grace_ms);
		gate_on_revoke(plane->gate, NULL, NULL);
		gate_on_answer(plane->gate, NULL, NULL);
		for (unsigned i = 0; i < plane->started; i++)
			atomic_store(&plane->workers[i].stop_now, true);
		wake_all(plane);
		for (unsigned i = 0; i < plane->started; i++)
			worker_join(&plane->workers[i]);
	}
	resolver_free(plane->resolver);
	plane->resolver = NULL;		/* what is dropped below has no look-up any more */
	decider_free(plane->decider);	/* what it still says is read below */
	for (unsigned i = 0; i < plane->n_workers; i++)
		worker_free(&plane->workers[i]);
	free(plane->workers);
	SSL_CTX_free(plane->tls);
	if (plane->listener >= 0)
		close(plane->listener);
	flood_destroy(&plane->flood);
	free(plane);
}

/* --- counters --------------------------------------------------------- */

static uint64_t
sum(const struct plane *plane, enum count count)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < plane->n_workers; i++)
		total += atomic_load_explicit(&plane->workers[i].counts[count],
		    memory_order_relaxed);
	return total;
}

void
plane_counts(const struct plane *plane, struct plane_counts *out)
{
	*out = (struct plane_counts){
		.connections = sum(plane, COUNT_CONNECTIONS),
		.open = sum(plane, COUNT_OPEN),
		.requests = sum(plane, COUNT_REQUESTS),
		.allowed = sum(plane, COUNT_ALLOWED),
		.refused = sum(plane, COUNT_REFUSED),
		.tunnels = sum(plane, COUNT_TUNNELS),
		.bytes_out = sum(plane, COUNT_BYTES_OUT),
		.bytes_in = sum(plane, COUNT_BYTES_IN),
		.redactions = sum(plane, COUNT_REDACTIONS),
		.upstream_errors = sum(plane, COUNT_UPSTREAM_ERRORS),
		.intercepted = sum(plane, COUNT_INTERCEPTED),
		.gave_way = sum(plane, COUNT_GAVE_WAY),
		.unread_limit = sum(plane, COUNT_UNREAD_LIMIT),
		.unread_files = sum(plane, COUNT_UNREAD_FILES),
		.unread_memory = sum(plane, COUNT_UNREAD_MEMORY),
	};
}
