#include <stdio.h>
#include <string.h>

#include "ledger/output/progress.h"
#include "ledger/clock.h"

#define PATIENCE_MS 500
#define INTERVAL_MS 100
#define WIDTH 30

void
progress_begin(struct progress *p, bool on, const char *what)
{
	*p = (struct progress){ .on = on, .what = what, .began_ms = clock_ms() };
}

void
progress_step(void *context, uint64_t done, uint64_t total)
{
	struct progress *p = context;
	char bar[WIDTH + 1];
	unsigned full;
	int64_t now_ms;

	if (!p->on || (now_ms = clock_ms()) - p->began_ms < PATIENCE_MS ||
	    now_ms - p->last_ms < INTERVAL_MS)
		return;
	p->last_ms = now_ms;
	p->shown = true;
	if (done > total)
		done = total;	/* it grows while we read */
	full = total == 0 ? 0 : (unsigned)((double)done / (double)total * WIDTH);
	memset(bar, '.', WIDTH);
	memset(bar, '#', full);
	bar[WIDTH] = '\0';
	fprintf(stderr, "\r%s [%s] %3.0f%%  %.1f of %.1f MB, %.0f MB/s\033[K", p->what, bar,
	    total == 0 ? 0.0 : 100.0 * (double)done / (double)total, (double)done / 1e6,
	    (double)total / 1e6, (double)done / 1e3 / (double)(now_ms - p->began_ms));
	fflush(stderr);
}

void
progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
