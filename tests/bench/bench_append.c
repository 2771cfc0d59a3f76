/*
 * Appending: how many records a second, with 1, 16 and 64 callers waiting for
 * each to be durable; the recorder as a process and as a thread; against the
 * least that durability costs, which is writing the same bytes in the same
 * batches and calling fdatasync.
 *
 *   bench_append [seconds a measurement (0.5)] [directory]
 *
 * Everything runs on the same disk, alternating, so that the ratios mean
 * something on a shared machine.  Callers are driven as the broker's workers
 * do it: two event loops, each with half of the callers and one port.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "scratch_ledger.h"

#define LOOPS 2
#define ROUNDS 7
#define BODY 120	/* with its envelope a line of about 350 bytes */

static double seconds = 0.5;
static const char *parent = "/tmp";

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
cpu(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec +
	    children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
	    (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec +
	    children.ru_utime.tv_usec + children.ru_stime.tv_usec) / 1e6;
}

struct result {
	double rate, p50_us, p99_us, batch, bytes, cpu_us;
};

/* One event loop with its callers, each with one record on its way. */
struct loop {
	struct ledger_port *port;
	pthread_t thread;
	unsigned callers;
	double until;
	uint64_t done, failed;
	double started[64];
	float *latency;
	size_t n_latency, cap_latency;
};

static int
submit(struct loop *loop, uint64_t caller)
{
	static const char body[] = "{\"method\":\"GET\",\"host\":"
	    "\"api.example.com\",\"path\":\"/repos/o/r/issues\",\"grant\":"
	    "\"g-0123456789abcdef\",\"decision\":\"allow\",\"uses\":1}";
	const struct ledger_record record = { "use", "r-0123456789abcdef",
	    SCRATCH_POLICY, body, sizeof(body) - 1, false };

	loop->started[caller] = now();
	return ledger_submit(loop->port, &record, caller);
}

static void
take_receipts(struct loop *loop, unsigned *waiting)
{
	struct ledger_receipt receipt;

	while (ledger_receipt(loop->port, &receipt)) {
		double t = now();

		loop->done++;
		loop->failed += receipt.status != LEDGER_DURABLE;
		if (loop->n_latency < loop->cap_latency)
			loop->latency[loop->n_latency++] = (float)((t -
			    loop->started[receipt.ticket]) * 1e6);
		if (t >= loop->until || submit(loop, receipt.ticket) != 0)
			(*waiting)--;
	}
}

