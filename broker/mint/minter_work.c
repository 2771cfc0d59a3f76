/* The thread that gets tokens. */
#include "mint/minter_impl.h"

#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_MAX 16		/* questions on their way at a time */
#define LOOK_MS 30000		/* the clock that is waited by stands while the machine sleeps */
#define STORE_AGAIN_MS 10000	/* and what else fails here, not there */
#define ASK_LEAST_MS 1000	/* from one answer to the next question */
#define AGAIN_MAX_MS 60000	/* between tries that may go well */
#define FINAL_AGAIN_MS 600000	/* and where somebody has to do something */
#define RETRY_MAX_MS 3600000	/* as the service may bid us wait at most */

/* --- which is due; the lock is held -------------------------------------- */

/* Who has waited longest comes first, or slow servers would have all turns. */
static struct item *
next_due(const struct minter *minter, int64_t *wait_ms)
{
	const int64_t now = clock_boot_ms();
	struct item *first = NULL;

	for (struct item *item = minter->first; item != NULL; item = item->next) {
		if (item->idle || item->wrong || (item->asking == NULL ?
		    minter->asked == ASKED_MAX : item->asking->fetch != NULL))
			continue;
		if (first == NULL || item->due_ms < first->due_ms)
			first = item;
	}
	if (first != NULL && first->due_ms <= now)
		return first;
	*wait_ms = first != NULL && first->due_ms - now < LOOK_MS ?
	    first->due_ms - now : LOOK_MS;
	return NULL;
}

/* Nobody asks for what was given up, and whoever has replaced it counts. */
static bool
still(const struct item *item)
{
	return item->asking->source == item->source && !item->idle;
}

static void
asking_end(struct minter *minter, struct item *item)
{
	struct asking *asking = item->asking;

	if (asking == NULL)
		return;
	item->asking = NULL;
	if (asking->fetch != NULL)
		minter->asked--;
	mint_fetch_free(asking->fetch);
	mint_source_free(&asking->read);
	mint_answer_release(&asking->answer);
	secret_unref(asking->source);
	free(asking);
}

static void
end_replaced(struct minter *minter)
{
	for (struct item *item = minter->first; item != NULL; item = item->next)
		if (item->asking != NULL && !still(item))
			asking_end(minter, item);
}

/* --- what comes of it; the lock is held ---------------------------------- */

/* How long an answer that gave no token bids us wait. */
static int64_t
bidden_ms(const struct mint_answer *answer)
{
	const int64_t retry_ms = answer->retry_s < RETRY_MAX_MS / 1000 ? answer->retry_s * 1000 :
	    RETRY_MAX_MS;

	return answer->final && retry_ms < FINAL_AGAIN_MS ? FINAL_AGAIN_MS : retry_ms;
}

/* Tried again after so long, or longer where it goes on failing, but most_ms. */
static void
failed(struct minter *minter, struct item *item, const char *why, int64_t least_ms,
    int64_t most_ms)
{
	int64_t again = (int64_t)1000 << (item->failures < 6 ? item->failures : 6);

	again = again > most_ms ? most_ms : again;
	if (item->failures++ == 0)
		log_event(LOG_WARNING, "mint_failed", "%s: no token: %s", item->name,
		    why);
	item->asked = true;
	item->due_ms = clock_boot_ms() + (again < least_ms ? least_ms : again);
	snprintf(item->why, sizeof(item->why), "%s", why);
	pthread_cond_broadcast(&minter->changed);
}

static void
keep(struct minter *minter, struct item *item)
{
	struct asking *asking = item->asking;
	const int64_t life_ms = asking->answer.life_s * 1000,
	    least = clock_boot_ms() + ASK_LEAST_MS,
	    at = asking->began_ms + life_ms / 5 * 4;

	minter_retire(item);
	item->token = secret_ref(asking->answer.token);
	/* It is not sent when it is about to end: the way takes time, too. */
	item->until_ms = asking->began_ms + life_ms - (life_ms / 10 < 5000 ?
	    life_ms / 10 : 5000);
	item->until_s = asking->began_s + asking->answer.life_s;
	item->due_ms = at < least ? least : at;
	if (item->failures > 0)
		log_event(LOG_INFO, "mint_again", "%s: tokens are to be had again",
		    item->name);
	item->failures = 0;
	item->asked = true;
	item->why[0] = '\0';
	asking_end(minter, item);
	pthread_cond_broadcast(&minter->changed);
	pthread_mutex_unlock(&minter->lock);
	minter->calls.changed(minter->calls.arg);
	pthread_mutex_lock(&minter->lock);
}

