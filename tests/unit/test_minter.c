/* mint/minter.h against a token endpoint of this process: what is renewed, stored and known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mint/minter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURN_MS 20
#define TURNS 3000	/* a minute, for what happens sooner or later */

/* In front of the C library's: the machine slept so long, or its clock was set. */
static _Atomic long slept_s, set_s;

int
clock_gettime(clockid_t which, struct timespec *out)
{
	const int rv = (int)syscall(SYS_clock_gettime, which, out);

	if (which == CLOCK_BOOTTIME)
		out->tv_sec += atomic_load(&slept_s);
	if (which == CLOCK_REALTIME)
		out->tv_sec += atomic_load(&set_s);
	return rv;
}

/* The endpoint: one connection at a time; its n-th answer gives "token-<n>-of-tests". */
struct endpoint {
	int listener;
	unsigned port;
	pthread_t thread;
	atomic_uint asked;
	atomic_uint delay_ms;	/* of /slow */
	atomic_int life_s;
	const char *renewed;	/* a format with the answer's number; NULL: none */
};

struct world {
	struct endpoint endpoint;
	struct conf conf;
	struct minter *minter;
	atomic_uint askings, stores, changes, refusals;	/* refusals: so many more stores fail */
	atomic_bool unwanted, unrecorded;
	pthread_mutex_t lock;
	char stored[1024];
};

static void
answer(struct endpoint *endpoint, int fd)
{
	char request[4096] = "", body[256], renewed[64], field[96] = "";
	size_t len = 0;
	bool slow;
	ssize_t n;

	/* The form is the last that comes, and has this in it. */
	while (strstr(request, "client_id=") == NULL && len < sizeof(request) - 1 &&
	    (n = read(fd, request + len, sizeof(request) - 1 - len)) > 0)
		request[len += (size_t)n] = '\0';
	slow = strncmp(request, "POST /slow", 10) == 0;
	n = (ssize_t)atomic_fetch_add(&endpoint->asked, 1) + 1;
	if (slow)
		usleep(atomic_load(&endpoint->delay_ms) * 1000);
	if (endpoint->renewed != NULL) {
		snprintf(renewed, sizeof(renewed), "%s-%zd", endpoint->renewed, n);
		snprintf(field, sizeof(field), ",\"refresh_token\":\"%s\"", renewed);
	}
	len = (size_t)snprintf(body, sizeof(body), "{\"access_token\":\"token-%zd-of-tests\","
	    "\"expires_in\":%d%s}", n, slow && endpoint->renewed == NULL ? 1 : atomic_load(&endpoint->life_s), field);
	dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", len,
	    body);
}

static void *
serve(void *arg)
{
	struct endpoint *endpoint = arg;
	int fd;

	while ((fd = accept(endpoint->listener, NULL, NULL)) != -1) {
		answer(endpoint, fd);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
	return NULL;
}

static void
endpoint_listen(struct endpoint *endpoint)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	endpoint->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(endpoint->listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(endpoint->listener, 16), 0);
	assert_int_equal(getsockname(endpoint->listener, (struct sockaddr *)&address, &len), 0);
	endpoint->port = ntohs(address.sin_port);
}

static void
endpoint_begin(struct endpoint *endpoint)
{
	endpoint_listen(endpoint);
	assert_int_equal(pthread_create(&endpoint->thread, NULL, serve, endpoint), 0);
}

static bool
is_wanted(void *arg, const char *name, uint32_t version)
{
	return !atomic_load(&((struct world *)arg)->unwanted);
}

static int
asking(void *arg, const char *name, uint32_t version, const char *host, bool renews, char *why,
    size_t cap)
{
	struct world *world = arg;

	atomic_fetch_add(&world->askings, 1);
	snprintf(why, cap, "the tests' ledger is full");
	return atomic_load(&world->unrecorded) ? -1 : 0;
}

static enum minter_stored
store(void *arg, const char *name, uint32_t *version, struct slice value, char *why, size_t cap)
{
	struct world *world = arg;

	atomic_fetch_add(&world->stores, 1);
	if (atomic_load(&world->refusals) > 0) {
		atomic_fetch_sub(&world->refusals, 1);
		snprintf(why, cap, "no room in the tests");
		return MINTER_STORE_LATER;
	}
	pthread_mutex_lock(&world->lock);
	snprintf(world->stored, sizeof(world->stored), "%.*s", (int)value.n, value.p);
	pthread_mutex_unlock(&world->lock);
	(*version)++;
	return MINTER_STORED;
}

