/* Milliseconds of a clock that nobody sets and that stands while the machine sleeps. */
#ifndef BROKER_NOW_MS_H
#define BROKER_NOW_MS_H

#include <stdint.h>
#include <time.h>

static inline int64_t
now_ms(void)
{
	struct timespec now = { 0, 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
