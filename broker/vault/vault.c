/*
 * Names, the cache and the order of things; the stores do the rest.
 *
 * Two locks.  `store` is held around every call of the store, which may read,
 * write and wait for the disk.  `cache` is held for moments, so that a request
 * finds its secret while another thread is busy storing.  A secret enters the
 * cache under both, and put and revoke forget the name under both, so no
 * loader can bring back what was just replaced.  What is withheld is marked
 * under `cache` alone, since a store may take long to answer: a loader looks at
 * the marks after it has the secret.
 *
 * A store that waits for somebody else and got no answer is not asked for secrets
 * again for a second: all who wait behind one that waited in vain are told the same.
 */
#include "vault/vault.h"
#include "vault/listing.h"
#include "vault/withheld.h"
#include "ledger/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BUCKETS 256
#define CACHED_MAX 1024		/* at least a locked page each */
#define FAILED_MS 1000
#define LIST_WAIT_MS 1000

struct cached {
	struct cached *next;
	char name[VAULT_NAME_MAX + 1];
	uint32_t version;
	bool newest;		/* what version 0 asks for */
	struct secret *secret;
};

struct vault {
	const struct vault_ops *ops;
	void *ctx;
	pthread_mutex_t store;
	pthread_rwlock_t cache;
	struct cached *buckets[BUCKETS];
	size_t n_cached;
	struct withheld *withheld;
	struct listing known;	/* of a store that waits: what it listed last, under `cache` */
	bool listed;		/* ever */
	atomic_long asked_s;	/* when ops->changed was last called */
	/* Under `store`: what it said when it was last asked in vain. */
	struct vault_error failed;
	int64_t failed_ms;
};

static bool
name_char(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
		return true;
	return !first && (c == '.' || c == '_' || c == '-');
}

bool
vault_name_ok(const char *name)
{
	size_t i;

	if (name == NULL || name[0] == '\0')
		return false;
	for (i = 0; name[i] != '\0'; i++)
		if (i == VAULT_NAME_MAX || !name_char(name[i], i == 0))
			return false;
	return true;
}

static enum vault_status
check_name(const char *name, struct vault_error *err)
{
	if (vault_name_ok(name))
		return VAULT_OK;
	return vault_fail(err, VAULT_INVALID, "a secret's name is 1 to %d of "
	    "a-z 0-9 . _ - and begins with a letter or digit", VAULT_NAME_MAX);
}

struct vault *
vault_new(const struct vault_ops *ops, void *ctx)
{
	struct vault *vault;

	if ((vault = calloc(1, sizeof(*vault))) == NULL)
		return NULL;
	vault->ops = ops;
	vault->ctx = ctx;
	pthread_mutex_init(&vault->store, NULL);
	pthread_rwlock_init(&vault->cache, NULL);
	return vault;
}

const char *
vault_backend(const struct vault *vault)
{
	return vault->ops->backend;
}

/* --- the cache --------------------------------------------------------- */

static struct cached **
bucket_of(struct vault *vault, const char *name)
{
	uint32_t h = 2166136261u;	/* FNV-1a */

	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	return &vault->buckets[h % BUCKETS];
}

/* Unlink every entry of name, or every entry for NULL; caller holds both. */
static void
forget_in(struct vault *vault, struct cached **at, const char *name)
{
	struct cached *entry;

	while ((entry = *at) != NULL) {
		if (name != NULL && strcmp(entry->name, name) != 0) {
			at = &entry->next;
			continue;
		}
		*at = entry->next;
		secret_unref(entry->secret);
		free(entry);
		vault->n_cached--;
	}
}

static void
forget(struct vault *vault, const char *name)
{
	size_t i;

	pthread_rwlock_wrlock(&vault->cache);
	if (name != NULL)
		forget_in(vault, bucket_of(vault, name), name);
	for (i = 0; name == NULL && i < BUCKETS; i++)
		forget_in(vault, &vault->buckets[i], NULL);
	pthread_rwlock_unlock(&vault->cache);
}

