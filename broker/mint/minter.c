#include "mint/minter.h"

#include "log.h"
#include "mint/fetch.h"
#include "vault/vault.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#define OLD_MAX 64		/* superseded tokens that are still known, of each */
#define KNOWN_MS 3600000	/* after its end a token may still stand in an answer */
#define LOOK_MS 30000		/* the clock that is waited by stands while the machine sleeps */
#define STORE_AGAIN_MS 10000
#define ASK_LEAST_MS 1000	/* from one answer to the next question */
#define STOP_MS 5000		/* an answer on its way is waited for: it may replace a refresh token */
#define AGAIN_MAX_MS 60000	/* between tries that may go well */
#define FINAL_AGAIN_MS 600000	/* and where somebody has to do something */

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

int64_t
minter_now_ms(void)
{
	struct timespec now = { 0, 0 };

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct timespec
from_now(int64_t ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += (long)(ms % 1000) * 1000000;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/* --- items; the lock is held ---------------------------------------------- */

static struct item *
find(const struct minter *minter, const char *name)
{
	struct item *item = minter->first;

	while (item != NULL && strcmp(item->name, name) != 0)
		item = item->next;
	return item;
}

static void
retire(struct item *item)
{
	struct old *old = &item->old[item->next_old];
	const int64_t now = minter_now_ms();

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
	/* What is still to be stored counts: what is stored is used up. */
	const bool newer = item->unstored && item->version == version;

	retire(item);
	if (!newer) {
		secret_unref(item->source);
		item->source = secret_ref(source);
	}
	item->version = version;
	item->unstored = newer;
	item->asked = item->wrong = item->idle = false;
	item->ask_ms = item->due_ms = 0;
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

/* Who has waited longest comes first, or slow servers would have all turns. */
static struct item *
next_due(const struct minter *minter, int64_t *wait_ms)
{
	const int64_t now = minter_now_ms();
	struct item *first = NULL;

	for (struct item *item = minter->first; item != NULL; item = item->next)
		if (!item->idle && !item->wrong &&
		    (first == NULL || item->due_ms < first->due_ms))
			first = item;
	if (first != NULL && first->due_ms <= now)
		return first;
	*wait_ms = first != NULL && first->due_ms - now < LOOK_MS ?
	    first->due_ms - now : LOOK_MS;
	return NULL;
}

static void
plan(struct item *item)
{
	const int64_t store_ms = minter_now_ms() + STORE_AGAIN_MS;

	item->due_ms = item->unstored && store_ms < item->ask_ms ? store_ms :
	    item->ask_ms;
}

/* --- the thread ------------------------------------------------------------ */

/* What is asked about one item while the lock is not held. */
struct asking {
	struct item *item;
	struct secret *source;	/* referenced: what the item has, unless it was replaced */
	struct mint_answer answer;
	char host[MINT_HOST_MAX], why[256];
	int64_t began_ms;
};

static bool
still(const struct asking *asking)
{
	return asking->item->source == asking->source && !asking->item->idle;
}

static void
failed(struct item *item, const char *why, bool final)
{
	int64_t again = (int64_t)1000 << (item->failures < 6 ? item->failures : 6);

	if (again > AGAIN_MAX_MS)
		again = AGAIN_MAX_MS;
	if (item->failures++ == 0)
		log_event(LOG_WARNING, "mint_failed", "%s: no token: %s", item->name,
		    why);
	item->asked = true;
	item->ask_ms = minter_now_ms() + (final ? FINAL_AGAIN_MS : again);
	plan(item);
	snprintf(item->why, sizeof(item->why), "%s", why);
}

/* While something is to be stored first, as late as can be: each answer may replace it. */
static int64_t
ask_again(const struct item *item, int64_t began_ms, int64_t life_ms)
{
	const int64_t least = minter_now_ms() + ASK_LEAST_MS,
	    late = item->unstored ? item->until_ms - STORE_AGAIN_MS : 0;
	int64_t at = began_ms + life_ms / 5 * 4;

	at = at < late ? late : at;
	return at < least ? least : at;
}

static void
keep(struct item *item, struct asking *asking)
{
	const int64_t life_ms = asking->answer.life_s * 1000;

	retire(item);
	item->token = secret_ref(asking->answer.token);
	/* It is not sent when it is about to end: the way takes time, too. */
	item->until_ms = asking->began_ms + life_ms - (life_ms / 10 < 5000 ?
	    life_ms / 10 : 5000);
	item->until_s = time(NULL) + asking->answer.life_s;
	item->ask_ms = ask_again(item, asking->began_ms, life_ms);
	plan(item);
	if (item->failures > 0)
		log_event(LOG_INFO, "mint_again", "%s: tokens are to be had again",
		    item->name);
	item->failures = 0;
	item->asked = true;
	item->why[0] = '\0';
}

/* The refresh token that counts from now on takes the place of the one before, even
 * where it cannot be stored: the other is used up. */
static int
renew(struct item *item, struct asking *asking, const struct mint_source *source)
{
	struct secret *next = NULL;
	struct mint_source read;
	char *value, unshown[256];

	if (asking->answer.refresh_token == NULL)
		return 0;
	value = mint_source_with(source, secret_bytes(asking->answer.refresh_token));
	/* What could not be read again would be the end of it. */
	if (value != NULL && mint_source_read(slice_of(value), &read, unshown,
	    sizeof(unshown)) == 0) {
		mint_source_free(&read);
		next = secret_new(value, strlen(value));
	}
	if (value != NULL)
		sodium_memzero(value, strlen(value));
	free(value);
	if (next == NULL)
		return -1;
	secret_unref(item->source);
	secret_unref(asking->source);
	item->source = next;
	asking->source = secret_ref(next);
	item->unstored = true;
	return 0;
}

/* The lock is held before and after, not meanwhile. */
static void
store(struct minter *minter, struct item *item)
{
	struct secret *value = secret_ref(item->source);
	uint32_t version = item->version;
	bool stored;

	pthread_mutex_unlock(&minter->lock);
	stored = minter->calls.store(minter->calls.arg, item->name, &version,
	    secret_bytes(value));
	pthread_mutex_lock(&minter->lock);
	if (stored && item->source == value) {
		item->version = version;
		item->unstored = false;
	}
	secret_unref(value);
}

static void
take_answer(struct minter *minter, struct asking *asking,
    const struct mint_source *source)
{
	struct item *item = asking->item;
	uint32_t version;
	int recorded;

	if (renew(item, asking, source) != 0) {
		failed(item, "its new refresh token cannot be stored, or (locked) "
		    "memory is out", false);
		return;
	}
	if (item->unstored)
		store(minter, item);
	if (!still(asking))
		return;
	version = item->version;
	pthread_mutex_unlock(&minter->lock);
	recorded = minter->calls.record(minter->calls.arg, item->name, version,
	    asking->host, time(NULL) + asking->answer.life_s);
	pthread_mutex_lock(&minter->lock);
	if (!still(asking))
		return;
	if (recorded != 0) {
		failed(item, "its record could not be written", false);
		return;
	}
	keep(item, asking);
	pthread_cond_broadcast(&minter->changed);
	pthread_mutex_unlock(&minter->lock);
	minter->calls.changed(minter->calls.arg);
	pthread_mutex_lock(&minter->lock);
}

static void
ask(struct minter *minter, struct item *item)
{
	struct asking asking = { .item = item, .source = secret_ref(item->source),
	    .began_ms = minter_now_ms() };
	struct mint_source source;
	int got = -1;
	bool formed;

	pthread_mutex_unlock(&minter->lock);
	formed = mint_source_read(secret_bytes(asking.source), &source, asking.why,
	    sizeof(asking.why)) == 0;
	if (formed)
		got = mint_fetch(minter->conf, &source, &minter->give_up, &asking.answer, asking.host,
		    asking.why, sizeof(asking.why));
	pthread_mutex_lock(&minter->lock);
	if (still(&asking) && !formed) {
		item->wrong = item->asked = true;
		snprintf(item->why, sizeof(item->why), "%s", asking.why);
	} else if (still(&asking) && got != 0)
		failed(item, asking.why, asking.answer.final);
	else if (still(&asking))
		take_answer(minter, &asking, &source);
	pthread_cond_broadcast(&minter->changed);
	if (formed)
		mint_source_free(&source);
	mint_answer_release(&asking.answer);
	secret_unref(asking.source);
}

/* Whoever revoked it, or took its binding away, wants no more of them. */
static bool
let_go(struct minter *minter, struct item *item)
{
	struct secret *source = secret_ref(item->source);
	const uint32_t version = item->version;
	bool unwanted;

	pthread_mutex_unlock(&minter->lock);
	unwanted = !minter->calls.wanted(minter->calls.arg, item->name, version);
	pthread_mutex_lock(&minter->lock);
	unwanted = unwanted && item->source == source;
	secret_unref(source);
	if (!unwanted)
		return false;
	retire(item);
	item->idle = true;
	return true;
}

/* Who asked for a first token wants it: his rules may not even be in force yet. */
static void
attend(struct minter *minter, struct item *item)
{
	if (item->asked && let_go(minter, item))
		return;
	if (item->unstored)
		store(minter, item);
	if (item->ask_ms <= minter_now_ms())
		ask(minter, item);
	else
		plan(item);
}

static void *
work(void *arg)
{
	struct minter *minter = arg;
	struct timespec until;
	struct item *item;
	int64_t wait_ms;

	pthread_mutex_lock(&minter->lock);
	while (!atomic_load(&minter->stop)) {
		item = next_due(minter, &wait_ms);
		if (item != NULL) {
			attend(minter, item);
			continue;
		}
		until = from_now(wait_ms);
		pthread_cond_timedwait(&minter->changed, &minter->lock, &until);
	}
	minter->ended = true;
	pthread_cond_broadcast(&minter->changed);
	pthread_mutex_unlock(&minter->lock);
	return NULL;
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
	pthread_mutex_init(&minter->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&minter->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return minter;
}

int
minter_start(struct minter *minter, const struct minter_calls *calls)
{
	sigset_t all, before;
	int rc;

	minter->calls = *calls;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&minter->thread, NULL, work, minter);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	minter->started = rc == 0;
	return rc == 0 ? 0 : -1;
}

void
minter_stop(struct minter *minter)
{
	const struct timespec until = from_now(STOP_MS);

	if (minter == NULL || !minter->started)
		return;
	pthread_mutex_lock(&minter->lock);
	atomic_store(&minter->stop, true);
	pthread_cond_broadcast(&minter->changed);
	while (!minter->ended && pthread_cond_timedwait(&minter->changed,
	    &minter->lock, &until) == 0)
		;
	atomic_store(&minter->give_up, true);
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
	if (item->token != NULL && minter_now_ms() < item->until_ms)
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
			pthread_cond_broadcast(&minter->changed);
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
	pthread_mutex_lock(&minter->lock);
	pthread_cond_broadcast(&minter->changed);
	pthread_mutex_unlock(&minter->lock);
}

void
minter_wait(struct minter *minter, const char *name, int64_t most_ms)
{
	const struct timespec until = from_now(most_ms);
	const struct item *item;

	pthread_mutex_lock(&minter->lock);
	while (!atomic_load(&minter->stop) && (item = find(minter, name)) != NULL &&
	    state_of(item) == MINTER_ASKING)
		if (pthread_cond_timedwait(&minter->changed, &minter->lock, &until) != 0)
			break;
	pthread_mutex_unlock(&minter->lock);
}

void
minter_each(struct minter *minter, void (*each)(void *arg, const char *name,
    uint32_t version, struct secret *token), void *arg)
{
	const int64_t now = minter_now_ms();

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
		snprintf(why, cap, "%s", item->why);
	}
	pthread_mutex_unlock(&minter->lock);
	return item != NULL;
}
