#include "mint/minter_impl.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP_MS 5000		/* an answer on its way is waited for: it may replace a refresh token */

/* --- items; the lock is held ---------------------------------------------- */

static struct item *
find(const struct minter *minter, const char *name)
{
	struct item *item = minter->first;

	while (item != NULL && strcmp(item->name, name) != 0)
		item = item->next;
	return item;
}

void
minter_retire(struct item *item)
{
	struct old *old = &item->old[item->next_old];
	const int64_t now = clock_boot_ms();

	for (unsigned i = 0; i < OLD_MAX; i++)
		if (now >= item->old[i].until_ms + KNOWN_MS) {
			secret_unref(item->old[i].token);
			item->old[i].token = NULL;
		}
	if (item->token == NULL)
		return;
	secret_unref(old->token);
	*old = (struct old){ item->token, item->version, item->until_ms };
	item->next_old = (item->next_old + 1) % OLD_MAX;
	item->token = NULL;
}

static void
begin(struct item *item, uint32_t version, struct secret *source)
{
	minter_retire(item);
	secret_unref(item->source);
	item->source = secret_ref(source);
	item->version = version;
	item->unstored = item->asked = item->wrong = item->idle = false;
	item->begun_ms = clock_boot_ms();
	item->due_ms = 0;
	item->failures = 0;
	item->why[0] = '\0';
}

static struct item *
add(struct minter *minter, const char *name)
{
	struct item *item = calloc(1, sizeof(*item));

	if (item == NULL)
		return NULL;
	snprintf(item->name, sizeof(item->name), "%s", name);
	item->idle = true;
	item->next = minter->first;
	minter->first = item;
	return item;
}

/* --- life -------------------------------------------------------------------- */

struct minter *
minter_new(const struct conf *conf)
{
	struct minter *minter = calloc(1, sizeof(*minter));
	pthread_condattr_t monotonic;

	if (minter == NULL)
		return NULL;
	minter->conf = conf;
	if ((minter->multi = curl_multi_init()) == NULL) {
		free(minter);
		return NULL;
	}
	pthread_mutex_init(&minter->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&minter->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return minter;
}

void
minter_wake(struct minter *minter)
{
	curl_multi_wakeup(minter->multi);
}

int
minter_start(struct minter *minter, const struct minter_calls *calls)
{
	sigset_t all, before;
	int rc;

	minter->calls = *calls;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&minter->thread, NULL, minter_work, minter);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	minter->started = rc == 0;
	return rc == 0 ? 0 : -1;
}

void
minter_stop(struct minter *minter)
{
	const struct timespec until = clock_after_ms(STOP_MS);

	if (minter == NULL || !minter->started)
		return;
	pthread_mutex_lock(&minter->lock);
	atomic_store(&minter->stop, true);
	pthread_cond_broadcast(&minter->changed);
	minter_wake(minter);
	while (!minter->ended && pthread_cond_timedwait(&minter->changed,
	    &minter->lock, &until) == 0)
		;
	atomic_store(&minter->give_up, true);
	minter_wake(minter);
	pthread_mutex_unlock(&minter->lock);
	pthread_join(minter->thread, NULL);
	minter->started = false;
}

void
minter_free(struct minter *minter)
{
	struct item *item;

	if (minter == NULL)
		return;
	while ((item = minter->first) != NULL) {
		minter->first = item->next;
		for (unsigned i = 0; i < OLD_MAX; i++)
			secret_unref(item->old[i].token);
		secret_unref(item->token);
		secret_unref(item->source);
		free(item);
	}
	curl_multi_cleanup(minter->multi);
	pthread_cond_destroy(&minter->changed);
	pthread_mutex_destroy(&minter->lock);
	free(minter);
}

/* --- whoever uses them --------------------------------------------------------- */

static enum minter_state
state_of(const struct item *item)
{
	if (item->wrong)
		return MINTER_WRONG;
	if (item->token != NULL && clock_boot_ms() < item->until_ms)
		return MINTER_GOOD;
	return item->asked ? MINTER_NONE : MINTER_ASKING;
}

