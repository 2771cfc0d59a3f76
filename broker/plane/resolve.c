#include "plane/resolve.h"
#include "plane/timer.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define WAITING_MAX 256
#define SHARE 2			/* one owner has this part of either, at most */
#define CACHE_SIZE 128
#define CACHE_MS 5000
#define PREFER_MS 600000	/* RFC 8305 section 4: ten minutes or so */

struct cached {
	char host[254];
	uint16_t port;
	int64_t until_ms;
	struct resolve_answer answer;
	union address good;	/* answered where one before it did not */
	int64_t good_until_ms;
};

/* What one of the threads is looking up. */
struct under_way {
	bool busy;
	const struct resolve_job *job;
};

struct resolver {
	const struct conf *conf;
	pthread_t threads[THREADS];
	size_t n_threads;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct resolve_job *first, **last;
	size_t waiting;
	struct under_way under_way[THREADS];
	bool stopping;
	struct cached cache[CACHE_SIZE];
};

static struct cached *
slot_of(struct resolver *resolver, const char *host, uint16_t port)
{
	uint32_t hash = 2166136261u ^ port;

	for (; *host != '\0'; host++)
		hash = (hash ^ (uint8_t)*host) * 16777619u;
	return &resolver->cache[hash % CACHE_SIZE];
}

static bool
is_of(const struct cached *slot, const char *host, uint16_t port)
{
	return slot->port == port && strcmp(slot->host, host) == 0;
}

/* The address that is known to answer comes first. */
static void
reorder(const struct cached *slot, struct resolve_answer *answer)
{
	size_t at = 0;

	if (slot->good_until_ms <= timer_now_us() / 1000)
		return;
	while (at < answer->n && !address_same(&answer->addresses[at], &slot->good))
		at++;
	if (at == answer->n)
		return;
	memmove(&answer->addresses[1], &answer->addresses[0],
	    at * sizeof(answer->addresses[0]));
	answer->addresses[0] = slot->good;
}

static void
remember(struct resolver *resolver, struct resolve_job *job)
{
	struct cached *slot = slot_of(resolver, job->host, job->port);

	if (job->answer.n == 0)
		return;
	if (!is_of(slot, job->host, job->port))
		slot->good_until_ms = 0;
	else
		reorder(slot, &job->answer);
	memcpy(slot->host, job->host, sizeof(slot->host));
	slot->port = job->port;
	slot->answer = job->answer;
	slot->until_ms = timer_now_us() / 1000 + CACHE_MS;
}

/* From there on: of that family, or of the other. */
static const struct addrinfo *
next_of(const struct addrinfo *a, int family, bool same)
{
	while (a != NULL && (a->ai_family == family) != same)
		a = a->ai_next;
	return a;
}

/* Both families in turn (RFC 8305 section 4): where one leads nowhere, the second
 * attempt is of the other, and eight addresses of the one do not hide it. */
static void
take_in_turn(const struct addrinfo *list, uint16_t port, struct resolve_answer *out)
{
	const int family = list->ai_family;
	const struct addrinfo *from[2] = { list, next_of(list, family, false) };

	for (unsigned turn = 0; out->n < RESOLVE_ADDRESSES &&
	    (from[0] != NULL || from[1] != NULL); turn++) {
		union address *address = &out->addresses[out->n];
		const struct addrinfo *a = from[turn % 2];

		if (a == NULL)
			continue;
		from[turn % 2] = next_of(a->ai_next, family, turn % 2 == 0);
		if (address_copy(address, a->ai_addr) != 0)
			continue;
		if (address->sa.sa_family == AF_INET)
			address->in.sin_port = htons(port);
		else
			address->in6.sin6_port = htons(port);
		out->n++;
	}
}

static const char *
why_none(int result)
{
	switch (result) {
	case EAI_AGAIN:
		return "the name server does not answer";
	case EAI_FAIL:
		return "the name server gave no usable answer";
	case EAI_MEMORY:
	case EAI_SYSTEM:
		return "the name could not be looked up (memory or descriptors are short)";
	default:
		return "the name has no address";
	}
}

