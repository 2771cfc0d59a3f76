#include "gate/secrets.h"

#include "aws_keys.h"
#include "gate/impl.h"
#include "gate/locked.h"
#include "mint/source.h"
#include "redact/redact.h"
#include "secret_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct held {
	const char *name, *user;	/* the binding's */
	bool signs;			/* it is a key that signs (aws_keys.h) */
	struct secret *secret;		/* NULL, as needles: too short, or of the wrong form, to be used */
	bool minted;			/* secret is a token, good until until_ms; NULL: there is none */
	int64_t until_ms;		/* clock_boot_ms */
	struct redact_needles *needles;	/* NULL: nothing of it goes out */
	uint32_t version;
};

int
secrets_init(struct secrets *secrets, struct minter *minter)
{
	*secrets = (struct secrets){ .minter = minter };
	return pthread_rwlock_init(&secrets->lock, NULL) == 0 ? 0 : -1;
}

/* Those that the sieve looks for. */
struct known {
	struct secret **all;
	size_t n, cap;
	bool failed;
	bool partial;		/* the vault did not give them all */
	struct versions_told told;
};

static void
known_free(struct secret **all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		secret_unref(all[i]);
	free(all);
}

static void
held_free(struct held *held, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		secret_unref(held[i].secret);
		redact_needles_unref(held[i].needles);
	}
	free(held);
}

void
secrets_clear(struct secrets *secrets)
{
	sieve_free(secrets->sieve);
	known_free(secrets->known, secrets->n_known);
	held_free(secrets->held, secrets->n);
	rules_unref(secrets->rules);
	pthread_rwlock_destroy(&secrets->lock);
}

static int
held_order(const void *a, const void *b)
{
	const struct held *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	if (c == 0)
		c = x->signs - y->signs;
	return c != 0 ? c : strcmp(x->user, y->user);
}

static const char *
user_of(const struct binding *binding)
{
	return binding->placement.kind == PLACE_BASIC ?
	    binding->placement.user : "";
}

static struct held
held_for(const struct binding *binding)
{
	return (struct held){ .name = binding->secret, .user = user_of(binding),
	    .signs = binding->placement.kind == PLACE_SIGV4 };
}

/* What every binding names, each once; the count. */
static size_t
pairs(const struct bindings *bindings, struct held *out)
{
	size_t n = bindings_count(bindings), kept = 0;

	for (size_t i = 0; i < n; i++)
		out[i] = held_for(bindings_at(bindings, i));
	qsort(out, n, sizeof(*out), held_order);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || held_order(&out[kept - 1], &out[i]) != 0)
			out[kept++] = out[i];
	return kept;
}

/* Working them out takes milliseconds: those of a version that is held already
 * serve again. */
static struct redact_needles *
needles_for(struct secrets *old, const struct held *held, struct slice goes_out)
{
	struct slice bytes = secret_bytes(held->secret);
	struct redact_needles *needles = NULL;
	const struct held *same = NULL;

	pthread_rwlock_rdlock(&old->lock);
	if (old->n > 0)
		same = bsearch(held, old->held, old->n, sizeof(*held), held_order);
	if (same != NULL && same->secret != NULL && same->version == held->version &&
	    secret_equal(same->secret, bytes.p, bytes.n))
		needles = redact_needles_ref(same->needles);
	pthread_rwlock_unlock(&old->lock);
	return needles != NULL ? needles : redact_needles_new(goes_out,
	    held->user[0] != '\0' ? held->user : NULL);
}

/* The part of a secret that goes out with a request; p NULL where it has not the
 * form for it. */
static struct slice
what_goes_out(const struct held *held)
{
	struct slice bytes = secret_bytes(held->secret);
	struct aws_keys keys;

	if (!held->signs)
		return bytes;
	if (!aws_keys_read(bytes, &keys))
		return (struct slice){ NULL, 0 };
	return keys.token.n > 0 ? keys.token : (struct slice){ bytes.p, 0 };
}

/* Too short to be found again, or no key: so much is known of this version. */
static int
hold_unusable(struct held *held)
{
	secret_unref(held->secret);
	held->secret = NULL;
	return 1;
}

/* The token in place of what it is got with. */
static void
put_token(struct secrets *old, struct held *held)
{
	struct secret *source = held->secret;

	held->secret = NULL;
	held->minted = true;
	if (old->minter != NULL)
		(void)minter_take(old->minter, held->name, held->version, source,
		    &held->secret, &held->until_ms);
	secret_unref(source);
}

/* 1 where it is held now, 0 where the vault has none to use, -1. */
static int
fetch(struct secrets *old, struct held *held, struct vault *vault)
{
	struct vault_error error;
	struct slice goes_out;

	if (vault_get(vault, held->name, 0, &held->secret, &held->version,
	    &error) != VAULT_OK)
		return 0;
	if (mint_source_p(secret_bytes(held->secret))) {
		if (held->signs)
			return hold_unusable(held);	/* no token is a key */
		put_token(old, held);
	}
	if (held->secret == NULL)
		return 1;
	goes_out = what_goes_out(held);
	if (goes_out.p == NULL)
		return hold_unusable(held);
	if (goes_out.n == 0)
		return 1;
	errno = 0;
	held->needles = needles_for(old, held, goes_out);
	if (held->needles != NULL)
		return 1;
	return errno == EINVAL ? hold_unusable(held) : -1;
}