static int
record(void *arg, const char *name, uint32_t version, const char *host, int64_t expires_s)
{
	return 0;
}

static void
changed(void *arg)
{
	atomic_fetch_add(&((struct world *)arg)->changes, 1);
}

static void
begin(struct world *world, int life_s, const char *renewed)
{
	*world = (struct world){ .endpoint = { .renewed = renewed } };
	pthread_mutex_init(&world->lock, NULL);
	atomic_store(&world->endpoint.life_s, life_s);
	endpoint_begin(&world->endpoint);
	world->minter = minter_new(&world->conf);
	assert_non_null(world->minter);
	assert_int_equal(minter_start(world->minter, &(struct minter_calls){ .wanted = is_wanted,
	    .asking = asking, .store = store, .record = record, .changed = changed, .arg = world }), 0);
}

static void
end(struct world *world)
{
	minter_stop(world->minter);
	minter_free(world->minter);
	shutdown(world->endpoint.listener, SHUT_RDWR);
	pthread_join(world->endpoint.thread, NULL);
	close(world->endpoint.listener);
	pthread_mutex_destroy(&world->lock);
}

static enum minter_state
take_at(struct world *world, const char *name, unsigned port, const char *path)
{
	enum minter_state state;
	struct secret *source, *token = NULL;
	char text[512];
	int64_t until_ms;

	snprintf(text, sizeof(text), "mint:{\"v\":1,\"flow\":\"refresh_token\",\"token_url\":"
	    "\"http://127.0.0.1:%u/%s\",\"client_id\":\"c\",\"refresh_token\":\"the-first-one\"}",
	    port, path);
	source = secret_new(text, strlen(text));
	assert_non_null(source);
	state = minter_take(world->minter, name, 1, source, &token, &until_ms);
	secret_unref(source);
	secret_unref(token);
	return state;
}

static enum minter_state
take(struct world *world, const char *name, const char *path)
{
	return take_at(world, name, world->endpoint.port, path);
}

static bool
comes_to(const atomic_uint *counter, unsigned least)
{
	for (unsigned i = 0; i < TURNS && atomic_load(counter) < least; i++)
		usleep(TURN_MS * 1000);
	return atomic_load(counter) >= least;
}

/* The same where it is to come at once, a thousand times. */
static bool
comes_soon(const atomic_uint *counter, unsigned least)
{
	for (unsigned i = 0; i < 600000 && atomic_load(counter) < least; i++)
		usleep(100);
	return atomic_load(counter) >= least;
}

static bool
has_stored(struct world *world, const char *text)
{
	bool has;

	pthread_mutex_lock(&world->lock);
	has = strstr(world->stored, text) != NULL;
	pthread_mutex_unlock(&world->lock);
	return has;
}

static bool
tells(struct world *world, const char *name, const char *text)
{
	char why[256] = "";
	int64_t until_s;

	return minter_tell(world->minter, name, &until_s, why, sizeof(why)) &&
	    strstr(why, text) != NULL;
}

/* A refresh token that cannot be stored is tried again long before its token would end.
 * Until then nothing is used of the answer, and nothing else asked for. */
static void
test_stored_later(void **state)
{
	struct world world;

	begin(&world, 3600, "next-refresh");
	atomic_store(&world.refusals, 1);
	take(&world, "api", "token");
	minter_wait(world.minter, "api", 60000);
	assert_int_equal(take(&world, "api", "token"), MINTER_NONE);
	assert_true(tells(&world, "api", "in memory alone"));
	assert_true(tells(&world, "api", "no room in the tests"));
	assert_true(comes_to(&world.changes, 1));
	assert_true(has_stored(&world, "next-refresh-1"));
	assert_int_equal(atomic_load(&world.stores), 2);
	assert_int_equal(atomic_load(&world.endpoint.asked), 1);
	end(&world);
}

/* Nobody wants it any more before it could be stored: it still counts. */
static void
test_kept_unstored(void **state)
{
	struct world world;

	begin(&world, 3600, "next-refresh");
	atomic_store(&world.refusals, 1);
	take(&world, "api", "token");
	minter_wait(world.minter, "api", 60000);
	atomic_store(&world.unwanted, true);
	assert_true(comes_to(&world.changes, 1));
	assert_true(has_stored(&world, "next-refresh-1"));
	end(&world);
}

