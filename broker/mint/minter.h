/*
 * Gets short-lived tokens with the secrets that are for that (source.h), anew before they
 * end.  One thread asks, several services at a time but never twice with one secret: so one
 * refresh token is used once.  Tokens are kept in locked memory alone; a daemon that starts
 * asks anew.  Any thread may call these.
 */
#ifndef BROKER_MINT_MINTER_H
#define BROKER_MINT_MINTER_H

#include "conf/conf.h"
#include "secret.h"

#include <stdbool.h>
#include <stdint.h>

struct minter;

enum minter_stored {
	MINTER_STORED,
	MINTER_STORE_LATER,	/* it cannot be now: try it again */
	MINTER_STORE_NEVER	/* the secret was revoked, or another version stored meanwhile */
};

/* What the minter asks of whoever keeps secrets and records; from its own thread. */
struct minter_calls {
	/* Is this version still the one that a binding uses? */
	bool (*wanted)(void *arg, const char *name, uint32_t version);
	/* This version is about to be used at host.  Record it; renews: and see that what
	 * may be answered can be stored, since it may take its place.  0; or -1 with why:
	 * nothing is sent. */
	int (*asking)(void *arg, const char *name, uint32_t version, const char *host,
	    bool renews, char *why, size_t cap);
	/* Store value, in which the refresh token is another one from now on, as the next
	 * version; *version was the one before, and becomes its number. */
	enum minter_stored (*store)(void *arg, const char *name, uint32_t *version,
	    struct slice value, char *why, size_t cap);
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

/* Wait until that is no more MINTER_ASKING, for so long at most from when it began to be:
 * so that waiting for several ends together. */
void minter_wait(struct minter *minter, const char *name, int64_t most_ms);

/* Of this version (0: whichever) nothing more is asked for: what it would be asked with goes
 * from memory, but for what is on its way.  Its tokens stay known. */
void minter_forget(struct minter *minter, const char *name, uint32_t version);

/* What this version (0: whichever) is asked with, as it counts now, and its token, where that
 * is still good; each referenced, or NULL. */
void minter_login(struct minter *minter, const char *name, uint32_t version,
    struct secret **source, struct secret **token);

/* Those that were given to minter_new. */
const struct conf *minter_conf(const struct minter *minter);

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
