#include "discover/discover.h"

#include "discover/revision.h"
#include "discover/source.h"
#include "discover/state.h"
#include "ledger/clock.h"
#include "log.h"
#include "private_file.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 65536
#define WORD "bundle"	/* of the source, in records */

struct discover {
	const struct conf_bundle *conf;
	char packs[PATH_MAX];
	char *key;		/* NULL: none is configured */
	size_t key_len;
	struct revision_history history;
	struct source *source;
	struct gate *gate;
	struct ledger_port *port;
	bool unreachable;	/* and it was said */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	atomic_bool stop;
};

/* --- adopting ----------------------------------------------------------- */

/* True where it is on record, so that it needs no second look. */
static bool
refuse(struct discover *discover, const char *rule, const char *reason)
{
	struct gate_problem why = { .status = 0 };

	log_event(LOG_ERROR, "bundle_refused", "%s: %s; the pack in force "
	    "stays", rule, reason);
	return gate_pack_refused(discover->gate, discover->port, WORD, rule,
	    reason, &why) == 0;
}

static const char *
now_in_force(const struct discover *discover)
{
	const struct revision_history *history = &discover->history;

	return history->n > 0 ? history->seen[history->n - 1] : "";
}

static void
adopted(struct discover *discover, const char *digest, const char *revision)
{
	char err[256];

	revision_note(&discover->history, digest, revision);
	log_event(LOG_INFO, "bundle_adopted", "policy %s, revision \"%s\"",
	    digest, revision);
	if (state_write(discover->packs, discover->conf->from,
	    &discover->history, err, sizeof(err)) != 0)
		log_event(LOG_ERROR, "bundle_not_noted", "%s: after a restart "
		    "the pack before it decides until it is found again", err);
}

static bool
adopt(struct discover *discover, struct policy_pack *pack)
{
	const char *digest = policy_pack_digest(pack);
	const char *revision = policy_pack_revision(pack), *wrong;
	struct gate_problem why = { .status = 0 };

	if (strcmp(now_in_force(discover), digest) == 0)
		return true;
	wrong = revision_wrong(&discover->history, digest, revision);
	if (wrong != NULL && !discover->conf->downgrade)
		return refuse(discover, "policy/downgrade", wrong);
	if (wrong != NULL)
		log_event(LOG_WARNING, "bundle_downgrade", "%s; the "
		    "configuration allows it", wrong);
	if (gate_adopt(discover->gate, discover->port, pack, WORD, &why) == 0) {
		adopted(discover, digest, revision);
		return true;
	}
	if (why.status != 422) {	/* our own trouble: try again */
		log_event(LOG_ERROR, "bundle_not_adopted", "%s", why.detail);
		return false;
	}
	return refuse(discover, why.rule, why.detail);
}

