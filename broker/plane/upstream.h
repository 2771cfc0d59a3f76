/*
 * A connection to an upstream: resolve, check, dial the checked address, TLS,
 * and the pool it comes from and goes back to.
 *
 * An address that is not public is dialled only where the rules in force allow
 * that very address; the check is repeated whenever a pooled connection is
 * taken, since the rules may have changed.  TLS is 1.2 or later, verified
 * against the host's name; sessions are resumed per origin.
 */
#ifndef BROKER_UPSTREAM_H
#define BROKER_UPSTREAM_H

#include "plane/buf.h"
#include "plane/worker.h"

enum upstream_state {
	UPSTREAM_RESOLVING, UPSTREAM_CONNECTING, UPSTREAM_TLS,
	UPSTREAM_READY, UPSTREAM_IDLE, UPSTREAM_FAILED
};

struct upstream_error {
	unsigned status;	/* what the client is told: 502, 503, 504 */
	const char *rule;	/* "upstream/private-address", ... */
	const char *word;	/* for the outcome record: "private_address" */
	char reason[256];
};

struct upstream {
	struct stream stream;	/* first: ready() casts */
	struct worker *worker;
	struct origin *origin;
	enum upstream_state state;
	bool https;
	bool reused;		/* came from the pool */
	bool timed_out;		/* neither sent nor took for too long */
	bool quiet;		/* idle for a while: it holds no buffers */
	struct timer timer;
	struct lookup *lookup;	/* running; NULL: none */
	struct rules *rules;	/* referenced while dialling */
	struct resolve_answer answer;
	size_t at;		/* the address that is being dialled */
	struct upstream_error error;	/* in UPSTREAM_FAILED */
	struct buf in;		/* read, not yet understood */
	struct buf out;		/* to be sent */
	void (*changed)(void *owner);	/* readiness or state; NULL while idle */
	void *owner;
	struct upstream *prev, *next;
};

struct upstream_want {
	bool https;
	const char *host;
	uint16_t port;
	struct rules *rules;
	bool fresh;		/* not from the pool */
	bool careful;		/* look whether a pooled one still lives: no retry would be made */
	const void *whose;	/* of resolve_job */
	void (*changed)(void *owner);
	void *owner;
};

/* At once READY, on its way, or FAILED; NULL where out of memory.  changed() is
 * never called from here. */
struct upstream *upstream_get(struct worker *worker,
    const struct upstream_want *want);

/* Back to the pool (the exchange left it clean), or closed. */
void upstream_give_back(struct upstream *upstream);
void upstream_drop(struct upstream *upstream);	/* NULL-safe */

/* Something moved: start the idle limit anew. */
void upstream_touch(struct upstream *upstream);
void upstream_limit_off(struct upstream *upstream);

void upstream_free_dead(struct worker *worker);
void upstream_close_idle(struct worker *worker);	/* every pooled one */

/* --- own.c ------------------------------------------------------------- */

/* Is it our proxy's, or the API's?  No IPv4 address inside an IPv6 one. */
bool own_address(const struct plane *plane, const union address *address);

/* --- shared with upstream_tls.c ---------------------------------------- */

void upstream_tls_begin(struct upstream *upstream);	/* on a connected stream */
void upstream_tls_handshake(struct upstream *upstream);
void upstream_fail(struct upstream *upstream, unsigned status, const char *rule,
    const char *word, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The context for all of them; NULL with a message. */
SSL_CTX *upstream_tls_new(const char *ca_file, char *err, size_t err_len);

#endif