/* Stored by us a moment ago, and seen before we were told its number? */
static bool
is_ours(const struct item *item, struct secret *source)
{
	struct slice bytes = secret_bytes(source);

	return item->unstored && secret_equal(item->source, bytes.p, bytes.n);
}

enum minter_state
minter_take(struct minter *minter, const char *name, uint32_t version,
    struct secret *source, struct secret **token, int64_t *until_ms)
{
	enum minter_state state = MINTER_NONE;
	struct item *item;

	pthread_mutex_lock(&minter->lock);
	item = find(minter, name);
	if (item == NULL)
		item = add(minter, name);
	if (item != NULL) {
		if ((item->version != version && !is_ours(item, source)) || item->idle) {
			begin(item, version, source);
			minter_wake(minter);
		}
		state = state_of(item);
		*until_ms = item->until_ms;
		if (state == MINTER_GOOD)
			*token = secret_ref(item->token);
	}
	pthread_mutex_unlock(&minter->lock);
	return state;
}

void
minter_hurry(struct minter *minter)
{
	minter_wake(minter);
}

void
minter_login(struct minter *minter, const char *name, uint32_t version, struct secret **source,
    struct secret **token)
{
	const struct item *item;

	*source = *token = NULL;
	pthread_mutex_lock(&minter->lock);
	item = find(minter, name);
	if (item != NULL && !item->idle && (version == 0 || item->version == version)) {
		*source = secret_ref(item->source);
		if (state_of(item) == MINTER_GOOD)
			*token = secret_ref(item->token);
	}
	pthread_mutex_unlock(&minter->lock);
}

const struct conf *
minter_conf(const struct minter *minter)
{
	return minter->conf;
}

void
minter_forget(struct minter *minter, const char *name, uint32_t version)
{
	struct item *item;

	pthread_mutex_lock(&minter->lock);
	item = find(minter, name);
	if (item != NULL && (version == 0 || item->version == version)) {
		minter_retire(item);
		secret_unref(item->source);
		item->source = NULL;
		item->unstored = false;
		item->idle = true;
		minter_wake(minter);
	}
	pthread_mutex_unlock(&minter->lock);
}

void
minter_wait(struct minter *minter, const char *name, int64_t most_ms)
{
	const struct item *item;
	struct timespec until;
	int64_t left;

	pthread_mutex_lock(&minter->lock);
	while (!atomic_load(&minter->stop) && (item = find(minter, name)) != NULL &&
	    !item->idle && state_of(item) == MINTER_ASKING &&
	    (left = item->begun_ms + most_ms - clock_boot_ms()) > 0) {
		until = clock_after_ms(left);
		pthread_cond_timedwait(&minter->changed, &minter->lock, &until);
	}
	pthread_mutex_unlock(&minter->lock);
}

void
minter_each(struct minter *minter, void (*each)(void *arg, const char *name,
    uint32_t version, struct secret *token), void *arg)
{
	const int64_t now = clock_boot_ms();

	pthread_mutex_lock(&minter->lock);
	for (const struct item *item = minter->first; item != NULL; item = item->next) {
		if (item->token != NULL)
			each(arg, item->name, item->version, item->token);
		for (unsigned i = 0; i < OLD_MAX; i++)
			if (item->old[i].token != NULL &&
			    now < item->old[i].until_ms + KNOWN_MS)
				each(arg, item->name, item->old[i].version,
				    item->old[i].token);
	}
	pthread_mutex_unlock(&minter->lock);
}

bool
minter_tell(struct minter *minter, const char *name, int64_t *until_s, char *why,
    size_t cap)
{
	const struct item *item;

	pthread_mutex_lock(&minter->lock);
	item = find(minter, name);
	if (item != NULL && item->idle)
		item = NULL;
	if (item != NULL) {
		*until_s = state_of(item) == MINTER_GOOD ? item->until_s : 0;
		snprintf(why, cap, "%s", state_of(item) == MINTER_ASKING ?
		    "it was asked for, and is not answered yet" : item->why);
	}
	pthread_mutex_unlock(&minter->lock);
	return item != NULL;
}
