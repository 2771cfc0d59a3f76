#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plane/timer.h"

struct probe {
	struct timer timer;
	unsigned fired;
	struct probe *stops;	/* stopped when this one fires */
	struct timer_queue *again;
};

static int64_t now_ms;

static void
on_fire(struct timer *timer)
{
	struct probe *probe = (struct probe *)timer;

	probe->fired++;
	if (probe->stops != NULL)
		timer_stop(&probe->stops->timer);
	if (probe->again != NULL)
		timer_arm(&probe->timer, probe->again, now_ms);
}

static struct probe
probe(void)
{
	return (struct probe){ .timer.fire = on_fire };
}

static void
test_order(void **state)
{
	struct timer_queue queues[2];
	struct probe a = probe(), b = probe(), c = probe();

	timer_queue_init(&queues[0], 100);
	timer_queue_init(&queues[1], 30);
	assert_int_equal(timer_wait(queues, 2, 0), -1);
	timer_arm(&a.timer, &queues[0], 0);
	timer_arm(&b.timer, &queues[0], 10);
	timer_arm(&c.timer, &queues[1], 50);
	assert_int_equal(timer_wait(queues, 2, 50), 30);
	timer_fire(queues, 2, 79);
	assert_int_equal(a.fired + b.fired + c.fired, 0);
	timer_fire(queues, 2, 80);
	assert_int_equal(c.fired, 1);
	assert_int_equal(timer_wait(queues, 2, 80), 20);
	timer_fire(queues, 2, 100);
	assert_int_equal(a.fired, 1);
	assert_int_equal(b.fired, 0);
	timer_fire(queues, 2, 1000);
	assert_int_equal(b.fired, 1);
	assert_int_equal(timer_wait(queues, 2, 1000), -1);
	assert_false(timer_armed(&a.timer));
}

/* Arming again moves it behind the others, also from one queue to another. */
static void
test_rearm(void **state)
{
	struct timer_queue queues[2];
	struct probe a = probe(), b = probe();

	timer_queue_init(&queues[0], 100);
	timer_queue_init(&queues[1], 10);
	timer_arm(&a.timer, &queues[0], 0);
	timer_arm(&b.timer, &queues[0], 1);
	timer_arm(&a.timer, &queues[0], 50);
	timer_fire(queues, 2, 101);
	assert_int_equal(a.fired, 0);
	assert_int_equal(b.fired, 1);
	timer_arm(&a.timer, &queues[1], 101);
	timer_fire(queues, 2, 111);
	assert_int_equal(a.fired, 1);
}

static void
test_stop(void **state)
{
	struct timer_queue queue;
	struct probe a = probe();

	timer_queue_init(&queue, 5);
	timer_stop(&a.timer);	/* never armed */
	timer_arm(&a.timer, &queue, 0);
	timer_stop(&a.timer);
	timer_stop(&a.timer);
	timer_fire(&queue, 1, 100);
	assert_int_equal(a.fired, 0);
	assert_int_equal(timer_wait(&queue, 1, 0), -1);
}

/* What fires may stop its neighbour, or arm itself again. */
static void
test_reentry(void **state)
{
	struct timer_queue queue;
	struct probe a = probe(), b = probe();

	timer_queue_init(&queue, 5);
	a.stops = &b;
	a.again = &queue;
	timer_arm(&a.timer, &queue, 0);
	timer_arm(&b.timer, &queue, 0);
	now_ms = 5;
	timer_fire(&queue, 1, 5);
	assert_int_equal(a.fired, 1);
	assert_int_equal(b.fired, 0);
	assert_int_equal(timer_wait(&queue, 1, 5), 5);
	assert_int_equal(timer_wait(&queue, 1, 100), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_rearm),
		cmocka_unit_test(test_stop), cmocka_unit_test(test_reentry),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
