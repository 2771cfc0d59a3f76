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

struct cached {
	char host[254];
	uint16_t port;
	int64_t until_ms;
	struct resolve_answer answer;
};

/* What one of the threads is looking up. */
struct under_way {
	bool busy;
	const void *whose;
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

static void
remember(struct resolver *resolver, const struct resolve_job *job)
{
	struct cached *slot = slot_of(resolver, job->host, job->port);

	if (job->answer.n == 0)
		return;
	memcpy(slot->host, job->host, sizeof(slot->host));
	slot->port = job->port;
	slot->answer = job->answer;
	slot->until_ms = timer_now_us() / 1000 + CACHE_MS;
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
	for (struct addrinfo *a = list; result == 0 && a != NULL; a = a->ai_next) {
		union address *address = &out->addresses[out->n];

		if (out->n == RESOLVE_ADDRESSES ||
		    address_copy(address, a->ai_addr) != 0)
			continue;
		if (address->sa.sa_family == AF_INET)
			address->in.sin_port = htons(port);
		else
			address->in6.sin6_port = htons(port);
		out->n++;
	}
	if (result == 0)
		freeaddrinfo(list);
	if (out->n == 0)
		out->error = result == EAI_AGAIN ? "the name server does not answer" :
		    "the name has no address";
}

static bool
has_share(const struct resolver *resolver, const void *whose)
{
	size_t n = 0;

	for (size_t i = 0; i < THREADS; i++)
		n += resolver->under_way[i].busy &&
		    resolver->under_way[i].whose == whose;
	return n >= THREADS / SHARE;
}

/* The first whose owner has a thread to spare; NULL where there is none.  Who ends
 * a look-up comes here next, so that none is forgotten. */
static struct resolve_job *
take(struct resolver *resolver)
{
	struct resolve_job **at = &resolver->first, *job;

	while ((job = *at) != NULL && !resolver->stopping &&
	    has_share(resolver, job->whose))
		at = &job->next;
	if (job == NULL)
		return NULL;
	*at = job->next;
	if (*at == NULL)
		resolver->last = at;
	resolver->waiting--;
	job->next = NULL;
	return job;
}

static struct under_way *
note(struct resolver *resolver, const void *whose)
{
	struct under_way *at = resolver->under_way;

	while (at->busy)	/* there is one for each thread */
		at++;
	*at = (struct under_way){ .busy = true, .whose = whose };
	return at;
}

static void *
serve(void *arg)
{
	struct resolver *resolver = arg;
	struct under_way *mine;
	struct resolve_job *job;

	pthread_mutex_lock(&resolver->lock);
	for (;;) {
		while ((job = take(resolver)) == NULL && !resolver->stopping)
			pthread_cond_wait(&resolver->wake, &resolver->lock);
		if (job == NULL)
			break;
		mine = note(resolver, job->whose);
		if (resolver->stopping) {
			job->answer = (struct resolve_answer){
			    .error = "the broker is stopping" };
		} else {
			pthread_mutex_unlock(&resolver->lock);
			look_up(job->host, job->port, &job->answer);
			pthread_mutex_lock(&resolver->lock);
			remember(resolver, job);
		}
		mine->busy = false;
		pthread_mutex_unlock(&resolver->lock);
		job->done(job);
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
	hit = slot->port == port && strcmp(slot->host, host) == 0 &&
	    slot->until_ms > timer_now_us() / 1000;
	if (hit)
		*out = slot->answer;
	pthread_mutex_unlock(&resolver->lock);
	return hit;
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