static int
fetch_all(struct secrets *old, struct held *held, size_t *n, struct vault *vault)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		int got = fetch(old, &held[i], vault);

		if (got == -1) {
			held[kept] = held[i];
			*n = kept + 1;
			return -1;
		}
		if (got == 1)
			held[kept++] = held[i];
	}
	*n = kept;
	return 0;
}

static void
know(struct known *known, struct secret *secret)
{
	size_t cap = known->cap == 0 ? 64 : 2 * known->cap;
	struct secret **grown;

	if (known->n == known->cap) {
		grown = reallocarray(known->all, cap, sizeof(*grown));
		if (grown == NULL) {
			known->failed = true;
			return;
		}
		known->all = grown;
		known->cap = cap;
	}
	known->all[known->n++] = secret_ref(secret);
}

static void
know_version(void *arg, const char *name, uint32_t version,
    struct secret *secret)
{
	know(arg, secret);
}

/* What bindings use is known even where the vault cannot list now. */
static struct sieve *
sieve_over(struct secrets *old, struct vault *vault, const struct held *held, size_t n,
    struct known *known)
{
	struct slice *needles;
	struct sieve *sieve;

	known->partial = !versions_each(vault, know_version, known,
	    &known->told);
	if (known->partial)
		for (size_t i = 0; i < n; i++)
			if (held[i].secret != NULL && !versions_one(held[i].name,
			    held[i].version, held[i].secret, know_version, known))
				known->failed = true;
	if (old->minter != NULL)
		minter_each(old->minter, know_version, known);
	needles = calloc(known->n + 1, sizeof(*needles));
	if (needles == NULL || known->failed) {
		free(needles);
		return NULL;
	}
	for (size_t i = 0; i < known->n; i++)
		needles[i] = secret_bytes(known->all[i]);
	sieve = sieve_new(needles, known->n);
	free(needles);
	return sieve;
}

int
secrets_refresh(struct secrets *secrets, struct vault *vault,
    struct rules *rules)
{
	const uint64_t turn = atomic_fetch_add(&secrets->begun, 1) + 1;
	const struct bindings *bindings = rules_bindings(rules);
	struct known known = { .n = 0 };
	struct secrets old = { .held = NULL };
	struct sieve *sieve = NULL;
	struct held *held;
	size_t n = 0;

	held = calloc(bindings_count(bindings) + 1, sizeof(*held));
	if (held != NULL) {
		n = pairs(bindings, held);
		if (fetch_all(secrets, held, &n, vault) == 0)
			sieve = sieve_over(secrets, vault, held, n, &known);
		if (sieve == NULL) {
			held_free(held, n);
			known_free(known.all, known.n);
			known = (struct known){ .partial = true, .told = known.told };
			held = NULL;
			n = 0;
		}
	}

	pthread_rwlock_wrlock(&secrets->lock);
	/* Who began later has seen what changed since. */
	if (turn < secrets->in_place) {
		pthread_rwlock_unlock(&secrets->lock);
		sieve_free(sieve);
		known_free(known.all, known.n);
		held_free(held, n);
		return 0;
	}
	secrets->in_place = turn;
	old.held = secrets->held;
	old.n = secrets->n;
	old.sieve = secrets->sieve;
	old.known = secrets->known;
	old.n_known = secrets->n_known;
	old.rules = secrets->rules;
	secrets->held = held;
	secrets->n = n;
	secrets->sieve = sieve;
	secrets->known = known.all;
	secrets->n_known = known.n;
	secrets->partial = known.partial;
	secrets->told = known.told;
	secrets->rules = rules_ref(rules);
	pthread_rwlock_unlock(&secrets->lock);

	sieve_free(old.sieve);
	known_free(old.known, old.n_known);
	held_free(old.held, old.n);
	rules_unref(old.rules);
	return held != NULL ? 0 : -1;
}

void
secrets_lack(struct secrets *secrets, char *buf, size_t cap)
{
	char want[GATE_WHY_MAX];
	size_t used;

	pthread_rwlock_rdlock(&secrets->lock);
	used = secrets->rules == NULL ? 0 :
	    bindings_count(rules_bindings(secrets->rules));
	locked_want(secrets->told.listed > used ? secrets->told.listed : used, used,
	    want, sizeof(want));
	snprintf(buf, cap, "%s%s", secrets->told.why[0] != '\0' ?
	    secrets->told.why : "out of (locked) memory", want);
	pthread_rwlock_unlock(&secrets->lock);
}