static struct secret *
find(struct vault *vault, const char *name, uint32_t version, uint32_t *got)
{
	struct secret *secret = NULL;
	struct cached *entry;

	pthread_rwlock_rdlock(&vault->cache);
	for (entry = *bucket_of(vault, name); entry != NULL; entry = entry->next)
		if ((version == 0 ? entry->newest : entry->version == version) &&
		    strcmp(entry->name, name) == 0) {
			secret = secret_ref(entry->secret);
			if (got != NULL)
				*got = entry->version;
			break;
		}
	pthread_rwlock_unlock(&vault->cache);
	return secret;
}

/* Best effort: without memory, or when full, the next request asks the store. */
static void
remember(struct vault *vault, const char *name, uint32_t version, bool newest,
    struct secret *secret)
{
	struct cached *entry, **at;

	if (vault->n_cached >= CACHED_MAX)
		forget(vault, NULL);
	if ((entry = calloc(1, sizeof(*entry))) == NULL)
		return;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	entry->version = version;
	entry->newest = newest;
	entry->secret = secret_ref(secret);

	at = bucket_of(vault, name);
	pthread_rwlock_wrlock(&vault->cache);
	if (withheld_since(vault->withheld, name, version) != 0) {
		pthread_rwlock_unlock(&vault->cache);
		secret_unref(entry->secret);
		free(entry);
		return;
	}
	entry->next = *at;
	*at = entry;
	vault->n_cached++;
	pthread_rwlock_unlock(&vault->cache);
}

static int64_t
withheld_here(struct vault *vault, const char *name, uint32_t version)
{
	int64_t since;

	pthread_rwlock_rdlock(&vault->cache);
	since = withheld_since(vault->withheld, name, version);
	pthread_rwlock_unlock(&vault->cache);
	return since;
}

/* Once a second, by whichever thread comes first: did another process change
 * the store?  Everybody else passes for the price of reading a clock. */
static void
look_around(struct vault *vault)
{
	struct timespec now;
	long asked;

	if (vault->ops->changed == NULL)
		return;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	asked = atomic_load_explicit(&vault->asked_s, memory_order_relaxed);
	if (asked == (long)now.tv_sec || !atomic_compare_exchange_strong(
	    &vault->asked_s, &asked, (long)now.tv_sec))
		return;
	if (pthread_mutex_trylock(&vault->store) != 0)
		return;		/* whoever holds it looks at the store anyway */
	if (vault->ops->changed(vault->ctx))
		forget(vault, NULL);
	pthread_mutex_unlock(&vault->store);
}

/* --- what callers use -------------------------------------------------- */

enum vault_status
vault_put(struct vault *vault, const char *name, const void *bytes, size_t len,
    bool rotate, uint32_t *version, struct vault_error *err)
{
	enum vault_status status;
	const char *why;
	uint32_t made = 0;

	if ((status = check_name(name, err)) != VAULT_OK)
		return status;
	if ((why = secret_check(bytes, &len)) != NULL)
		return vault_fail(err, VAULT_INVALID, "the secret %s", why);

	pthread_mutex_lock(&vault->store);
	status = vault->ops->put(vault->ctx, name, bytes, len, rotate, &made, err);
	forget(vault, name);	/* also after a failure: ask the store again */
	if (status == VAULT_OK) {
		pthread_rwlock_wrlock(&vault->cache);
		withheld_made(&vault->withheld, name, made);
		if (vault->listed)
			listing_add(&vault->known, name, made,
			    (int64_t)time(NULL), 0);
		pthread_rwlock_unlock(&vault->cache);
	}
	pthread_mutex_unlock(&vault->store);
	if (status == VAULT_OK && version != NULL)
		*version = made;
	return status;
}

/* Caller holds `store`. */
static bool
failed_just_now(const struct vault *vault, struct vault_error *err)
{
	if (vault->failed.status != VAULT_IO ||
	    clock_ms() - vault->failed_ms >= FAILED_MS)
		return false;
	if (err != NULL)
		*err = vault->failed;
	return true;
}

/* Caller holds `store`. */
static enum vault_status
noted(struct vault *vault, enum vault_status status,
    const struct vault_error *error, struct vault_error *err)
{
	if (status != VAULT_OK && err != NULL)
		*err = *error;
	vault->failed = (struct vault_error){ .status = VAULT_OK };
	if (status == VAULT_IO && vault->ops->waits) {
		vault->failed = *error;
		vault->failed_ms = clock_ms();
	}
	return status;
}

