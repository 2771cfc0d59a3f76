#include "ledger/recorder/append.h"
#include "ledger/recorder/channel.h"
#include "ledger/recorder/spawn.h"
#include "ledger/recorder/store.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FULL_RING_WAIT_MS 1
#define LIFE_MS 1000		/* between two questions to the recorder */

struct ledger_port {
	struct ledger *ledger;
	unsigned index;
	uint64_t next_ticket;	/* of ledger_append_wait */
};

struct ledger {
	struct channel *channel;
	struct ledger_options options;
	struct spawn recorder;
	pthread_t watcher;
	_Atomic unsigned silent;	/* questions in a row that it let lie */
	bool closed_well;	/* the recorder's last word; read after joining */
	struct ledger_port ports[CHANNEL_PORTS_MAX];
};

static int
report(char *err, size_t err_len, const struct problem *problem)
{
	if (err_len > 0)
		snprintf(err, err_len, "%s", problem->text);
	return -1;
}

int
ledger_create(const char *dir, const char *origin, const uint8_t *seed,
    char *err, size_t err_len)
{
	struct problem problem = { "out of memory for the signing key" };
	uint8_t *sk = spawn_secret_key(seed);
	int status = -1;

	if (sk != NULL)
		status = store_create(dir, origin, sk, &problem);
	sodium_free(sk);
	return status == 0 ? 0 : report(err, err_len, &problem);
}

/* Turns are counted, not time: where all of us were stopped it did not fail to
 * answer. */
static void
look_for_life(struct ledger *ledger)
{
	if (!channel_lives(ledger->channel)) {
		atomic_fetch_add(&ledger->silent, 1);
		return;
	}
	atomic_store(&ledger->silent, 0);
	channel_ask_life(ledger->channel);
}

/* Waits for the recorder's end, however it comes. */
static void *
watcher_thread(void *arg)
{
	struct ledger *ledger = arg;
	struct pollfd fd = { .fd = ledger->recorder.socket, .events = POLLIN };
	struct spawn_word word;
	int n;

	while ((n = poll(&fd, 1, LIFE_MS)) == 0 || (n < 0 && errno == EINTR)) {
		if (n == 0)
			look_for_life(ledger);
	}
	ledger->closed_well = spawn_hear(&ledger->recorder, &word) && word.good;
	channel_mark_gone(ledger->channel);
	return NULL;
}

static void
free_ledger(struct ledger *ledger)
{
	spawn_free(&ledger->recorder);
	channel_free(ledger->channel);
	free(ledger);
}

static int
confine_owner(const struct ledger *ledger, struct problem *problem)
{
	const struct ledger_options *options = &ledger->options;
	char err[PROBLEM_MAX] = "";

	if (options->confine == NULL ||
	    options->confine(options->confine_arg, err, sizeof(err)) == 0)
		return 0;
	return problem_set(problem, "%s", err);
}

static int
start(struct ledger *ledger, struct problem *problem)
{
	bool process = ledger->options.place == LEDGER_IN_PROCESS;
	struct spawn_word word;

	if ((!process && confine_owner(ledger, problem) != 0) ||
	    spawn_start(&ledger->recorder, &ledger->options,
	    ledger->channel, problem) != 0)
		return -1;
	if (process && confine_owner(ledger, problem) != 0)
		goto stop;
	if (!spawn_hear(&ledger->recorder, &word))
		problem_set(problem, "the recorder ended without a word");
	else if (!word.good)
		*problem = word.problem;
	else if (spawn_thread(&ledger->watcher, watcher_thread,
	    ledger) == 0)
		return 0;
	else
		problem_errno(problem, "cannot watch the recorder");
stop:
	channel_stop(ledger->channel);
	spawn_join(&ledger->recorder);
	return -1;
}

struct ledger *
ledger_open(const struct ledger_options *options, char *err, size_t err_len)
{
	struct problem problem = { "out of memory" };
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (ledger == NULL) {
		report(err, err_len, &problem);
		return NULL;
	}
	ledger->options = *options;
	ledger->recorder.socket = -1;
	ledger->channel = channel_new(options->ports);
	if (ledger->channel == NULL)
		problem_errno(&problem, "cannot share memory with a recorder "
		    "for %u ports", options->ports);
	if (ledger->channel == NULL || start(ledger, &problem) != 0) {
		report(err, err_len, &problem);
		free_ledger(ledger);
		return NULL;
	}
	for (unsigned i = 0; i < options->ports; i++)
		ledger->ports[i] = (struct ledger_port){ .ledger = ledger,
		    .index = i };
	return ledger;
}

