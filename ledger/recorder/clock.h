/* The recorder's two clocks. */
#ifndef LEDGER_RECORDER_CLOCK_H
#define LEDGER_RECORDER_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Of the day, since 1970: what records bear.  It may be set. */
static inline int64_t
clock_wall_us(void)
{
	struct timespec now = { 0, 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* For waiting: nobody sets it. */
static inline int64_t
clock_ms(void)
{
	struct timespec now = { 0, 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
