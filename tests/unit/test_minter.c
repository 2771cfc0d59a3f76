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
#include <unistd.h>

#define TURN_MS 20
#define TURNS 3000	/* a minute, for what happens sooner or later */

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
	atomic_uint stores, changes, refusals;	/* refusals: so many more stores fail */
	atomic_bool unwanted;
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
endpoint_begin(struct endpoint *endpoint)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	endpoint->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(endpoint->listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(endpoint->listener, 16), 0);
	assert_int_equal(getsockname(endpoint->listener, (struct sockaddr *)&address, &len), 0);
	endpoint->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&endpoint->thread, NULL, serve, endpoint), 0);
}

static bool
is_wanted(void *arg, const char *name, uint32_t version)
{
	return !atomic_load(&((struct world *)arg)->unwanted);
}

static bool
store(void *arg, const char *name, uint32_t *version, struct slice value)
{
	struct world *world = arg;

	atomic_fetch_add(&world->stores, 1);
	if (atomic_load(&world->refusals) > 0) {
		atomic_fetch_sub(&world->refusals, 1);
		return false;
	}
	pthread_mutex_lock(&world->lock);
	snprintf(world->stored, sizeof(world->stored), "%.*s", (int)value.n, value.p);
	pthread_mutex_unlock(&world->lock);
	(*version)++;
	return true;
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
	    .store = store, .record = record, .changed = changed, .arg = world }), 0);
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
take(struct world *world, const char *name, const char *path)
{
	enum minter_state state;
	struct secret *source, *token = NULL;
	char text[512];
	int64_t until_ms;

	snprintf(text, sizeof(text), "mint:{\"v\":1,\"flow\":\"refresh_token\",\"token_url\":"
	    "\"http://127.0.0.1:%u/%s\",\"client_id\":\"c\",\"refresh_token\":\"the-first-one\"}",
	    world->endpoint.port, path);
	source = secret_new(text, strlen(text));
	assert_non_null(source);
	state = minter_take(world->minter, name, 1, source, &token, &until_ms);
	secret_unref(source);
	secret_unref(token);
	return state;
}

static bool
comes_to(const atomic_uint *counter, unsigned least)
{
	for (unsigned i = 0; i < TURNS && atomic_load(counter) < least; i++)
		usleep(TURN_MS * 1000);
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

/* A refresh token that cannot be stored is tried again long before the token ends, and
 * nothing else is asked for meanwhile. */
static void
test_stored_later(void **state)
{
	struct world world;

	begin(&world, 3600, "next-refresh");
	atomic_store(&world.refusals, 1);
	take(&world, "api", "token");
	minter_wait(world.minter, "api", 60000);
	assert_int_equal(take(&world, "api", "token"), MINTER_GOOD);
	assert_true(comes_to(&world.stores, 2));
	usleep(TURN_MS * 10000);
	assert_true(has_stored(&world, "next-refresh-1"));
	assert_int_equal(atomic_load(&world.stores), 2);
	assert_int_equal(atomic_load(&world.endpoint.asked), 1);
	end(&world);
}

/* Nobody wants it for a while, before it could be stored: it still counts. */
static void
test_kept_unstored(void **state)
{
	struct world world;

	begin(&world, 3600, "next-refresh");
	atomic_store(&world.refusals, 1);
	take(&world, "api", "token");
	minter_wait(world.minter, "api", 60000);
	atomic_store(&world.unwanted, true);
	for (int i = 0; i < TURNS && minter_tell(world.minter, "api", &(int64_t){ 0 },
	    (char[256]){ "" }, 256); i++)
		usleep(TURN_MS * 1000);
	atomic_store(&world.unwanted, false);
	take(&world, "api", "token");
	assert_true(comes_to(&world.stores, 2));
	usleep(TURN_MS * 10000);
	assert_true(has_stored(&world, "next-refresh-"));
	assert_false(has_stored(&world, "the-first-one"));
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
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests_name("minter", tests, NULL, NULL);
}
