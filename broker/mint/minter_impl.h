/* What the two parts of the minter share: who asks for tokens (minter.c), and the thread that
 * gets them (minter_work.c). */
#ifndef BROKER_MINT_MINTER_IMPL_H
#define BROKER_MINT_MINTER_IMPL_H

#include "mint/minter.h"
#include "vault/vault.h"
#include "ledger/clock.h"
#include "ledger/clock.h"

#include <pthread.h>
#include <stdatomic.h>

#define OLD_MAX 64		/* superseded tokens that are still known, of each */
#define KNOWN_MS 3600000	/* after its end a token may still stand in an answer */

struct old {
	struct secret *token;
	uint32_t version;
	int64_t until_ms;
};

/* One secret; kept until the minter ends. */
struct item {
	struct item *next;
	char name[VAULT_NAME_MAX + 1];
	uint32_t version;
	struct secret *source;	/* what is asked with: of that version, or newer and not yet stored */
	bool unstored;
	bool asked;		/* the first try of this version is over */
	bool wrong;		/* it has not the form */
	bool idle;		/* nobody wants it */
	struct secret *token;	/* NULL: none */
	int64_t until_ms, until_s;
	int64_t ask_ms;		/* when it is to be asked for again */
	int64_t due_ms;		/* that, or earlier where something is still to be stored */
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
	bool started, ended;
	atomic_bool stop, give_up;
	struct item *first;
};

/* The item's token becomes an old one; those that need not be known any more go.  The lock is
 * held. */
void minter_retire(struct item *item);

/* The thread; arg is the minter. */
void *minter_work(void *arg);

#endif
