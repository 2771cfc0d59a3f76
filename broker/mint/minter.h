/*
 * Gets short-lived tokens with the secrets that are for that (source.h), anew before they
 * end, by one thread: so one refresh token is never used twice at a time.  Tokens are kept
 * in locked memory alone; a daemon that starts asks anew.  Any thread may call these.
 */
#ifndef BROKER_MINT_MINTER_H
#define BROKER_MINT_MINTER_H

#include "conf/conf.h"
#include "secret.h"

#include <stdbool.h>
#include <stdint.h>

struct minter;

/* What the minter asks of whoever keeps secrets and records; from its own thread. */
struct minter_calls {
	/* Is this version still the one that a binding uses? */
	bool (*wanted)(void *arg, const char *name, uint32_t version);
	/* Store value, in which the refresh token is another one from now on, as the next
	 * version; *version was the one before, and becomes its number.  False: try it
	 * again later. */
	bool (*store)(void *arg, const char *name, uint32_t *version, struct slice value);
	/* A token was got and is not yet used: record it.  0, or -1: it must not be used. */
	int (*record)(void *arg, const char *name, uint32_t version, const char *host,
	    int64_t expires_s);
	void (*changed)(void *arg);	/* another token is to be had, or none */
	void *arg;
};

/* conf's authorities and addresses of upstreams hold for token endpoints, too.  NULL out
 * of memory. */
struct minter *minter_new(const struct conf *conf);
/* 0, or -1: no thread could be had. */
int minter_start(struct minter *minter, const struct minter_calls *calls);
/* Ends the thread, once an answer that is on its way is there, which is waited for some
 * seconds: a refresh token that counts from now on may be in it. */
void minter_stop(struct minter *minter);	/* NULL-safe */
void minter_free(struct minter *minter);	/* stopped; NULL-safe */

enum minter_state {
	MINTER_GOOD,
	MINTER_ASKING,		/* the first answer is not there yet */
	MINTER_NONE,		/* it failed, or what there was is over */
	MINTER_WRONG		/* the source has not the form */
};

/* The token that this version of a secret gives now, referenced, and until when it is good
 * (clock_boot_ms).  A version not heard of before is asked for from now on. */
enum minter_state minter_take(struct minter *minter, const char *name,
    uint32_t version, struct secret *source, struct secret **token, int64_t *until_ms);

/* Wait until that is no more MINTER_ASKING, for so long at most. */
void minter_wait(struct minter *minter, const char *name, int64_t most_ms);

/* A token turned out to be over: look what is due, since the machine may have slept. */
void minter_hurry(struct minter *minter);

/* Every token that may still be good, superseded or not, and those of a while before;
 * each is referenced by who keeps it. */
void minter_each(struct minter *minter, void (*each)(void *arg, const char *name,
    uint32_t version, struct secret *token), void *arg);

/* What to tell people of one: until when its token is good (Unix; 0: it has none), and why
 * the last try failed ("": it did not).  False: not asked for. */
bool minter_tell(struct minter *minter, const char *name, int64_t *until_s,
    char *why, size_t cap);

#endif