/* Nor does it get lost where the daemon ends before. */
static void
test_stored_at_the_end(void **state)
{
	struct world world;

	begin(&world, 3600, "next-refresh");
	atomic_store(&world.refusals, 1);
	take(&world, "api", "token");
	minter_wait(world.minter, "api", 60000);
	assert_false(has_stored(&world, "next-refresh-1"));
	minter_stop(world.minter);
	assert_true(has_stored(&world, "next-refresh-1"));
	end(&world);
}

/* Where it could not be recorded, nobody is asked. */
static void
test_unrecorded(void **state)
{
	struct world world;

	begin(&world, 3600, "next-refresh");
	atomic_store(&world.unrecorded, true);
	take(&world, "api", "token");
	assert_true(comes_to(&world.askings, 3));
	assert_true(tells(&world, "api", "the tests' ledger is full"));
	assert_int_equal(atomic_load(&world.endpoint.asked), 0);
	atomic_store(&world.unrecorded, false);
	assert_true(comes_to(&world.changes, 1));
	assert_int_equal(atomic_load(&world.endpoint.asked), 1);
	end(&world);
}

/* Services that do not answer keep no other waiting. */
static void
test_side_by_side(void **state)
{
	struct world world;
	struct endpoint silent;
	char name[16];

	begin(&world, 3600, NULL);
	endpoint_listen(&silent);
	for (unsigned i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "silent-%u", i);
		assert_int_equal(take_at(&world, name, silent.port, "token"), MINTER_ASKING);
	}
	assert_true(comes_to(&world.askings, 12));
	take(&world, "api", "token");
	assert_true(comes_to(&world.changes, 1));
	assert_int_equal(take(&world, "api", "token"), MINTER_GOOD);
	assert_int_equal(take_at(&world, "silent-0", silent.port, "token"), MINTER_ASKING);
	assert_true(tells(&world, "silent-0", "not answered yet"));
	close(silent.listener);
	end(&world);
}

static long
locked_kib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	assert_non_null(status);
	while (fgets(line, sizeof(line), status) != NULL)
		if (sscanf(line, "VmLck: %ld", &kib) == 1)
			break;
	fclose(status);
	return kib;
}

static void
count_token(void *arg, const char *name, uint32_t version, struct secret *token)
{
	(*(unsigned *)arg)++;
}

static unsigned
known_tokens(struct world *world)
{
	unsigned n = 0;

	minter_each(world->minter, count_token, &n);
	return n;
}

/* What was revoked does not stay in memory until it would be asked with again; its token
 * stays known. */
static void
test_forgotten(void **state)
{
	struct world world;
	long with;

	begin(&world, 3600, "next-refresh");
	take(&world, "api", "token");
	assert_true(comes_to(&world.changes, 1));
	with = locked_kib();
	minter_forget(world.minter, "api", 1);		/* the version before */
	assert_true(tells(&world, "api", ""));
	minter_forget(world.minter, "api", 2);
	assert_false(tells(&world, "api", ""));
	assert_int_equal(known_tokens(&world), 1);
	if (with > 0)
		assert_true(locked_kib() < with);
	end(&world);
}

/* An answer that comes afterwards is not used. */
static void
test_forgotten_meanwhile(void **state)
{
	struct world world;

	begin(&world, 3600, "next-refresh");
	atomic_store(&world.endpoint.delay_ms, 1000);
	take(&world, "api", "slow");
	assert_true(comes_to(&world.endpoint.asked, 1));
	minter_forget(world.minter, "api", 0);
	usleep(1500000);
	assert_int_equal(atomic_load(&world.stores) + atomic_load(&world.changes), 0);
	assert_int_equal(known_tokens(&world), 0);
	take(&world, "api", "token");
	assert_true(comes_to(&world.changes, 1));
	end(&world);
}

/* A token's life is measured by no clock that somebody sets. */
static void
test_clock_set(void **state)
{
	struct world world;

	begin(&world, 3600, NULL);
	take(&world, "api", "token");
	assert_true(comes_to(&world.changes, 1));
	for (long by = -86400; by <= 86400; by += 2 * 86400) {
		atomic_store(&set_s, by);
		minter_hurry(world.minter);
		usleep(200000);
		assert_int_equal(take(&world, "api", "token"), MINTER_GOOD);
		assert_int_equal(atomic_load(&world.endpoint.asked), 1);
	}
	atomic_store(&set_s, 0);
	end(&world);
}

