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
static unsigned stuck, done, asked;

#define PLENTY 9		/* of one family: more than are kept */

struct made {
	struct addrinfo info;
	union address address;
};

/* 2001:db8::1 to ::9, then 192.0.2.1 and 192.0.2.2. */
static struct addrinfo *
make_both(void)
{
	struct made *all = calloc(PLENTY + 2, sizeof(*all));
	char text[32];

	assert_non_null(all);
	for (unsigned i = 0; i < PLENTY + 2; i++) {
		snprintf(text, sizeof(text), i < PLENTY ? "2001:db8::%u" : "192.0.2.%u",
		    i < PLENTY ? i + 1 : i - PLENTY + 1);
		assert_int_equal(address_parse(text, 0, &all[i].address), 0);
		all[i].info = (struct addrinfo){
		    .ai_family = all[i].address.sa.sa_family,
		    .ai_addr = &all[i].address.sa,
		    .ai_addrlen = address_len(&all[i].address),
		    .ai_next = i + 1 < PLENTY + 2 ? &all[i + 1].info : NULL };
	}
	return &all->info;
}

/* In place of the C library's: names below "mute.example.com" wait until somebody
 * is answering. */
int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **out)
{
	struct { struct addrinfo info; struct sockaddr_in address; } *made;

	pthread_mutex_lock(&lock);
	asked++;
	if (strstr(name, ".mute.example.com") != NULL && !answering) {
		stuck++;
		pthread_cond_broadcast(&changed);
		while (!answering)
			pthread_cond_wait(&changed, &lock);
		stuck--;
	}
	pthread_mutex_unlock(&lock);
	if (strstr(name, ".none.") != NULL)
		return EAI_FAIL;
	if (strstr(name, ".both.") != NULL) {
		*out = make_both();
		return 0;
	}
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

static struct resolve_answer
now(struct resolver *resolver, const char *host)
{
	struct resolve_answer got;

	assert_true(resolver_now(resolver, host, 443, &got));
	return got;
}

/* Nine of the one family, which may lead nowhere, do not hide the other. */
static void
test_families_in_turn(void **state)
{
	static struct resolve_job job;
	static struct conf conf;
	struct resolver *resolver = resolver_new(&conf);
	static const char *const want[RESOLVE_ADDRESSES] = { "2001:db8::1",
	    "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3", "2001:db8::4",
	    "2001:db8::5", "2001:db8::6" };
	union address address;

	assert_non_null(resolver);
	done = 0;
	assert_int_equal(start(resolver, &job, NULL, 1, ".both"), 0);
	await(&done, 1);
	assert_int_equal(job.answer.n, RESOLVE_ADDRESSES);
	for (unsigned i = 0; i < RESOLVE_ADDRESSES; i++) {
		assert_int_equal(address_parse(want[i], 443, &address), 0);
		assert_true(address_same(&job.answer.addresses[i], &address));
	}
	resolver_free(resolver);
}

/* What answered where another did not comes first, as long as the name has it. */
static void
test_preferred(void **state)
{
	static struct resolve_job jobs[2];
	static struct conf conf;
	struct resolver *resolver = resolver_new(&conf);
	union address good, other;
	struct resolve_answer got;

	assert_non_null(resolver);
	done = 0;
	assert_int_equal(address_parse("192.0.2.2", 443, &good), 0);
	assert_int_equal(address_parse("198.51.100.1", 443, &other), 0);
	resolver_prefer(resolver, "n1.both.example.com", 443, &good);	/* unknown yet */
	assert_int_equal(start(resolver, &jobs[0], NULL, 1, ".both"), 0);
	await(&done, 1);
	assert_false(address_same(&jobs[0].answer.addresses[0], &good));
	resolver_prefer(resolver, "n1.both.example.com", 443, &good);
	got = now(resolver, "n1.both.example.com");
	assert_int_equal(got.n, RESOLVE_ADDRESSES);
	assert_true(address_same(&got.addresses[0], &good));
	assert_true(address_same(&got.addresses[1], &jobs[0].answer.addresses[0]));
	assert_true(address_same(&got.addresses[4], &jobs[0].answer.addresses[4]));
	/* looked up again */
	assert_int_equal(start(resolver, &jobs[1], NULL, 1, ".both"), 0);
	await(&done, 2);
	assert_true(address_same(&jobs[1].answer.addresses[0], &good));
	/* no address is added that the name has not */
	resolver_prefer(resolver, "n1.both.example.com", 443, &other);
	got = now(resolver, "n1.both.example.com");
	assert_int_equal(got.n, RESOLVE_ADDRESSES);
	for (unsigned i = 0; i < got.n; i++)
		assert_false(address_same(&got.addresses[i], &other));
	resolver_free(resolver);
}

/* Many who ask for one name are one look-up, and all get its answer. */
static void
test_shared(void **state)
{
	static struct resolve_job jobs[MANY];
	static struct conf conf;
	struct resolver *resolver = resolver_new(&conf);
	const char owners[MANY] = { 0 };

	assert_non_null(resolver);
	answer(false);
	done = asked = 0;
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(start(resolver, &jobs[i], &owners[i], 1, ".mute"), 0);
	await(&stuck, 1);
	answer(true);
	await(&done, MANY);
	assert_int_equal(asked, 1);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(jobs[i].answer.n, 1);
	resolver_free(resolver);
}

/* What nobody waits for is done without being looked up, and gives up its place. */
static void
test_abandoned(void **state)
{
	static struct resolve_job mute[MANY];
	static struct conf conf;
	struct resolver *resolver = resolver_new(&conf);
	const char one = 0;

	assert_non_null(resolver);
	answer(false);
	done = asked = 0;
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(start(resolver, &mute[i], &one, i, ".mute"), 0);
	await(&stuck, 2);
	for (unsigned i = 2; i < MANY; i++)
		resolver_abandon(resolver, &mute[i]);
	await(&done, MANY - 2);
	assert_int_equal(stuck, 2);
	answer(true);
	await(&done, MANY);
	assert_int_equal(asked, 2);
	assert_int_equal(mute[MANY - 1].answer.n, 0);
	resolver_free(resolver);
}

static void
test_why(void **state)
{
	static struct resolve_job job;
	static struct conf conf;
	struct resolver *resolver = resolver_new(&conf);

	assert_non_null(resolver);
	done = 0;
	assert_int_equal(start(resolver, &job, NULL, 1, ".none"), 0);
	await(&done, 1);
	assert_int_equal(job.answer.n, 0);
	assert_string_equal(job.answer.error, "the name server gave no usable answer");
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
		cmocka_unit_test(test_families_in_turn),
		cmocka_unit_test(test_preferred),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_why),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