static void
look_up(const char *host, uint16_t port, struct resolve_answer *out)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
	    .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	struct addrinfo *list = NULL;
	int result;

	*out = (struct resolve_answer){ 0 };
	result = getaddrinfo(host, NULL, &hints, &list);
	if (result == 0 && list != NULL) {
		take_in_turn(list, port, out);
		freeaddrinfo(list);
	}
	if (out->n == 0)
		out->error = why_none(result);
}

static bool
has_share(const struct resolver *resolver, const void *whose)
{
	size_t n = 0;

	for (size_t i = 0; i < THREADS; i++)
		n += resolver->under_way[i].busy &&
		    resolver->under_way[i].job->whose == whose;
	return n >= THREADS / SHARE;
}

static bool
same_name(const struct resolve_job *a, const struct resolve_job *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* Somebody looks it up already, whose answer will be this one's, too. */
static bool
is_under_way(const struct resolver *resolver, const struct resolve_job *job)
{
	for (size_t i = 0; i < THREADS; i++)
		if (resolver->under_way[i].busy &&
		    same_name(resolver->under_way[i].job, job))
			return true;
	return false;
}

/* *at leaves the queue. */
static struct resolve_job *
unlink_job(struct resolver *resolver, struct resolve_job **at)
{
	struct resolve_job *job = *at;

	*at = job->next;
	if (*at == NULL)
		resolver->last = at;
	resolver->waiting--;
	job->next = NULL;
	return job;
}

/* The first that nobody wants any more, or whose owner has a thread to spare; NULL
 * where there is none.  Who ends a look-up comes here next, so that none is forgotten. */
static struct resolve_job *
take(struct resolver *resolver)
{
	struct resolve_job **at = &resolver->first, *job;

	while ((job = *at) != NULL && !resolver->stopping && !job->unwanted &&
	    (has_share(resolver, job->whose) || is_under_way(resolver, job)))
		at = &job->next;
	return job != NULL ? unlink_job(resolver, at) : NULL;
}

/* Those that wait for the same name: they hang behind it, answered. */
static void
take_same(struct resolver *resolver, struct resolve_job *job)
{
	struct resolve_job **at = &resolver->first, *last = job;

	while (*at != NULL) {
		if (!same_name(*at, job)) {
			at = &(*at)->next;
			continue;
		}
		last->next = unlink_job(resolver, at);
		last = last->next;
		last->answer = job->answer;
	}
}

static struct under_way *
note(struct resolver *resolver, const struct resolve_job *job)
{
	struct under_way *at = resolver->under_way;

	while (at->busy)	/* there is one for each thread */
		at++;
	*at = (struct under_way){ .busy = true, .job = job };
	return at;
}

/* With the lock, which is let go meanwhile. */
static void
answer(struct resolver *resolver, struct resolve_job *job)
{
	struct under_way *mine;

	if (resolver->stopping || job->unwanted) {
		job->answer = (struct resolve_answer){ .error =
		    job->unwanted ? "nobody waits for it" : "the broker is stopping" };
		return;
	}
	mine = note(resolver, job);
	pthread_mutex_unlock(&resolver->lock);
	look_up(job->host, job->port, &job->answer);
	pthread_mutex_lock(&resolver->lock);
	mine->busy = false;
	remember(resolver, job);
	take_same(resolver, job);
}

static void *
serve(void *arg)
{
	struct resolver *resolver = arg;
	struct resolve_job *job, *next;

	pthread_mutex_lock(&resolver->lock);
	for (;;) {
		while ((job = take(resolver)) == NULL && !resolver->stopping)
			pthread_cond_wait(&resolver->wake, &resolver->lock);
		if (job == NULL)
			break;
		answer(resolver, job);
		pthread_mutex_unlock(&resolver->lock);
		for (; job != NULL; job = next) {
			next = job->next;	/* done() may free it */
			job->done(job);
		}
		pthread_mutex_lock(&resolver->lock);
	}
	pthread_mutex_unlock(&resolver->lock);
	return NULL;
}

static int
start_threads(struct resolver *resolver)
{
	sigset_t all, old;
	int result = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (resolver->n_threads < THREADS && result == 0) {
		result = pthread_create(&resolver->threads[resolver->n_threads],
		    NULL, serve, resolver);
		if (result == 0)
			resolver->n_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = result;
	return result == 0 ? 0 : -1;
}

struct resolver *
resolver_new(const struct conf *conf)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (resolver == NULL)
		return NULL;
	resolver->conf = conf;
	resolver->last = &resolver->first;
	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->wake, NULL);
	if (start_threads(resolver) != 0) {
		resolver_free(resolver);
		return NULL;
	}
	return resolver;
}

