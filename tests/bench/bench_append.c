/*
 * Appending: how many records a second are made durable for 1, 16 and 64
 * callers that wait for each, against the least that this costs.
 *
 *   bench_append [seconds a slice (0.5)] [directory (/tmp)] [callers [what]]
 *
 * Callers are what the data plane has: two event loops, each with a port and
 * half of the callers, each caller with one record on its way.  A loop takes
 * all receipts that wait, queues the next record of each of these callers,
 * wakes the recorder once, and sleeps on the port's descriptor.
 *
 *   process          the recorder as it is shipped
 *   thread           the same in this process
 *   raw, answering   a process that takes the same records by the same rings,
 *                    writes what waits, fdatasync, and answers by the same
 *                    bells: no check, hash, tree or signature (raw_recorder.h)
 *   raw, alone       pwrite and fdatasync of batches as large as those of
 *                    `process`, by one loop; nobody hands anything over, and
 *                    nobody waits
 *
 * The raw ones write to a file that grows, and then again ("zeroed") over zeros
 * taken a MiB at a time, which is what the recorder does; the one alone also into
 * a file for which fallocate took the space ("allocated").  All alternate on one
 * disk in one run, so that ratios of a round mean something on a shared machine.  With
 * callers only so many are measured; with what too ("process", "thread", "raw",
 * "zeroed", "alone") that one alone runs, to be profiled.
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

#include "ledger/record/record.h"
#include "raw_recorder.h"
#include "scratch_ledger.h"

#define LOOPS 2
#define ROUNDS 9
#define CALLERS_MAX 64
#define LATENCIES 2000000	/* of a loop and a slice, at most */

static const char body[] = "{\"method\":\"GET\",\"host\":\"api.example.com\","
    "\"path\":\"/repos/o/r/issues\",\"grant\":\"g-0123456789abcdef\","
    "\"decision\":\"allow\",\"uses\":1}";
static const struct ledger_record sample = { "use", "r-0123456789abcdef",
    SCRATCH_POLICY, body, sizeof(body) - 1, false };

static double seconds = 0.5;
static const char *parent = "/tmp";
static char envelope[RECORD_ENVELOPE_MAX];	/* what stands before a body */
static size_t line_len;				/* with its LF */

enum subject { PROCESS, THREAD, RAW, ZEROED, UNSYNCED };

struct result {
	double rate, p50_us, p99_us, batch;
	double caller_cpu, recorder_cpu;	/* us a record */
	double switches;			/* a record, of both sides */
};

