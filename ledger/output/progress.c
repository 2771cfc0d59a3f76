#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ledger/output/progress.h"

#define PATIENCE_S 0.5
#define INTERVAL_S 0.1
#define WIDTH 30

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void
progress_begin(struct progress *p, bool on, const char *what)
{
	*p = (struct progress){ .on = on, .what = what, .began = now() };
}

void
progress_step(void *context, uint64_t done, uint64_t total)
{
	struct progress *p = context;
	char bar[WIDTH + 1];
	unsigned full;
	double t;

	if (!p->on || (t = now()) - p->began < PATIENCE_S || t - p->last < INTERVAL_S)
		return;
	p->last = t;
	p->shown = true;
	if (done > total)
		done = total;	/* it grows while we read */
	full = total == 0 ? 0 : (unsigned)((double)done / (double)total * WIDTH);
	memset(bar, '.', WIDTH);
	memset(bar, '#', full);
	bar[WIDTH] = '\0';
	fprintf(stderr, "\r%s [%s] %3.0f%%  %.1f of %.1f MB, %.0f MB/s\033[K", p->what, bar,
	    total == 0 ? 0.0 : 100.0 * (double)done / (double)total, (double)done / 1e6,
	    (double)total / 1e6, (double)done / 1e6 / (t - p->began));
	fflush(stderr);
}

void
progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
