#include "plane/timer.h"

#include <limits.h>
#include <time.h>

void
timer_queue_init(struct timer_queue *queue, unsigned after_ms)
{
	*queue = (struct timer_queue){ .after_ms = after_ms };
	queue->end.prev = queue->end.next = &queue->end;
}

void
timer_stop(struct timer *timer)
{
	if (timer->queue == NULL)
		return;
	timer->prev->next = timer->next;
	timer->next->prev = timer->prev;
	timer->prev = timer->next = NULL;
	timer->queue = NULL;
}

void
timer_arm(struct timer *timer, struct timer_queue *queue, int64_t now_ms)
{
	timer_stop(timer);
	timer->queue = queue;
	timer->at_ms = now_ms + queue->after_ms;
	timer->prev = queue->end.prev;
	timer->next = &queue->end;
	timer->prev->next = timer;
	queue->end.prev = timer;
}

int
timer_wait(const struct timer_queue *queues, size_t n, int64_t now_ms)
{
	int64_t least = -1;

	for (size_t i = 0; i < n; i++) {
		const struct timer *first = queues[i].end.next;
		int64_t wait;

		if (first == &queues[i].end)
			continue;
		wait = first->at_ms > now_ms ? first->at_ms - now_ms : 0;
		if (least < 0 || wait < least)
			least = wait;
	}
	return least > INT_MAX ? INT_MAX : (int)least;
}

void
timer_fire(struct timer_queue *queues, size_t n, int64_t now_ms)
{
	for (size_t i = 0; i < n; i++) {
		struct timer *first;

		while ((first = queues[i].end.next) != &queues[i].end &&
		    first->at_ms <= now_ms) {
			timer_stop(first);
			first->fire(first);
		}
	}
}

int64_t
timer_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