/* A machine that slept does not use what ended meanwhile, and gets another. */
static void
test_slept(void **state)
{
	struct world world;

	begin(&world, 3600, NULL);
	take(&world, "api", "token");
	assert_true(comes_to(&world.changes, 1));
	atomic_store(&slept_s, 7200);
	assert_int_not_equal(take(&world, "api", "token"), MINTER_GOOD);
	minter_hurry(world.minter);
	assert_true(comes_to(&world.changes, 2));
	assert_int_equal(take(&world, "api", "token"), MINTER_GOOD);
	atomic_store(&slept_s, 0);
	end(&world);
}

/* RENEWALS in the environment: so many. */
static void
test_renewals(void **state)
{
	const char *told = getenv("RENEWALS");
	const unsigned renewals = told != NULL ? (unsigned)atoi(told) : 500;
	struct world world;
	long locked = 0;

	begin(&world, 3600, "next-refresh");
	take(&world, "api", "token");
	for (unsigned i = 1; i <= renewals; i++) {
		assert_true(comes_soon(&world.changes, i));
		if (i == 100)
			locked = locked_kib();
		atomic_fetch_add(&slept_s, 3000);
		minter_hurry(world.minter);
	}
	assert_true(comes_soon(&world.changes, renewals + 1));
	assert_true(known_tokens(&world) <= 3);
	assert_true(locked_kib() <= locked);
	assert_int_equal(atomic_load(&world.stores), renewals + 1);
	atomic_store(&slept_s, 0);
	end(&world);
}

/* One that takes longer to answer than its tokens live leaves others their turn. */
static void
test_turns(void **state)
{
	struct world world;

	begin(&world, 1, NULL);
	atomic_store(&world.endpoint.delay_ms, 1200);
	take(&world, "other", "token");
	minter_wait(world.minter, "other", 60000);
	take(&world, "slow", "slow");
	assert_true(comes_to(&world.endpoint.asked, 4));
	atomic_store(&world.endpoint.life_s, 3600);
	for (int i = 0; i < TURNS && take(&world, "other", "token") != MINTER_GOOD; i++)
		usleep(TURN_MS * 1000);
	assert_int_equal(take(&world, "other", "token"), MINTER_GOOD);
	end(&world);
}

/* What could not be read again is not put in the place of what can. */
static void
test_unreadable(void **state)
{
	struct world world;
	char why[256] = "";
	int64_t until_s;

	begin(&world, 3600, "\xc3\xa4-refresh-token");
	take(&world, "api", "token");
	minter_wait(world.minter, "api", 60000);
	assert_true(minter_tell(world.minter, "api", &until_s, why, sizeof(why)));
	assert_non_null(strstr(why, "refresh token cannot be stored"));
	assert_int_equal(atomic_load(&world.stores), 0);
	assert_int_equal(take(&world, "api", "token"), MINTER_NONE);
	end(&world);
}

/* The service has spent the old one when the daemon is told to stop. */
static void
test_stopped(void **state)
{
	struct world world;

	begin(&world, 3600, "next-refresh");
	atomic_store(&world.endpoint.delay_ms, 2500);
	take(&world, "api", "slow");
	assert_true(comes_to(&world.endpoint.asked, 1));
	minter_stop(world.minter);
	assert_true(has_stored(&world, "next-refresh-1"));
	end(&world);
}

static void
look_for(void *arg, const char *name, uint32_t version, struct secret *token)
{
	if (secret_equal(token, "token-1-of-tests", 16))
		*(bool *)arg = true;
}

/* Short lives do not make tokens unknown that ended a moment ago. */
static void
test_known(void **state)
{
	struct world world;
	bool known = false;

	begin(&world, 1, NULL);
	take(&world, "api", "token");
	assert_true(comes_to(&world.changes, 11));
	minter_each(world.minter, look_for, &known);
	assert_true(known);
	end(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stored_later),
		cmocka_unit_test(test_kept_unstored),
		cmocka_unit_test(test_stored_at_the_end),
		cmocka_unit_test(test_unrecorded),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_forgotten_meanwhile),
		cmocka_unit_test(test_clock_set),
		cmocka_unit_test(test_slept),
		cmocka_unit_test(test_renewals),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests_name("minter", tests, NULL, NULL);
}
