/* What the two parts of the minter share: who asks for tokens (minter.c), and the thread that
 * gets them (minter_work.c). */
#ifndef BROKER_MINT_MINTER_IMPL_H
#define BROKER_MINT_MINTER_IMPL_H

#include "mint/minter.h"
#include "vault/vault.h"
#include "ledger/clock.h"
#include "mint/fetch.h"

#include <pthread.h>
#include <stdatomic.h>

#define OLD_MAX 64		/* superseded tokens that are still known, of each */
#define KNOWN_MS 3600000	/* after its end a token may still stand in an answer */

struct old {
	struct secret *token;
	uint32_t version;
	int64_t until_ms;
};

/* One question, from when it is worded until its token is used or given up.  It is the
 * thread's alone. */
struct asking {
	struct secret *source;		/* referenced: what the item has, unless it was replaced */
	struct mint_source read;
	struct mint_fetch *fetch;	/* NULL: it is answered */
	struct mint_answer answer;	/* token NULL: there is none, and why */
	char host[MINT_HOST_MAX], why[256];
	int64_t began_ms, began_s;	/* clock_boot_ms; Unix */
};

/* One secret; kept until the minter ends. */
struct item {
	struct item *next;
	char name[VAULT_NAME_MAX + 1];
	uint32_t version;
	struct secret *source;	/* what is asked with: of that version, or newer and not yet stored; NULL: forgotten */
	bool unstored;		/* then it is used for nothing, nor the token that came with it */
	struct asking *asking;	/* NULL: none */
	bool asked;		/* the first try of this version is over */
	bool wrong;		/* it has not the form */
	bool idle;		/* nobody wants it */
	struct secret *token;	/* NULL: none */
	int64_t until_ms, until_s;
	int64_t begun_ms;	/* when this version was first wanted */
	int64_t due_ms;		/* when it is to be asked for again, or stored */
	unsigned failures;	/* in a row */
	char why[256];		/* of the last one, or "" */
	struct old old[OLD_MAX];
	unsigned next_old;
};

struct minter {
	const struct conf *conf;
	struct minter_calls calls;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	CURLM *multi;		/* of the thread, but for waking it */
	unsigned asked;		/* questions on their way; the thread's alone */
	bool started, ended;
	atomic_bool stop, give_up;
	struct item *first;
};

/* Let the thread look; the lock may be held. */
void minter_wake(struct minter *minter);

/* The item's token becomes an old one; those that need not be known any more go.  The lock is
 * held. */
void minter_retire(struct item *item);

/* The thread; arg is the minter. */
void *minter_work(void *arg);

#endif