void
resolver_free(struct resolver *resolver)
{
	if (resolver == NULL)
		return;
	pthread_mutex_lock(&resolver->lock);
	resolver->stopping = true;
	pthread_cond_broadcast(&resolver->wake);
	pthread_mutex_unlock(&resolver->lock);
	for (size_t i = 0; i < resolver->n_threads; i++)
		pthread_join(resolver->threads[i], NULL);
	pthread_cond_destroy(&resolver->wake);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

/* What the operator has set: it goes before the name service. */
static bool
configured(const struct conf *conf, const char *host, uint16_t port,
    struct resolve_answer *out)
{
	for (size_t i = 0; i < conf->n_resolve; i++) {
		const struct conf_resolve *entry = &conf->resolve[i];

		if (entry->port != port || strcasecmp(entry->host, host) != 0)
			continue;
		if (address_parse(entry->address, entry->to_port,
		    &out->addresses[0]) == 0)
			out->n = 1;
		else
			out->error = "upstream.resolve has no valid address for it";
		return true;
	}
	return false;
}

bool
resolver_now(struct resolver *resolver, const char *host, uint16_t port,
    struct resolve_answer *out)
{
	struct cached *slot;
	bool hit;

	*out = (struct resolve_answer){ 0 };
	if (configured(resolver->conf, host, port, out))
		return true;
	if (address_parse(host, port, &out->addresses[0]) == 0) {
		out->n = 1;
		return true;
	}
	pthread_mutex_lock(&resolver->lock);
	slot = slot_of(resolver, host, port);
	hit = is_of(slot, host, port) && slot->until_ms > timer_now_us() / 1000;
	if (hit)
		*out = slot->answer;
	pthread_mutex_unlock(&resolver->lock);
	return hit;
}

void
resolver_prefer(struct resolver *resolver, const char *host, uint16_t port,
    const union address *address)
{
	struct cached *slot;

	pthread_mutex_lock(&resolver->lock);
	slot = slot_of(resolver, host, port);
	if (is_of(slot, host, port)) {
		slot->good = *address;
		slot->good_until_ms = timer_now_us() / 1000 + PREFER_MS;
		reorder(slot, &slot->answer);
	}
	pthread_mutex_unlock(&resolver->lock);
}

void
resolver_abandon(struct resolver *resolver, struct resolve_job *job)
{
	if (resolver == NULL)
		return;
	pthread_mutex_lock(&resolver->lock);
	job->unwanted = true;
	pthread_cond_signal(&resolver->wake);
	pthread_mutex_unlock(&resolver->lock);
}

/* Of that owner. */
static size_t
waiting_of(const struct resolver *resolver, const void *whose)
{
	size_t n = 0;

	for (const struct resolve_job *at = resolver->first; at != NULL; at = at->next)
		n += at->whose == whose;
	return n;
}

int
resolver_start(struct resolver *resolver, struct resolve_job *job)
{
	int result = -1;

	pthread_mutex_lock(&resolver->lock);
	if (resolver->waiting < WAITING_MAX && !resolver->stopping &&
	    waiting_of(resolver, job->whose) < WAITING_MAX / SHARE) {
		job->next = NULL;
		*resolver->last = job;
		resolver->last = &job->next;
		resolver->waiting++;
		pthread_cond_signal(&resolver->wake);
		result = 0;
	}
	pthread_mutex_unlock(&resolver->lock);
	return result;
}
