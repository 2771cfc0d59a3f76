/*
 * What one worker knows of each origin (scheme, host, port): idle connections,
 * last used first, and the last TLS session.
 */
#ifndef BROKER_POOL_H
#define BROKER_POOL_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#define POOL_ORIGINS_MAX 256	/* unused ones beyond that are forgotten */

struct upstream;

struct origin {
	struct origin *next;
	bool https;
	uint16_t port;
	char host[254];
	unsigned users;		/* upstreams that point here, idle ones too */
	unsigned n_idle;
	struct upstream *idle;
	SSL_SESSION *session;	/* owned; NULL: none */
};

struct pool {
	struct origin *origins;	/* used last first */
	unsigned n_origins;
	unsigned max_idle;	/* of one origin */
};

/* The origin, with one user more.  NULL where out of memory. */
struct origin *pool_origin(struct pool *pool, bool https, const char *host,
    uint16_t port);
void pool_leave(struct origin *origin);

/* True where there is room; upstream's links are the pool's until taken out. */
bool pool_put(struct pool *pool, struct origin *origin,
    struct upstream *upstream);
struct upstream *pool_take(struct origin *origin);	/* NULL: none idle */
void pool_remove(struct origin *origin, struct upstream *upstream);

/* Keep a session for the next handshake; takes the reference. */
void pool_session(struct origin *origin, SSL_SESSION *session);

/* All origins; none may have users. */
void pool_free(struct pool *pool);

#endif