static enum vault_status
ask_store(struct vault *vault, const char *name, uint32_t version,
    struct secret **out, uint32_t *found, struct vault_error *err)
{
	struct vault_error error = { .status = VAULT_OK };
	enum vault_status status;

	if (failed_just_now(vault, err))
		return VAULT_IO;
	status = noted(vault, vault->ops->get(vault->ctx, name, version, out,
	    found, &error), &error, err);
	if (status == VAULT_OK)
		remember(vault, name, *found, version == 0, *out);
	return status;
}

static enum vault_status
load(struct vault *vault, const char *name, uint32_t version,
    struct secret **out, uint32_t *got, struct vault_error *err)
{
	enum vault_status status = VAULT_OK;
	uint32_t found = 0;

	pthread_mutex_lock(&vault->store);
	/* Another thread may have brought it while we waited. */
	if ((*out = find(vault, name, version, &found)) == NULL)
		status = ask_store(vault, name, version, out, &found, err);
	pthread_mutex_unlock(&vault->store);
	if (status == VAULT_OK && withheld_here(vault, name, found) != 0) {
		secret_unref(*out);
		*out = NULL;
		status = version == 0 ? vault_current_revoked(err, name, found) :
		    vault_fail(err, VAULT_REVOKED, "%s version %u is revoked",
		    name, found);
	}
	if (status == VAULT_OK && got != NULL)
		*got = found;
	return status;
}

static enum vault_status
get(struct vault *vault, const char *name, uint32_t version, bool now,
    struct secret **out, uint32_t *got, struct vault_error *err)
{
	enum vault_status status;

	*out = NULL;
	if ((status = check_name(name, err)) != VAULT_OK)
		return status;
	look_around(vault);
	if ((*out = find(vault, name, version, got)) != NULL)
		return VAULT_OK;
	if (now && vault->ops->waits)
		return vault_fail(err, VAULT_LATER, "the store is to be asked");
	return load(vault, name, version, out, got, err);
}

enum vault_status
vault_get(struct vault *vault, const char *name, uint32_t version,
    struct secret **out, uint32_t *got, struct vault_error *err)
{
	return get(vault, name, version, false, out, got, err);
}

enum vault_status
vault_get_now(struct vault *vault, const char *name, uint32_t version,
    struct secret **out, uint32_t *got, struct vault_error *err)
{
	return get(vault, name, version, true, out, got, err);
}

bool
vault_waits(const struct vault *vault)
{
	return vault->ops->waits;
}

enum vault_status
vault_withhold(struct vault *vault, const char *name, uint32_t version,
    struct vault_error *err)
{
	enum vault_status status;
	bool added;

	if ((status = check_name(name, err)) != VAULT_OK)
		return status;
	pthread_rwlock_wrlock(&vault->cache);
	added = withheld_add(&vault->withheld, name, version,
	    (int64_t)time(NULL));
	forget_in(vault, bucket_of(vault, name), name);
	pthread_rwlock_unlock(&vault->cache);
	return added ? VAULT_OK : vault_fail(err, VAULT_IO, "out of memory");
}

enum vault_status
vault_revoke(struct vault *vault, const char *name, uint32_t version,
    struct vault_error *err)
{
	enum vault_status status;

	if ((status = check_name(name, err)) != VAULT_OK)
		return status;
	vault_withhold(vault, name, version, NULL);	/* the store decides all the same */
	pthread_mutex_lock(&vault->store);
	status = vault->ops->revoke(vault->ctx, name, version, err);
	forget(vault, name);
	if (status == VAULT_OK || status == VAULT_REVOKED ||
	    status == VAULT_MISSING) {
		pthread_rwlock_wrlock(&vault->cache);
		listing_revoke(&vault->known, name, version, (int64_t)time(NULL));
		withheld_lift(&vault->withheld, name, version);
		pthread_rwlock_unlock(&vault->cache);
	}
	pthread_mutex_unlock(&vault->store);
	return status;
}

static void
list_one(void *arg, const char *name, uint32_t version, int64_t created_s,
    int64_t revoked_s)
{
	listing_add(arg, name, version, created_s, revoked_s);
}

