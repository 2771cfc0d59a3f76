/* Look-ups of one owner, whose names are never answered, hold up no other's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plane/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MANY 20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool answering;
static unsigned stuck, done;

/* In place of the C library's: names below "mute.example.com" wait until somebody
 * is answering. */
int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **out)
{
	struct { struct addrinfo info; struct sockaddr_in address; } *made;

	pthread_mutex_lock(&lock);
	if (strstr(name, ".mute.example.com") != NULL && !answering) {
		stuck++;
		pthread_cond_broadcast(&changed);
		while (!answering)
			pthread_cond_wait(&changed, &lock);
		stuck--;
	}
	pthread_mutex_unlock(&lock);
	if ((made = calloc(1, sizeof(*made))) == NULL)
		return EAI_MEMORY;
	made->address = (struct sockaddr_in){ .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(0xc0000201) };
	made->info = (struct addrinfo){ .ai_family = AF_INET,
	    .ai_addr = (struct sockaddr *)&made->address,
	    .ai_addrlen = sizeof(made->address) };
	*out = &made->info;
	return 0;
}

void
freeaddrinfo(struct addrinfo *list)
{
	free(list);
}

static void
on_done(struct resolve_job *job)
{
	pthread_mutex_lock(&lock);
	done++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Until *what is n, or a minute is over. */
static void
await(const unsigned *what, unsigned n)
{
	struct timespec until = { 0, 0 };

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&lock);
	while (*what != n && pthread_cond_timedwait(&changed, &lock, &until) == 0)
		;
	n -= *what;
	pthread_mutex_unlock(&lock);
	assert_int_equal(n, 0);
}

static int
start(struct resolver *resolver, struct resolve_job *job, const void *whose,
    unsigned number, const char *below)
{
	*job = (struct resolve_job){ .port = 443, .whose = whose, .done = on_done };
	snprintf(job->host, sizeof(job->host), "n%u%s.example.com", number, below);
	return resolver_start(resolver, job);
}

static void
answer(bool yes)
{
	pthread_mutex_lock(&lock);
	answering = yes;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void
test_one_owner_has_half(void **state)
{
	static struct resolve_job mute[MANY], others[2];
	static struct conf conf;
	struct resolver *resolver = resolver_new(&conf);
	const char one = 0, two = 0;

	assert_non_null(resolver);
	answer(false);
	done = 0;
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(start(resolver, &mute[i], &one, i, ".mute"), 0);
	await(&stuck, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(start(resolver, &others[i], &two, i, ""), 0);
		await(&done, i + 1);
		assert_int_equal(others[i].answer.n, 1);
	}
	assert_int_equal(stuck, 2);
	answer(true);
	await(&done, MANY + 2);
	resolver_free(resolver);
}

/* Who fills his places leaves the others'. */
static void
test_places(void **state)
{
	static struct resolve_job mute[256];
	static struct resolve_job other;
	static struct conf conf;
	struct resolver *resolver = resolver_new(&conf);
	const char one = 0, two = 0;
	unsigned n = 0;

	assert_non_null(resolver);
	answer(false);
	done = 0;
	while (n < 256 && start(resolver, &mute[n], &one, n, ".mute") == 0)
		n++;
	assert_true(n >= 128 && n < 256);
	assert_int_equal(start(resolver, &other, &two, n, ""), 0);
	await(&done, 1);
	answer(true);
	await(&done, n + 1);
	resolver_free(resolver);
}

/* What waits when it ends is told so. */
static void
test_end(void **state)
{
	static struct resolve_job mute[MANY];
	static struct conf conf;
	struct resolver *resolver = resolver_new(&conf);
	const char one = 0;

	assert_non_null(resolver);
	answer(true);
	done = 0;
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(start(resolver, &mute[i], &one, i, ".mute"), 0);
	resolver_free(resolver);
	assert_int_equal(done, MANY);
	for (unsigned i = 0; i < MANY; i++)
		assert_true(mute[i].answer.n == 1 || mute[i].answer.error != NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_owner_has_half),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