static void *
run_loop(void *arg)
{
	struct loop *loop = arg;
	unsigned waiting = 0;

	while (waiting < loop->callers && submit(loop, waiting) == 0)
		waiting++;
	while (waiting > 0) {
		struct pollfd fd = { ledger_port_fd(loop->port), POLLIN, 0 };

		if (poll(&fd, 1, 10000) != 1)
			break;
		take_receipts(loop, &waiting);
	}
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static void
percentiles(struct loop *loops, unsigned n, struct result *out)
{
	size_t total = 0, at = 0;
	float *all;

	for (unsigned i = 0; i < n; i++)
		total += loops[i].n_latency;
	all = malloc((total + 1) * sizeof(*all));
	for (unsigned i = 0; all != NULL && i < n; i++) {
		memcpy(all + at, loops[i].latency,
		    loops[i].n_latency * sizeof(*all));
		at += loops[i].n_latency;
	}
	if (all != NULL && total > 0) {
		qsort(all, total, sizeof(*all), compare);
		out->p50_us = (double)all[total / 2];
		out->p99_us = (double)all[total * 99 / 100];
	}
	free(all);
}

static struct result
measure(unsigned callers, enum ledger_place place, enum ledger_sync sync)
{
	unsigned n = callers < LOOPS ? 1 : LOOPS;
	struct loop loops[LOOPS] = { { .port = NULL } };
	struct result result = { .rate = 0 };
	struct ledger_counts before, after;
	struct scratch scratch;
	struct ledger *ledger;
	double cpu_before, began;
	uint64_t done = 0;

	scratch_init(&scratch, parent);
	scratch.options.place = place;
	scratch.options.sync = sync;
	scratch.options.ports = n;
	cpu_before = cpu();
	ledger = scratch_open(&scratch);
	if (ledger == NULL) {
		fprintf(stderr, "%s\n", scratch.err);
		exit(1);
	}
	ledger_counts(ledger, &before);
	began = now();
	for (unsigned i = 0; i < n; i++) {
		loops[i].port = ledger_port(ledger, i);
		loops[i].callers = callers / n;
		loops[i].until = began + seconds;
		loops[i].cap_latency = 4000000;
		loops[i].latency = malloc(loops[i].cap_latency *
		    sizeof(float));
		pthread_create(&loops[i].thread, NULL, run_loop, &loops[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(loops[i].thread, NULL);
		done += loops[i].done;
		if (loops[i].failed > 0)
			exit(1);
	}
	result.rate = (double)done / (now() - began);
	ledger_counts(ledger, &after);
	ledger_close(ledger);
	result.cpu_us = (cpu() - cpu_before) / (double)done * 1e6;
	result.batch = (double)(after.records - before.records) /
	    (double)(after.batches - before.batches);
	percentiles(loops, n, &result);
	for (unsigned i = 0; i < n; i++)
		free(loops[i].latency);
	scratch_remove(&scratch);
	return result;
}

/* The same bytes in batches of the same size by one loop of pwrite and
 * fdatasync: into a growing file, or over zeros. */
static double
raw(double batch, bool zeroed)
{
	static char zeros[1 << 20], bytes[1 << 17];
	char path[300];
	uint64_t at = 0, records = 0, ready = 0;
	double began, unit = 470 - 120 + BODY, carry = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/bench-raw-%d", parent, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		exit(1);
	memset(bytes, 'x', sizeof(bytes));
	began = now();
	while (now() - began < seconds) {
		size_t n = (size_t)(carry += batch);
		size_t len = (size_t)((double)n * unit);

		carry -= (double)n;
		if (n == 0)
			continue;
		if (zeroed && at + len > ready) {
			if (pwrite(fd, zeros, sizeof(zeros), (off_t)ready) < 0)
				exit(1);
			ready += sizeof(zeros);
		}
		if (pwrite(fd, bytes, len, (off_t)at) != (ssize_t)len ||
		    fdatasync(fd) != 0)
			exit(1);
		at += len;
		records += n;
	}
	began = now() - began;
	close(fd);
	unlink(path);
	return (double)records / began;
}

static double
median(double *values, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		for (size_t j = i; j > 0 && values[j] < values[j - 1]; j--) {
			double t = values[j];

			values[j] = values[j - 1];
			values[j - 1] = t;
		}
	}
	return values[n / 2];
}

static void
show(const char *name, unsigned callers, const struct result *r)
{
	printf("%2u callers  %-17s %8.0f records/s  p50 %6.0f us  p99 %6.0f us"
	    "  batch %5.1f  cpu %4.1f us/record\n", callers, name, r->rate,
	    r->p50_us, r->p99_us, r->batch, r->cpu_us);
}

static void
compare_at(unsigned callers)
{
	double process[ROUNDS], thread[ROUNDS], growing[ROUNDS];
	double zeroed[ROUNDS], unsynced[ROUNDS];
	struct result p = { .rate = 0 }, t = p, u = p;

	for (unsigned i = 0; i < ROUNDS; i++) {
		/* in turns, so that neither always meets the other's dirt */
		if (i % 2 == 0)
			p = measure(callers, LEDGER_IN_PROCESS,
			    LEDGER_SYNC_DATA);
		t = measure(callers, LEDGER_IN_THREAD, LEDGER_SYNC_DATA);
		if (i % 2 != 0)
			p = measure(callers, LEDGER_IN_PROCESS,
			    LEDGER_SYNC_DATA);
		u = measure(callers, LEDGER_IN_PROCESS, LEDGER_SYNC_NONE);
		growing[i] = p.rate / raw(p.batch, false);
		zeroed[i] = p.rate / raw(p.batch, true);
		process[i] = p.rate;
		thread[i] = p.rate / t.rate;
		unsynced[i] = u.rate;
	}
	show("process", callers, &p);
	show("thread", callers, &t);
	show("process, no sync", callers, &u);
	printf("%2u callers  ratio: process/thread %.2f, process/raw growing "
	    "%.2f, process/raw over zeros %.2f  (medians of %d; %.0f and %.0f "
	    "records/s)\n\n", callers, median(thread, ROUNDS),
	    median(growing, ROUNDS), median(zeroed, ROUNDS), ROUNDS,
	    median(process, ROUNDS), median(unsynced, ROUNDS));
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static const unsigned callers[] = { 1, 16, 64 };

	if (argc > 1)
		seconds = atof(argv[1]);
	if (argc > 2)
		parent = argv[2];
	for (size_t i = 0; i < sizeof(callers) / sizeof(*callers); i++)
		compare_at(callers[i]);
	return 0;
}