static double
clock_s(clockid_t id)
{
	struct timespec t = { .tv_sec = 0 };

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
now(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

/* The first line that the recorder would write, up to its body. */
static void
make_envelope(void)
{
	static const uint8_t prev[RECORD_HASH_LEN];
	char line[RECORD_LINE_MAX];
	struct record_parts parts = { .prev = prev, .stream = { "broker", 6 },
	    .type = { sample.type, strlen(sample.type) },
	    .run = { sample.run, strlen(sample.run) },
	    .policy = { sample.policy, LEDGER_POLICY_LEN },
	    .body = { body, sizeof(body) - 1 }, .seq = 100000 };

	line_len = record_compose(line, sizeof(line), &parts) + 1;
	memcpy(envelope, line, line_len - 1 - sizeof(body));
}

/* Where records go: a ledger's port, or a raw recorder's. */
struct target {
	struct ledger *ledger;		/* NULL: raw */
	struct raw_recorder raw;
	struct scratch scratch;
};

/* One event loop with its callers. */
struct loop {
	struct target *target;
	unsigned port, callers, waiting;
	pthread_t thread;
	double until, cpu;
	uint64_t done, failed, turns;
	long switches;
	double started[CALLERS_MAX];
	float *latency;
	size_t n_latency;
};

static int
queue(struct loop *loop, uint64_t caller)
{
	struct target *to = loop->target;

	if (to->ledger == NULL)
		return channel_submit(to->raw.channel, loop->port, &sample,
		    caller);
	return ledger_queue(ledger_port(to->ledger, loop->port), &sample,
	    caller);
}

static void
flush(struct loop *loop)
{
	if (loop->target->ledger == NULL)
		channel_flush(loop->target->raw.channel);
	else
		ledger_flush(ledger_port(loop->target->ledger, loop->port));
}

static bool
take(struct loop *loop, struct ledger_receipt *receipt)
{
	if (loop->target->ledger == NULL)
		return channel_receipt(loop->target->raw.channel, loop->port,
		    receipt);
	return ledger_receipt(ledger_port(loop->target->ledger, loop->port),
	    receipt);
}

static int
port_fd(const struct loop *loop)
{
	if (loop->target->ledger == NULL)
		return channel_port_fd(loop->target->raw.channel, loop->port);
	return ledger_port_fd(ledger_port(loop->target->ledger, loop->port));
}

/* One turn: everything that was answered is asked again. */
static void
turn(struct loop *loop)
{
	struct ledger_receipt receipt;
	double t = now();

	while (take(loop, &receipt)) {
		loop->done++;
		loop->failed += receipt.status != LEDGER_DURABLE;
		if (loop->n_latency < LATENCIES)
			loop->latency[loop->n_latency++] = (float)((t -
			    loop->started[receipt.ticket]) * 1e6);
		loop->started[receipt.ticket] = t;
		if (t >= loop->until || queue(loop, receipt.ticket) != 0)
			loop->waiting--;
	}
	flush(loop);
	loop->turns++;
}

static void *
run_loop(void *arg)
{
	struct loop *loop = arg;
	struct rusage usage;

	for (; loop->waiting < loop->callers; loop->waiting++) {
		loop->started[loop->waiting] = now();
		if (queue(loop, loop->waiting) != 0)
			break;
	}
	flush(loop);
	while (loop->waiting > 0) {
		struct pollfd fd = { port_fd(loop), POLLIN, 0 };

		if (poll(&fd, 1, 10000) != 1)
			break;
		turn(loop);
	}
	loop->cpu = clock_s(CLOCK_THREAD_CPUTIME_ID);
	getrusage(RUSAGE_THREAD, &usage);
	loop->switches = usage.ru_nvcsw;
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static void
percentiles(const struct loop *loops, unsigned n, struct result *out)
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

static void
open_target(struct target *target, enum subject subject, unsigned ports)
{
	*target = (struct target){ .ledger = NULL };
	if (subject == RAW || subject == ZEROED) {
		raw_start(&target->raw, parent, ports, envelope,
		    subject == RAW ? RAW_GROWING : RAW_ZEROED);
		return;
	}
	scratch_init(&target->scratch, parent);
	target->scratch.options.place = subject == THREAD ? LEDGER_IN_THREAD :
	    LEDGER_IN_PROCESS;
	target->scratch.options.sync = subject == UNSYNCED ? LEDGER_SYNC_NONE :
	    LEDGER_SYNC_DATA;
	target->scratch.options.ports = ports;
	target->ledger = scratch_open(&target->scratch);
	if (target->ledger == NULL) {
		fprintf(stderr, "%s\n", target->scratch.err);
		exit(1);
	}
}

static void
close_target(struct target *target)
{
	if (target->ledger == NULL) {
		raw_stop(&target->raw);
		return;
	}
	ledger_close(target->ledger);
	scratch_remove(&target->scratch);
}

static pid_t
recorder_pid(const struct target *target)
{
	return target->ledger == NULL ? target->raw.pid :
	    ledger_recorder_pid(target->ledger);
}

/* CPU seconds of the recorder's process so far; 0 where it is a thread. */
static double
recorder_cpu(const struct target *target)
{
	pid_t pid = recorder_pid(target);
	clockid_t id;

	return pid != 0 && clock_getcpuclockid(pid, &id) == 0 ? clock_s(id) : 0;
}

/* How often its main thread slept. */
static long
recorder_switches(const struct target *target)
{
	char line[256];
	pid_t pid = recorder_pid(target);
	long n = 0;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	f = pid != 0 ? fopen(line, "r") : NULL;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	if (f != NULL)
		fclose(f);
	return n;
}

static void
start_loops(struct loop *loops, unsigned n, struct target *target,
    unsigned callers, double began)
{
	for (unsigned i = 0; i < n; i++) {
		loops[i] = (struct loop){ .target = target, .port = i,
		    .callers = callers / n, .until = began + seconds,
		    .latency = malloc(LATENCIES * sizeof(float)) };
		if (loops[i].latency == NULL || pthread_create(
		    &loops[i].thread, NULL, run_loop, &loops[i]) != 0)
			exit(1);
	}
}

/* What the loops did, added up; the elapsed time is given. */
static void
sum_up(struct loop *loops, unsigned n, double elapsed, long switches,
    struct result *out)
{
	uint64_t done = 0;

	for (unsigned i = 0; i < n; i++) {
		if (loops[i].failed > 0 || loops[i].done == 0)
			exit(1);
		done += loops[i].done;
		switches += loops[i].switches;
		out->caller_cpu += loops[i].cpu * 1e6;
	}
	out->rate = (double)done / elapsed;
	out->caller_cpu /= (double)done;
	out->recorder_cpu *= 1e6 / (double)done;
	out->switches = (double)switches / (double)done;
	percentiles(loops, n, out);
}

static struct result
measure(unsigned callers, enum subject subject)
{
	unsigned n = callers < LOOPS ? 1 : LOOPS;
	struct result result = { .rate = 0 };
	struct ledger_counts before = { .records = 0 }, after = before;
	struct loop loops[LOOPS];
	struct target target;
	double began, cpu;
	long switches;

	open_target(&target, subject, n);
	if (target.ledger != NULL)
		ledger_counts(target.ledger, &before);
	cpu = recorder_cpu(&target);
	switches = recorder_switches(&target);
	began = now();
	start_loops(loops, n, &target, callers, began);
	for (unsigned i = 0; i < n; i++)
		pthread_join(loops[i].thread, NULL);
	began = now() - began;
	result.recorder_cpu = recorder_cpu(&target) - cpu;
	switches = recorder_switches(&target) - switches;
	if (target.ledger != NULL)
		ledger_counts(target.ledger, &after);
	sum_up(loops, n, began, switches, &result);
	close_target(&target);
	if (after.batches > before.batches)
		result.batch = (double)(after.records - before.records) /
		    (double)(after.batches - before.batches);
	for (unsigned i = 0; i < n; i++)
		free(loops[i].latency);
	return result;
}

/* Batches of as many lines by one loop of pwrite and fdatasync. */
static double
alone(double batch, enum raw_file file)
{
	static char bytes[1 << 17];
	char path[300];
	uint64_t at = 0, ready = 0, records = 0;
	double began = now(), carry = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/bench-raw-%d", parent, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || unlink(path) != 0)
		exit(1);
	memset(bytes, 'x', sizeof(bytes));
	while (now() - began < seconds) {
		size_t n = (size_t)(carry += batch), len = n * line_len;

		carry -= (double)n;
		if (n > 0)
			raw_write(fd, file, bytes, len, &at, &ready);
		records += n;
	}
	began = now() - began;
	close(fd);
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
	printf("%2u callers  %-16s %7.0f records/s  p50 %5.0f us  p99 %5.0f us"
	    "  cpu of callers %5.2f, recorder %5.2f us/record  sleeps "
	    "%.3f/record\n", callers, name, r->rate, r->p50_us, r->p99_us,
	    r->caller_cpu, r->recorder_cpu, r->switches);
}

struct ratios {
	double answering[ROUNDS], alone[ROUNDS];	/* both growing */
	double alone_allocated[ROUNDS];
	double answering_zeroed[ROUNDS], alone_zeroed[ROUNDS];
	double thread[ROUNDS], cpu[ROUNDS];
};

static void
compare_at(unsigned callers)
{
	struct result process = { .rate = 0 }, thread = process, raw = process;
	struct result zeroed = process, unsynced;
	struct ratios ratios;
	double bare = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		/* in turns, so that neither always meets the other's dirt */
		if (i % 2 == 0)
			process = measure(callers, PROCESS);
		raw = measure(callers, RAW);
		if (i % 2 != 0)
			process = measure(callers, PROCESS);
		zeroed = measure(callers, ZEROED);
		bare = alone(process.batch, RAW_GROWING);
		ratios.alone_allocated[i] = process.rate /
		    alone(process.batch, RAW_ALLOCATED);
		ratios.alone_zeroed[i] = process.rate /
		    alone(process.batch, RAW_ZEROED);
		thread = measure(callers, THREAD);
		ratios.answering[i] = process.rate / raw.rate;
		ratios.answering_zeroed[i] = process.rate / zeroed.rate;
		ratios.alone[i] = process.rate / bare;
		ratios.thread[i] = process.rate / thread.rate;
		ratios.cpu[i] = (process.caller_cpu + process.recorder_cpu) /
		    (raw.caller_cpu + raw.recorder_cpu);
	}
	unsynced = measure(callers, UNSYNCED);
	show("process", callers, &process);
	show("thread", callers, &thread);
	show("raw, answering", callers, &raw);
	show("raw, zeroed", callers, &zeroed);
	show("process, no sync", callers, &unsynced);
	printf("%2u callers  raw, alone       %7.0f records/s in batches of "
	    "%.1f\n", callers, bare, process.batch);
	printf("%2u callers  process / raw that answers: %.2f, zeroed %.2f (cpu "
	    "%.2f)   / raw alone: %.2f, allocated %.2f, zeroed %.2f   / thread: "
	    "%.2f   (medians of %d)\n\n", callers, median(ratios.answering, ROUNDS),
	    median(ratios.answering_zeroed, ROUNDS),
	    median(ratios.cpu, ROUNDS), median(ratios.alone, ROUNDS),
	    median(ratios.alone_allocated, ROUNDS),
	    median(ratios.alone_zeroed, ROUNDS),
	    median(ratios.thread, ROUNDS), ROUNDS);
	fflush(stdout);
}

static void
only(unsigned callers, const char *what)
{
	enum subject subject = strcmp(what, "raw") == 0 ? RAW :
	    strcmp(what, "zeroed") == 0 ? ZEROED :
	    strcmp(what, "thread") == 0 ? THREAD : PROCESS;
	struct result result = { .rate = 0 };

	if (strcmp(what, "alone") == 0) {
		printf("%2u callers  raw, alone       %7.0f records/s, allocated "
		    "%7.0f, zeroed %7.0f\n", callers, alone(callers, RAW_GROWING),
		    alone(callers, RAW_ALLOCATED), alone(callers, RAW_ZEROED));
		return;
	}
	result = measure(callers, subject);
	show(what, callers, &result);
}

int
main(int argc, char **argv)
{
	static const unsigned callers[] = { 1, 16, 64 };

	if (argc > 1)
		seconds = atof(argv[1]);
	if (argc > 2)
		parent = argv[2];
	make_envelope();
	if (argc > 4) {
		only((unsigned)atoi(argv[3]), argv[4]);
		return 0;
	}
	printf("lines of %zu bytes; raw, answering: the same rings, copies, "
	    "bells, batches and fdatasync, but\nno check, hash, tree or "
	    "signature; raw, alone: pwrite and fdatasync, nobody waits\n\n",
	    line_len);
	for (size_t i = 0; i < sizeof(callers) / sizeof(*callers); i++) {
		if (argc < 4 || callers[i] == (unsigned)atoi(argv[3]))
			compare_at(callers[i]);
	}
	return 0;
}
