/* Who gives way where all places are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "api/seats.h"

#define MAX 8

static int one, two;	/* two runs */
static struct seats seats;
static struct seat *seat[64];
static int ours[64], theirs[64];
static unsigned n;

static void
come(const void *run, int64_t uid)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	ours[n] = pair[0];
	theirs[n] = pair[1];
	seat[n] = seats_take(&seats, pair[0], (struct seat_holder){ run, uid });
	assert_non_null(seat[n++]);
}

static bool
gone(unsigned i)
{
	char byte;

	return read(theirs[i], &byte, 1) == 0;
}

static void
begin(void)
{
	n = 0;
	seats_init(&seats, MAX);
}

static void
end(void)
{
	for (unsigned i = 0; i < n; i++) {
		seats_leave(&seats, seat[i]);
		close(ours[i]);
		close(theirs[i]);
	}
	assert_int_equal(seats.n, 0);
	assert_null(seats.first);
	seats_destroy(&seats);
}

static void
the_greedy(void **state)
{
	begin();
	come(&two, 1);
	for (int i = 0; i < 40; i++)
		come(&one, 1);
	assert_false(gone(0));
	for (unsigned i = 1; i <= 33; i++)
		assert_true(gone(i));
	for (unsigned i = 34; i < n; i++)
		assert_false(gone(i));
	assert_int_equal(seats.n, MAX);
	end();
}

/* Who was shown out holds nothing any more, though nobody saw them leave yet. */
static void
the_leaving(void **state)
{
	begin();
	for (int i = 0; i < 2 * MAX; i++)
		come(&one, 1);
	for (int i = 0; i < MAX / 2 + 1; i++)
		come(&two, 1);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(gone(i), i < MAX + MAX / 2 || i == 2 * MAX);
	end();
}

/* A call under way stays; who has just had one waits behind the others. */
static void
the_busy(void **state)
{
	const struct seat_holder who = { &one, 1 };

	begin();
	for (int i = 0; i < MAX; i++)
		come(&one, 1);
	seats_busy(&seats, seat[0], &who);
	seats_busy(&seats, seat[1], &who);
	seats_wait(&seats, seat[1]);
	come(&one, 1);
	assert_true(gone(2));
	for (int i = 0; i < 6; i++)
		come(&one, 1);
	assert_true(gone(1));
	assert_false(gone(0));
	end();
}

/* Users are told apart where there is no run; a token says more than they do. */
static void
the_known(void **state)
{
	const struct seat_holder who = { &two, 1 };

	begin();
	come(NULL, 2);
	come(NULL, 1);
	seats_busy(&seats, seat[1], &who);
	seats_wait(&seats, seat[1]);
	for (int i = 0; i < 20; i++)
		come(NULL, 1);
	assert_false(gone(0));
	assert_false(gone(1));
	end();
}

/* Nobody can go: one more than there are is better than a call cut. */
static void
all_busy(void **state)
{
	const struct seat_holder who = { &one, 1 };

	begin();
	for (unsigned i = 0; i < MAX; i++) {
		come(&one, 1);
		seats_busy(&seats, seat[i], &who);
	}
	come(&two, 1);
	for (unsigned i = 0; i < MAX; i++)
		assert_false(gone(i));
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_greedy),
		cmocka_unit_test(the_leaving),
		cmocka_unit_test(the_busy),
		cmocka_unit_test(the_known),
		cmocka_unit_test(all_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
