/* The clocks, read; a moment of theirs to wait for. */
#ifndef LEDGER_CLOCK_H
#define LEDGER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t
clock_ns(clockid_t which)
{
	struct timespec now = { 0, 0 };

	clock_gettime(which, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of the day, since 1970: what records bear.  It may be set. */
static inline int64_t
clock_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static inline int64_t
clock_wall_us(void)
{
	return clock_wall_ns() / 1000;
}

/* For waiting: nobody sets it, and it stands while the machine sleeps. */
static inline int64_t
clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* For what ends at a time: nobody sets it, and it goes on while the machine sleeps. */
static inline int64_t
clock_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

static inline int64_t
clock_boot_ms(void)
{
	return clock_boot_ns() / 1000000;
}

/* For pthread_cond_timedwait on a condition that has the clock of clock_ms. */
static inline struct timespec
clock_after_ms(int64_t ms)
{
	const int64_t ns = clock_ns(CLOCK_MONOTONIC) + ms * 1000000;

	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

#endif
