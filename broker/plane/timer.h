/*
 * Time limits of one worker.  A queue holds timers of one duration, so it is
 * sorted by itself: arming is O(1), and nothing is allocated.
 */
#ifndef BROKER_TIMER_H
#define BROKER_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer_queue;

/* Zeroed: not armed. */
struct timer {
	struct timer *prev, *next;
	struct timer_queue *queue;
	int64_t at_ms;
	void (*fire)(struct timer *timer);	/* may arm, stop or free any timer */
};

struct timer_queue {
	struct timer end;	/* of a ring: end.next is the first to fire */
	unsigned after_ms;
};

void timer_queue_init(struct timer_queue *queue, unsigned after_ms);

/* Fire after_ms from now, whatever it waited for before.  now_ms never goes
 * backwards between calls. */
void timer_arm(struct timer *timer, struct timer_queue *queue, int64_t now_ms);
void timer_stop(struct timer *timer);	/* also where it is not armed */

static inline bool
timer_armed(const struct timer *timer)
{
	return timer->queue != NULL;
}

/* Milliseconds until the next of n queues has something to fire: 0 for at
 * once, -1 for never. */
int timer_wait(const struct timer_queue *queues, size_t n, int64_t now_ms);
void timer_fire(struct timer_queue *queues, size_t n, int64_t now_ms);

/* CLOCK_MONOTONIC. */
int64_t timer_now_us(void);

#endif
