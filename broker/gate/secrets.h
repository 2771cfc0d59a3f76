/*
 * The secrets that bindings name, as the next request uses them: the current
 * version with its redaction needles.  And one sieve over every secret of the
 * vault, bound or not, in all its active versions, as far as the vault gave them:
 * what no agent should send.
 *
 * A snapshot is immutable and is replaced as a whole when a secret changes or
 * rules are loaded; a request keeps the references that it took.
 */
#ifndef BROKER_GATE_SECRETS_H
#define BROKER_GATE_SECRETS_H

#include "gate/gate.h"
#include "gate/sieve.h"
#include "gate/versions.h"
#include "mint/minter.h"
#include "vault/vault.h"

#include <pthread.h>
#include <stdatomic.h>

struct held;	/* one binding's secret */

struct secrets {
	pthread_rwlock_t lock;
	struct minter *minter;	/* borrowed; NULL: nothing is minted */
	struct rules *rules;	/* referenced: held[] points into their bindings */
	struct held *held;	/* sorted by secret, whether it signs, and Basic user */
	size_t n;
	struct secret **known;	/* referenced */
	size_t n_known;
	struct sieve *sieve;	/* over known */
	struct versions_told told;	/* when they were read */
	_Atomic uint64_t begun;	/* refreshes; one that began before that in place is not put there */
	uint64_t in_place;
	atomic_bool partial;	/* the vault has more, which could not be read: they are not recognised */
};

int secrets_init(struct secrets *secrets, struct minter *minter);
void secrets_clear(struct secrets *secrets);

/* Take what the vault holds for these rules' bindings.  A secret that cannot be read
 * is left out, and with it every request that needs it.  0, or -1 where out of
 * memory: then the old snapshot is gone and nothing is handed out. */
int secrets_refresh(struct secrets *secrets, struct vault *vault,
    struct rules *rules);

enum secrets_result {
	SECRETS_TAKEN,
	SECRETS_NONE,		/* the vault does not give it now */
	SECRETS_MISSING,	/* nor has it */
	SECRETS_REVOKED,
	SECRETS_SHORT,		/* it could not be found in what comes back */
	SECRETS_NO_KEY,		/* it does not sign (aws_keys.h) */
	SECRETS_NO_TOKEN,	/* it is for getting tokens, and there is none now */
	SECRETS_STALE,
	SECRETS_LATER		/* the caller would have to wait */
};

/* Why there is none, and which `countersign secret` command stores one ("" where that
 * would not help). */
const char *secrets_why(enum secrets_result result);
const char *secrets_remedy(enum secrets_result result);

/* What could not be read, and the locked memory that it all wants where that is the
 * reason.  Names and places, for whoever runs the broker. */
void secrets_lack(struct secrets *secrets, char *buf, size_t cap);

/* For one binding, referenced; *needles stays NULL where nothing of the secret goes
 * out.  The vault has the last word: where it has
 * another version by now, or none, the snapshot is stale.  now: the caller must
 * not wait. */
enum secrets_result secrets_take(struct secrets *secrets, struct vault *vault,
    const struct binding *binding, bool now, struct secret **secret,
    struct redact_needles **needles, uint32_t *version);

/* The sieve, held still until secrets_let_go; may be NULL. */
const struct sieve *secrets_hold(struct secrets *secrets);
void secrets_let_go(struct secrets *secrets);

/* Each distinct secret once, during the call, in its parts (secret_parts.h), and every
 * token. */
void secrets_each(struct secrets *secrets,
    void (*each)(void *arg, struct slice secret), void *arg);

#endif
