#include "plane/pool.h"
#include "plane/upstream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
origin_free(struct origin *origin)
{
	assert(origin->users == 0 && origin->idle == NULL);
	SSL_SESSION_free(origin->session);
	free(origin);
}

/* Forget the origin that was unused for longest. */
static void
forget_one(struct pool *pool)
{
	struct origin **at, **last = NULL, *victim;

	for (at = &pool->origins; *at != NULL; at = &(*at)->next) {
		if ((*at)->users == 0)
			last = at;
	}
	if (last == NULL)
		return;
	victim = *last;
	*last = victim->next;
	pool->n_origins--;
	origin_free(victim);
}

static struct origin *
find(struct pool *pool, bool https, const char *host, uint16_t port)
{
	struct origin **at, *origin;

	for (at = &pool->origins; (origin = *at) != NULL; at = &origin->next) {
		if (origin->port != port || origin->https != https ||
		    strcmp(origin->host, host) != 0)
			continue;
		*at = origin->next;		/* to the front */
		origin->next = pool->origins;
		pool->origins = origin;
		return origin;
	}
	return NULL;
}

struct origin *
pool_origin(struct pool *pool, bool https, const char *host, uint16_t port)
{
	struct origin *origin = find(pool, https, host, port);

	if (origin != NULL) {
		origin->users++;
		return origin;
	}
	if (pool->n_origins >= POOL_ORIGINS_MAX)
		forget_one(pool);
	origin = calloc(1, sizeof(*origin));
	if (origin == NULL || strlen(host) >= sizeof(origin->host)) {
		free(origin);
		return NULL;
	}
	origin->https = https;
	origin->port = port;
	memcpy(origin->host, host, strlen(host) + 1);
	origin->users = 1;
	origin->next = pool->origins;
	pool->origins = origin;
	pool->n_origins++;
	return origin;
}

void
pool_leave(struct origin *origin)
{
	assert(origin->users > 0);
	origin->users--;
}

bool
pool_put(struct pool *pool, struct origin *origin, struct upstream *upstream)
{
	if (origin->n_idle >= pool->max_idle)
		return false;
	upstream->prev = NULL;
	upstream->next = origin->idle;
	if (origin->idle != NULL)
		origin->idle->prev = upstream;
	origin->idle = upstream;
	origin->n_idle++;
	return true;
}

void
pool_remove(struct origin *origin, struct upstream *upstream)
{
	if (upstream->prev != NULL)
		upstream->prev->next = upstream->next;
	else
		origin->idle = upstream->next;
	if (upstream->next != NULL)
		upstream->next->prev = upstream->prev;
	upstream->prev = upstream->next = NULL;
	origin->n_idle--;
}

struct upstream *
pool_take(struct origin *origin)
{
	struct upstream *upstream = origin->idle;

	if (upstream != NULL)
		pool_remove(origin, upstream);
	return upstream;
}

void
pool_session(struct origin *origin, SSL_SESSION *session)
{
	SSL_SESSION_free(origin->session);
	origin->session = session;
}

void
pool_free(struct pool *pool)
{
	struct origin *origin, *next;

	for (origin = pool->origins; origin != NULL; origin = next) {
		next = origin->next;
		origin_free(origin);
	}
	*pool = (struct pool){ 0 };
}