/* The refresh token that counts from now on takes the place of the one before, even
 * where it cannot be stored: the other is used up. */
static int
renew(struct item *item)
{
	struct asking *asking = item->asking;
	struct secret *renewed = asking->answer.refresh_token, *next = NULL;
	struct mint_source read;
	char *value, unshown[256];

	if (renewed == NULL || secret_equal(renewed, asking->read.refresh_token,
	    strlen(asking->read.refresh_token)))
		return 0;
	value = mint_source_with(&asking->read, secret_bytes(renewed));
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

/* The lock is not held meanwhile.  True where nothing of the item is left to be stored. */
static bool
store(struct minter *minter, struct item *item)
{
	struct secret *value = secret_ref(item->source);
	uint32_t version = item->version;
	char said[256] = "", why[256];
	enum minter_stored stored;

	pthread_mutex_unlock(&minter->lock);
	stored = minter->calls.store(minter->calls.arg, item->name, &version,
	    secret_bytes(value), said, sizeof(said));
	pthread_mutex_lock(&minter->lock);
	if (item->source == value && stored == MINTER_STORED) {
		item->version = version;
		item->unstored = false;
	} else if (item->source == value && stored == MINTER_STORE_LATER) {
		snprintf(why, sizeof(why), "its new refresh token is in memory alone, not used "
		    "before it is stored, and lost with the daemon: %.120s", said);
		if (strcmp(item->why, why) != 0)
			log_event(LOG_ERROR, "renewal_not_stored", "%s: %s", item->name, why);
		item->failures += item->failures == 0;	/* that is told */
		failed(minter, item, why, STORE_AGAIN_MS, STORE_AGAIN_MS);
	} else if (item->source == value) {
		item->unstored = false;		/* what is stored counts */
		item->asked = true;
		asking_end(minter, item);
	}
	secret_unref(value);
	return !item->unstored;
}

/* What was answered: first what is to be stored, then its record, then it is used. */
static void
settle(struct minter *minter, struct item *item)
{
	uint32_t version;
	int recorded;

	if (item->unstored && !store(minter, item))
		return;
	if (item->asking == NULL || !still(item))
		return;
	if (item->asking->answer.token == NULL) {
		failed(minter, item, item->asking->why, bidden_ms(&item->asking->answer),
		    AGAIN_MAX_MS);
		asking_end(minter, item);
		return;
	}
	version = item->version;
	pthread_mutex_unlock(&minter->lock);
	recorded = minter->calls.record(minter->calls.arg, item->name, version,
	    item->asking->host, item->asking->began_s + item->asking->answer.life_s);
	pthread_mutex_lock(&minter->lock);
	if (!still(item))
		return;
	if (recorded == 0) {
		keep(minter, item);
		return;
	}
	failed(minter, item, "its record could not be written", 0, STORE_AGAIN_MS);
	asking_end(minter, item);
}

static void
take_answer(struct minter *minter, struct item *item)
{
	struct asking *asking = item->asking;

	(void)mint_fetch_read(asking->fetch, &asking->answer, asking->why,
	    sizeof(asking->why));
	mint_fetch_free(asking->fetch);
	asking->fetch = NULL;
	minter->asked--;
	if (renew(item) == 0) {
		settle(minter, item);
		return;
	}
	failed(minter, item, "its new refresh token cannot be stored, or (locked) memory is out",
	    0, AGAIN_MAX_MS);
	asking_end(minter, item);
}

/* --- asking; the lock is held -------------------------------------------- */

/* Words it and has it recorded, without the lock.  False: it is not to be sent. */
static bool
prepare(struct minter *minter, const struct item *item, uint32_t version,
    struct asking *asking, bool *formed)
{
	*formed = mint_source_read(secret_bytes(asking->source), &asking->read,
	    asking->why, sizeof(asking->why)) == 0;
	if (*formed)
		asking->fetch = mint_fetch_new(minter->conf, &asking->read, asking->why,
		    sizeof(asking->why));
	if (asking->fetch == NULL)
		return false;
	snprintf(asking->host, sizeof(asking->host), "%s", mint_fetch_host(asking->fetch));
	return minter->calls.asking(minter->calls.arg, item->name, version, asking->host,
	    asking->read.flow == MINT_REFRESH_TOKEN, asking->why, sizeof(asking->why)) == 0;
}

static void
ask(struct minter *minter, struct item *item)
{
	struct asking *asking = calloc(1, sizeof(*asking));
	const uint32_t version = item->version;
	bool ready, formed = false;

	if (asking == NULL) {
		failed(minter, item, "out of memory", 0, AGAIN_MAX_MS);
		return;
	}
	asking->source = secret_ref(item->source);
	pthread_mutex_unlock(&minter->lock);
	ready = prepare(minter, item, version, asking, &formed);
	asking->began_ms = clock_boot_ms();
	asking->began_s = clock_wall_ns() / 1000000000;
	pthread_mutex_lock(&minter->lock);
	item->asking = asking;
	minter->asked += asking->fetch != NULL;
	if (ready && still(item) && mint_fetch_begin(asking->fetch, minter->multi, item) == 0)
		return;
	if (still(item) && !formed) {
		item->wrong = item->asked = true;
		snprintf(item->why, sizeof(item->why), "%s", asking->why);
		pthread_cond_broadcast(&minter->changed);
	} else if (still(item))
		failed(minter, item, ready ? "out of memory" : asking->why, 0, STORE_AGAIN_MS);
	asking_end(minter, item);
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
	secret_unref(item->source);
	item->source = NULL;
	item->idle = true;
	return true;
}

/* Who asked for a first token wants it: his rules may not even be in force yet. */
static void
attend(struct minter *minter, struct item *item)
{
	if (item->asking != NULL)
		settle(minter, item);
	else if (!item->asked || !let_go(minter, item))
		ask(minter, item);
}

/* --- the thread ------------------------------------------------------------ */

/* Until there is something to do. */
static void
pass_time(struct minter *minter, int64_t wait_ms)
{
	struct item *item;
	int running;

	pthread_mutex_unlock(&minter->lock);
	curl_multi_perform(minter->multi, &running);
	curl_multi_poll(minter->multi, NULL, 0, (int)wait_ms, NULL);
	curl_multi_perform(minter->multi, &running);
	pthread_mutex_lock(&minter->lock);
	end_replaced(minter);
	while ((item = mint_fetch_ended(minter->multi)) != NULL)
		take_answer(minter, item);
}

/* A last try for what is lost with the daemon. */
static void
put_away(struct minter *minter)
{
	for (struct item *item = minter->first; item != NULL; item = item->next) {
		if (item->unstored && !store(minter, item))
			log_event(LOG_ERROR, "login_lost", "%s: its new refresh token could "
			    "not be stored; log in again", item->name);
		if (item->asking != NULL && item->asking->fetch != NULL &&
		    item->asking->read.flow == MINT_REFRESH_TOKEN)
			log_event(LOG_WARNING, "answer_not_awaited", "%s: %s did not answer "
			    "before the daemon ended; if it has replaced the refresh token, log in "
			    "again", item->name, item->asking->host);
		asking_end(minter, item);
	}
}

void *
minter_work(void *arg)
{
	struct minter *minter = arg;
	struct item *item;
	int64_t wait_ms;

	pthread_mutex_lock(&minter->lock);
	while (!atomic_load(&minter->stop) || (minter->asked > 0 &&
	    !atomic_load(&minter->give_up))) {
		wait_ms = LOOK_MS;
		item = atomic_load(&minter->stop) ? NULL : next_due(minter, &wait_ms);
		if (item != NULL)
			attend(minter, item);
		pass_time(minter, item != NULL ? 0 : wait_ms);
	}
	put_away(minter);
	minter->ended = true;
	pthread_cond_broadcast(&minter->changed);
	pthread_mutex_unlock(&minter->lock);
	return NULL;
}