/* Caller holds `store`. */
static enum vault_status
ask_list(struct vault *vault, struct listing *out, struct vault_error *err)
{
	struct vault_error error = { .status = VAULT_OK };
	enum vault_status status;

	if (failed_just_now(vault, err))
		return VAULT_IO;
	status = noted(vault, vault->ops->list(vault->ctx, list_one, out, &error),
	    &error, err);
	return status == VAULT_OK && out->failed ?
	    vault_fail(err, VAULT_IO, "out of memory") : status;
}

/* Not under a lock: each may ask for what is listed. */
static void
give_list(struct vault *vault, const struct listing *listing,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg)
{
	for (size_t i = 0; i < listing->n; i++) {
		const struct listed *one = &listing->all[i];
		struct vault_entry entry = { one->name, one->version,
		    one->created_s, one->revoked_s };

		if (entry.revoked_s == 0)
			entry.revoked_s = withheld_here(vault, one->name,
			    one->version);
		each(arg, &entry);
	}
}

/* Takes it over where it is one to be remembered. */
static void
remember_list(struct vault *vault, enum vault_status status, struct listing *fresh)
{
	struct listing old = *fresh;

	if (status == VAULT_OK && vault->ops->waits) {
		pthread_rwlock_wrlock(&vault->cache);
		old = vault->known;
		vault->known = *fresh;
		vault->listed = true;
		pthread_rwlock_unlock(&vault->cache);
	}
	listing_free(&old);
}

enum vault_status
vault_list(struct vault *vault,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg,
    struct vault_error *err)
{
	struct listing fresh = { .n = 0 };
	enum vault_status status;

	pthread_mutex_lock(&vault->store);
	status = ask_list(vault, &fresh, err);
	pthread_mutex_unlock(&vault->store);
	give_list(vault, &fresh, each, arg);	/* what there is of it */
	remember_list(vault, status, &fresh);
	return status;
}

/* Somebody else may be waiting for it already. */
static enum vault_status
ask_list_soon(struct vault *vault, struct listing *out, struct vault_error *err)
{
	enum vault_status status;
	struct timespec until = clock_after_ms(LIST_WAIT_MS);

	if (pthread_mutex_clocklock(&vault->store, CLOCK_MONOTONIC, &until) != 0)
		return vault_fail(err, VAULT_IO, "the vault's store has not answered "
		    "yet");
	status = ask_list(vault, out, err);
	pthread_mutex_unlock(&vault->store);
	return status;
}

enum vault_status
vault_list_known(struct vault *vault,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg,
    struct vault_error *err)
{
	struct listing list = { .n = 0 }, known = { .n = 0 };
	enum vault_status status;
	bool listed = false;

	if (!vault->ops->waits)
		return vault_list(vault, each, arg, err);
	if ((status = ask_list_soon(vault, &list, err)) == VAULT_OK) {
		give_list(vault, &list, each, arg);
	} else {
		pthread_rwlock_rdlock(&vault->cache);
		if ((listed = vault->listed))
			listing_copy(&known, &vault->known);
		pthread_rwlock_unlock(&vault->cache);
		give_list(vault, &known, each, arg);
		listing_free(&known);
	}
	remember_list(vault, status, &list);
	return listed ? VAULT_LATER : status;
}

bool
vault_edition(struct vault *vault, struct vault_edition *out)
{
	if (vault->ops->edition == NULL)
		return false;
	pthread_mutex_lock(&vault->store);
	vault->ops->edition(vault->ctx, out);
	pthread_mutex_unlock(&vault->store);
	return true;
}

enum vault_status
vault_raise(struct vault *vault, uint64_t above, struct vault_error *err)
{
	enum vault_status status;

	if (vault->ops->raise == NULL)
		return VAULT_OK;
	pthread_mutex_lock(&vault->store);
	status = vault->ops->raise(vault->ctx, above, err);
	pthread_mutex_unlock(&vault->store);
	return status;
}

void
vault_close(struct vault *vault)
{
	if (vault == NULL)
		return;
	forget(vault, NULL);
	withheld_clear(&vault->withheld);
	listing_free(&vault->known);
	vault->ops->close(vault->ctx);
	pthread_rwlock_destroy(&vault->cache);
	pthread_mutex_destroy(&vault->store);
	free(vault);
}