/* Has the minter another, or does it not know that one is wanted? */
static bool
token_stale(struct secrets *secrets, const char *name)
{
	int64_t until_s = 0;
	char why[8];

	if (secrets->minter == NULL)
		return false;
	minter_hurry(secrets->minter);
	return !minter_tell(secrets->minter, name, &until_s, why, sizeof(why)) ||
	    until_s != 0;
}

/* Of one that is held: is it to be used, and what is taken in the place of the vault's
 * value?  A store that began anew may give other bytes under the same number. */
static enum secrets_result
use(struct secrets *secrets, const struct held *held, struct secret **secret)
{
	const struct slice value = secret_bytes(*secret);

	if (held->signs && mint_source_p(value))
		return SECRETS_NO_KEY;
	if (mint_source_p(value) != held->minted || (!held->minted &&
	    held->secret != NULL && !secret_equal(held->secret, value.p, value.n)))
		return SECRETS_STALE;
	if (!held->minted)
		return held->secret != NULL ? SECRETS_TAKEN :
		    held->signs ? SECRETS_NO_KEY : SECRETS_SHORT;
	if (held->secret == NULL || clock_boot_ms() >= held->until_ms)
		return token_stale(secrets, held->name) ? SECRETS_STALE : SECRETS_NO_TOKEN;
	secret_unref(*secret);
	*secret = secret_ref(held->secret);
	return SECRETS_TAKEN;
}

enum secrets_result
secrets_take(struct secrets *secrets, struct vault *vault,
    const struct binding *binding, bool now, struct secret **secret,
    struct redact_needles **needles, uint32_t *version)
{
	const struct held key = held_for(binding);
	enum secrets_result result = SECRETS_STALE;
	const struct held *held = NULL;
	struct vault_error error;

	if ((now ? vault_get_now : vault_get)(vault, binding->secret, 0, secret,
	    version, &error) != VAULT_OK)
		return error.status == VAULT_REVOKED ? SECRETS_REVOKED :
		    error.status == VAULT_MISSING ? SECRETS_MISSING :
		    error.status == VAULT_LATER ? SECRETS_LATER : SECRETS_NONE;
	pthread_rwlock_rdlock(&secrets->lock);
	if (secrets->n > 0)
		held = bsearch(&key, secrets->held, secrets->n, sizeof(*held),
		    held_order);
	if (held != NULL && held->version == *version) {
		result = use(secrets, held, secret);
		if (result == SECRETS_TAKEN && held->needles != NULL)
			*needles = redact_needles_ref(held->needles);
	}
	pthread_rwlock_unlock(&secrets->lock);
	if (result != SECRETS_TAKEN) {
		secret_unref(*secret);
		*secret = NULL;
	}
	return result;
}

const char *
secrets_why(enum secrets_result result)
{
	switch (result) {
	case SECRETS_REVOKED:
		return "the current version of its secret is revoked";
	case SECRETS_MISSING:
		return "its secret is not in the vault";
	case SECRETS_SHORT:
		return "its secret is too short to be told from ordinary text in an "
		    "answer";
	case SECRETS_NO_KEY:
		return "its secret is no key that signs, aws:KEY-ID:SECRET-KEY";
	case SECRETS_NO_TOKEN:
		return "no token was to be had with its secret; `countersign secret "
		    "list` says why";
	default:
		return "the vault does not give its secret now";
	}
}

const char *
secrets_remedy(enum secrets_result result)
{
	return result == SECRETS_MISSING ? "put" : result == SECRETS_REVOKED ||
	    result == SECRETS_SHORT || result == SECRETS_NO_KEY ? "rotate" : "";
}

const struct sieve *
secrets_hold(struct secrets *secrets)
{
	pthread_rwlock_rdlock(&secrets->lock);
	return secrets->sieve;
}

void
secrets_let_go(struct secrets *secrets)
{
	pthread_rwlock_unlock(&secrets->lock);
}

struct giving {
	void (*each)(void *arg, struct slice secret);
	void *arg;
};

static bool
give_part(void *arg, struct slice part)
{
	const struct giving *giving = arg;

	giving->each(giving->arg, part);
	return true;
}

static void
give_token(void *arg, const char *name, uint32_t version, struct secret *token)
{
	const struct giving *giving = arg;

	giving->each(giving->arg, secret_bytes(token));
}

void
secrets_each(struct secrets *secrets,
    void (*each)(void *arg, struct slice secret), void *arg)
{
	struct giving giving = { each, arg };

	if (secrets->minter != NULL)
		minter_each(secrets->minter, give_token, &giving);
	pthread_rwlock_rdlock(&secrets->lock);
	for (size_t i = 0; i < secrets->n; i++)
		if (!secrets->held[i].minted && secrets->held[i].secret != NULL && (i == 0 ||
		    strcmp(secrets->held[i - 1].name,
		    secrets->held[i].name) != 0))
			(void)secret_parts(secret_bytes(secrets->held[i].secret),
			    give_part, &giving);
	pthread_rwlock_unlock(&secrets->lock);
}
