/*
 * Names to addresses, off the event loops: getaddrinfo in threads of its own
 * (it honours hosts and nsswitch), with a small cache of short life.
 * An agent can ask for names whose servers never answer, which takes half a minute
 * each: so half of the threads and of the places are the most that one has.  Those
 * who ask for the same name share one look-up; what nobody waits for is not begun.
 */
#ifndef BROKER_RESOLVE_H
#define BROKER_RESOLVE_H

#include "conf/conf.h"
#include "plane/address.h"

#define RESOLVE_ADDRESSES 8

struct resolver;

struct resolve_answer {
	union address addresses[RESOLVE_ADDRESSES];
	size_t n;		/* 0: error says why */
	const char *error;	/* static text */
};

struct resolve_job {
	struct resolve_job *next;
	char host[254];		/* canonical */
	uint16_t port;
	const void *whose;	/* told apart only, never looked into */
	struct resolve_answer answer;
	bool unwanted;		/* the resolver's: see resolver_abandon */
	/* Called on a resolver's thread, which then forgets the job. */
	void (*done)(struct resolve_job *job);
};

/* conf must outlive it.  NULL with errno. */
struct resolver *resolver_new(const struct conf *conf);

/* Joins its threads; jobs that still wait are answered with an error. */
void resolver_free(struct resolver *resolver);

/* What needs no waiting: an address, one of conf.resolve, a cached answer.
 * True and *out filled, else ask resolver_start. */
bool resolver_now(struct resolver *resolver, const char *host, uint16_t port,
    struct resolve_answer *out);

/* 0, or -1 where too many wait already, of that job's owner or in all. */
int resolver_start(struct resolver *resolver, struct resolve_job *job);

/* The address answered where one before it did not: for some minutes it comes first,
 * as long as the name has it. */
void resolver_prefer(struct resolver *resolver, const char *host, uint16_t port,
    const union address *address);

/* Nobody waits for its answer any more.  It is done all the same, soon where it was not
 * begun.  The job must still be
 * there; a resolver that is NULL has none. */
void resolver_abandon(struct resolver *resolver, struct resolve_job *job);

#endif