int
ledger_close(struct ledger *ledger)
{
	int status;

	if (ledger == NULL)
		return 0;
	channel_stop(ledger->channel);
	pthread_join(ledger->watcher, NULL);
	spawn_join(&ledger->recorder);
	status = ledger->closed_well ? 0 : -1;
	free_ledger(ledger);
	return status;
}

struct ledger_port *
ledger_port(struct ledger *ledger, unsigned i)
{
	return i < ledger->options.ports ? &ledger->ports[i] : NULL;
}

int
ledger_submit(struct ledger_port *port, const struct ledger_record *record,
    uint64_t ticket)
{
	int result = ledger_queue(port, record, ticket);

	ledger_flush(port);
	return result;
}

int
ledger_queue(struct ledger_port *port, const struct ledger_record *record,
    uint64_t ticket)
{
	return channel_submit(port->ledger->channel, port->index, record,
	    ticket);
}

void
ledger_flush(struct ledger_port *port)
{
	channel_flush(port->ledger->channel);
}

int
ledger_port_fd(const struct ledger_port *port)
{
	return channel_port_fd(port->ledger->channel, port->index);
}

bool
ledger_receipt(struct ledger_port *port, struct ledger_receipt *out)
{
	return channel_receipt(port->ledger->channel, port->index, out);
}

static void
wait_for_port(const struct ledger_port *port, int timeout_ms)
{
	struct pollfd fd = { .fd = ledger_port_fd(port), .events = POLLIN };

	if (poll(&fd, 1, timeout_ms) < 0)
		return;		/* interrupted: the caller looks again */
}

static enum ledger_status
append(struct ledger_port *port, const struct ledger_record *record,
    struct ledger_receipt *out, bool patient)
{
	struct channel *channel = port->ledger->channel;
	uint64_t ticket = port->next_ticket++;
	bool gone = false;

	*out = (struct ledger_receipt){ .ticket = ticket,
	    .status = LEDGER_REJECTED };
	if (!channel_record_fits(record))
		return out->status;
	out->status = LEDGER_FAILED;
	while (ledger_submit(port, record, ticket) != 0) {
		if (channel_gone(channel))
			return LEDGER_FAILED;
		if (!patient && ledger_silent_s(port->ledger) != 0)
			return out->status = LEDGER_SILENT;
		wait_for_port(port, FULL_RING_WAIT_MS);
	}
	for (;;) {
		struct ledger_receipt receipt;

		while (ledger_receipt(port, &receipt)) {
			if (receipt.ticket != ticket)
				continue;
			*out = receipt;
			return receipt.status;
		}
		/* It may have answered before it went: one look more. */
		if (gone)
			return LEDGER_FAILED;
		gone = channel_gone(channel);
		if (!gone && !patient && ledger_silent_s(port->ledger) != 0)
			return out->status = LEDGER_SILENT;
		if (!gone)
			wait_for_port(port, patient ? -1 : LIFE_MS);
	}
}

enum ledger_status
ledger_append_wait(struct ledger_port *port, const struct ledger_record *record,
    struct ledger_receipt *out)
{
	return append(port, record, out, true);
}

enum ledger_status
ledger_append_soon(struct ledger_port *port, const struct ledger_record *record,
    struct ledger_receipt *out)
{
	return append(port, record, out, false);
}

bool
ledger_healthy(const struct ledger *ledger)
{
	return !channel_failed(ledger->channel) &&
	    !channel_gone(ledger->channel);
}

unsigned
ledger_silent_s(const struct ledger *ledger)
{
	unsigned turns = atomic_load_explicit(&ledger->silent,
	    memory_order_relaxed);

	return turns * LIFE_MS / 1000 >= LEDGER_SILENT_S ?
	    turns * LIFE_MS / 1000 : 0;
}

int
ledger_rotate(struct ledger *ledger, unsigned timeout_ms)
{
	const struct timespec pause = { 0, 5 * 1000000 };
	struct ledger_counts before, now;

	if (ledger->options.keeper == NULL)
		return -1;
	ledger_counts(ledger, &before);
	channel_want_rotation(ledger->channel);
	for (unsigned ms = 0; ms < timeout_ms && ledger_healthy(ledger);
	    ms += 5) {
		ledger_counts(ledger, &now);
		if (now.epoch > before.epoch)
			return 0;
		nanosleep(&pause, NULL);
	}
	return -1;
}

pid_t
ledger_recorder_pid(const struct ledger *ledger)
{
	return ledger->recorder.pid;
}

void
ledger_counts(const struct ledger *ledger, struct ledger_counts *out)
{
	channel_counts(ledger->channel, out);
}
