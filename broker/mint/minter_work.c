/* The thread that gets tokens. */
#include "mint/minter_impl.h"

#include "log.h"
#include "mint/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 30000		/* the clock that is waited by stands while the machine sleeps */
#define STORE_AGAIN_MS 10000
#define ASK_LEAST_MS 1000	/* from one answer to the next question */
#define AGAIN_MAX_MS 60000	/* between tries that may go well */
#define FINAL_AGAIN_MS 600000	/* and where somebody has to do something */
#define RETRY_MAX_MS 3600000	/* as the service may bid us wait at most */

/* Who has waited longest comes first, or slow servers would have all turns. */
static struct item *
next_due(const struct minter *minter, int64_t *wait_ms)
{
	const int64_t now = clock_boot_ms();
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
	const int64_t store_ms = clock_boot_ms() + STORE_AGAIN_MS;

	item->due_ms = item->unstored && store_ms < item->ask_ms ? store_ms :
	    item->ask_ms;
}

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

/* How long an answer that gave no token bids us wait. */
static int64_t
bidden_ms(const struct mint_answer *answer)
{
	const int64_t retry_ms = answer->retry_s < RETRY_MAX_MS / 1000 ? answer->retry_s * 1000 :
	    RETRY_MAX_MS;

	return answer->final && retry_ms < FINAL_AGAIN_MS ? FINAL_AGAIN_MS : retry_ms;
}

static void
failed(struct item *item, const char *why, int64_t least_ms)
{
	int64_t again = (int64_t)1000 << (item->failures < 6 ? item->failures : 6);

	again = again > AGAIN_MAX_MS ? AGAIN_MAX_MS : again;
	if (item->failures++ == 0)
		log_event(LOG_WARNING, "mint_failed", "%s: no token: %s", item->name,
		    why);
	item->asked = true;
	item->ask_ms = clock_boot_ms() + (again < least_ms ? least_ms : again);
	plan(item);
	snprintf(item->why, sizeof(item->why), "%s", why);
}

/* While something is to be stored first, as late as can be: each answer may replace it. */
static int64_t
ask_again(const struct item *item, int64_t began_ms, int64_t life_ms)
{
	const int64_t least = clock_boot_ms() + ASK_LEAST_MS,
	    late = item->unstored ? item->until_ms - STORE_AGAIN_MS : 0;
	int64_t at = began_ms + life_ms / 5 * 4;

	at = at < late ? late : at;
	return at < least ? least : at;
}

static void
keep(struct item *item, struct asking *asking)
{
	const int64_t life_ms = asking->answer.life_s * 1000;

	minter_retire(item);
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

	if (asking->answer.refresh_token == NULL || secret_equal(asking->answer.refresh_token,
	    source->refresh_token, strlen(source->refresh_token)))
		return 0;
	value = mint_source_with(source, secret_bytes(asking->answer.refresh_token));
	/* What could not be read again would be the end of it. */
	if (value != NULL && mint_source_read(slice_of(value), &read, unshown,
	    sizeof(unshown)) == 0) {
		mint_source_free(&read);
		next = secret_new(value, strlen(value));
	}
	secret_text_free(value);
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
		    "memory is out", 0);
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
		failed(item, "its record could not be written", 0);
		return;
	}
	keep(item, asking);
	pthread_cond_broadcast(&minter->changed);
	pthread_mutex_unlock(&minter->lock);
	minter->calls.changed(minter->calls.arg);
	pthread_mutex_lock(&minter->lock);
}

/* No token, but perhaps what the next is asked with. */
static void
take_refusal(struct minter *minter, struct asking *asking, const struct mint_source *source)
{
	struct item *item = asking->item;

	if (asking->answer.refresh_token != NULL && renew(item, asking, source) == 0 &&
	    item->unstored)
		store(minter, item);
	if (still(asking))
		failed(item, asking->why, bidden_ms(&asking->answer));
}

static void
ask(struct minter *minter, struct item *item)
{
	struct asking asking = { .item = item, .source = secret_ref(item->source),
	    .began_ms = clock_boot_ms() };
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
		take_refusal(minter, &asking, &source);
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
	minter_retire(item);
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
	if (item->ask_ms <= clock_boot_ms())
		ask(minter, item);
	else
		plan(item);
}

void *
minter_work(void *arg)
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
		until = clock_after_ms(wait_ms);
		pthread_cond_timedwait(&minter->changed, &minter->lock, &until);
	}
	minter->ended = true;
	pthread_cond_broadcast(&minter->changed);
	pthread_mutex_unlock(&minter->lock);
	return NULL;
}