/* What a bundle's error says may quote it. */
static void
make_plain(char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static bool
consider(struct discover *discover, const void *bytes, size_t len)
{
	struct policy_pack *pack;
	char err[GATE_WHY_MAX] = "";
	bool settled;

	pack = policy_pack_from_bundle(bytes, len, discover->key,
	    discover->key_len, err, sizeof(err));
	if (pack == NULL) {
		make_plain(err);
		return refuse(discover, "policy/bad-bundle", err);
	}
	settled = adopt(discover, pack);
	policy_pack_unref(pack);
	return settled;
}

/* --- looking ------------------------------------------------------------ */

static void
say_reachable(struct discover *discover, bool reachable, const char *why)
{
	if (reachable == !discover->unreachable)
		return;
	discover->unreachable = !reachable;
	if (reachable)
		log_event(LOG_INFO, "bundle_reachable", "the policy's source "
		    "answers again");
	else
		log_event(LOG_WARNING, "bundle_unreachable", "the policy's "
		    "source: %s; the pack in force stays", why);
}

static void
look(struct discover *discover)
{
	char err[256] = "";
	void *bytes = NULL;
	size_t len = 0;
	enum source_result result;
	bool settled = false;

	result = source_look(discover->source, &bytes, &len, err, sizeof(err));
	if (atomic_load(&discover->stop))
		goto out;
	say_reachable(discover, result != SOURCE_FAILED, err);
	if (result == SOURCE_CHANGED)
		settled = consider(discover, bytes, len);
	else if (result == SOURCE_TOO_LARGE)
		settled = refuse(discover, "policy/bundle-too-large", err);
	if (settled)
		source_settle(discover->source);
out:
	free(bytes);
}

/* False when it is time to stop. */
static bool
pause_between(struct discover *discover)
{
	const struct timespec until = clock_after_ms(discover->conf->poll_ms);

	pthread_mutex_lock(&discover->lock);
	while (!atomic_load(&discover->stop))
		if (pthread_cond_timedwait(&discover->wake, &discover->lock,
		    &until) == ETIMEDOUT)
			break;
	pthread_mutex_unlock(&discover->lock);
	return !atomic_load(&discover->stop);
}

static void *
work(void *arg)
{
	struct discover *discover = arg;

	do {
		look(discover);
	} while (pause_between(discover));
	return NULL;
}

/* --- life ---------------------------------------------------------------- */

static int
read_key(struct discover *discover, char *err, size_t err_len)
{
	const char *path = discover->conf->key_file;

	if (path == NULL)
		return 0;
	discover->key = (char *)private_file_read(path, PRIVATE_SETTINGS,
	    KEY_MAX, &discover->key_len);
	if (discover->key != NULL && discover->key_len > 0)
		return 0;
	snprintf(err, err_len, "config.json: policy.bundle.key_file: %s %s", path,
	    discover->key != NULL ? "is empty" : private_file_why(errno));
	return -1;
}

/* The last good one, verified as when it came. */
static int
find_last(struct discover *discover, char *pack, char *err, size_t err_len)
{
	char dir[PATH_MAX], why[512] = "";
	struct policy_pack *last;
	bool same;

	if (state_read(discover->packs, discover->conf->from,
	    &discover->history, err, err_len) != 0)
		return -1;
	if (discover->history.n == 0)
		return 0;
	if (snprintf(dir, sizeof(dir), "%s/%s", discover->packs,
	    now_in_force(discover) + 7) >= (int)sizeof(dir)) {
		snprintf(err, err_len, "the home's path is too long");
		return -1;
	}
	last = policy_pack_load_signed(dir, discover->key, discover->key_len,
	    why, sizeof(why));
	same = last != NULL && strcmp(policy_pack_digest(last),
	    now_in_force(discover)) == 0;
	policy_pack_unref(last);
	if (same) {
		memcpy(pack, dir, sizeof(dir));
		return 0;
	}
	snprintf(err, err_len, "the bundle that was in force last cannot be "
	    "used (%.300s: %.300s); remove %.300s/" STATE_NAME " to start "
	    "with HOME/pack", now_in_force(discover), last == NULL ? why :
	    "altered", discover->packs);
	return -1;
}

struct discover *
discover_open(const struct conf_bundle *conf, const char *packs, char *pack,
    char *err, size_t err_len)
{
	struct discover *discover = calloc(1, sizeof(*discover));
	pthread_condattr_t attr;

	if (discover == NULL) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	discover->conf = conf;
	snprintf(discover->packs, sizeof(discover->packs), "%s", packs);
	pthread_mutex_init(&discover->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&discover->wake, &attr);
	pthread_condattr_destroy(&attr);
	discover->source = source_new(conf, &discover->stop);
	if (discover->source == NULL)
		snprintf(err, err_len, "out of memory");
	else if (read_key(discover, err, err_len) == 0 &&
	    find_last(discover, pack, err, err_len) == 0)
		return discover;
	discover_close(discover);
	return NULL;
}

int
discover_start(struct discover *discover, struct gate *gate,
    struct ledger_port *port)
{
	sigset_t all, old;
	int error;

	discover->gate = gate;
	discover->port = port;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&discover->thread, NULL, work, discover);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	discover->started = error == 0;
	return error == 0 ? 0 : -1;
}

void
discover_close(struct discover *discover)
{
	if (discover == NULL)
		return;
	pthread_mutex_lock(&discover->lock);
	atomic_store(&discover->stop, true);
	pthread_cond_signal(&discover->wake);
	pthread_mutex_unlock(&discover->lock);
	if (discover->started)
		pthread_join(discover->thread, NULL);
	source_free(discover->source);
	free(discover->key);
	pthread_mutex_destroy(&discover->lock);
	pthread_cond_destroy(&discover->wake);
	free(discover);
}
