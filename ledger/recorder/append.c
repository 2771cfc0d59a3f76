#include "ledger/confine.h"
#include "ledger/recorder/append.h"
#include "ledger/recorder/channel.h"
#include "ledger/recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RESERVE_MIN (256 * 1024)
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
	int socket;		/* to the recorder; its end hangs up when it dies */
	pid_t pid;		/* of its process, or 0 */
	pthread_t recorder;	/* its thread, where pid is 0 */
	pthread_t watcher;
	_Atomic unsigned silent;	/* questions in a row that it let lie */
	bool closed_well;	/* the recorder's last word; read after joining */
	struct ledger_port ports[CHANNEL_PORTS_MAX];
};

/* What the recorder says of itself: once it serves, or why it does not, and
 * when it has ended. */
struct word {
	bool good;
	struct problem problem;
};

/* What the recorder's side owns until it ends. */
struct recorder_side {
	struct recorder_setup setup;
	unsigned ports;
	int socket;
};

static int
report(char *err, size_t err_len, const struct problem *problem)
{
	if (err_len > 0)
		snprintf(err, err_len, "%s", problem->text);
	return -1;
}

/* The secret key, in memory that is locked and wiped. */
static uint8_t *
make_sk(const uint8_t *seed)
{
	uint8_t pk[NOTE_PK_LEN], *sk;

	if (sodium_init() < 0 || (sk = sodium_malloc(NOTE_SK_LEN)) == NULL)
		return NULL;
	crypto_sign_seed_keypair(pk, sk, seed);
	return sk;
}

int
ledger_create(const char *dir, const char *origin, const uint8_t *seed,
    char *err, size_t err_len)
{
	struct problem problem = { "out of memory for the signing key" };
	uint8_t *sk = make_sk(seed);
	int status = -1;

	if (sk != NULL)
		status = store_create(dir, origin, sk, &problem);
	sodium_free(sk);
	return status == 0 ? 0 : report(err, err_len, &problem);
}

static void
say(int socket, const struct word *word)
{
	/* Nobody may be left to hear it. */
	if (send(socket, word, sizeof(*word), MSG_NOSIGNAL) < 0)
		return;
}

/* Serve from start to end; both words are said here. */
static int
run_recorder(const struct recorder_side *side)
{
	struct word word = { .good = false };
	struct recorder *recorder = recorder_start(&side->setup, side->ports,
	    &word.problem);

	word.good = recorder != NULL;
	say(side->socket, &word);
	if (recorder == NULL)
		return -1;
	word.good = recorder_run(recorder) == 0;
	say(side->socket, &word);
	return word.good ? 0 : -1;
}

static void
free_side(struct recorder_side *side)
{
	if (side == NULL)
		return;
	sodium_free(side->setup.sk);
	close(side->socket);
	free(side);
}

static void *
recorder_thread(void *arg)
{
	struct recorder_side *side = arg;

	run_recorder(side);
	free_side(side);
	return NULL;
}

static int
compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The broker's listeners, connections and files are none of our business. */
static void
close_others(const struct recorder_side *side)
{
	int keep[CHANNEL_PORTS_MAX + 2], next = STDERR_FILENO + 1;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	size_t n = channel_fds(side->setup.channel, keep);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	keep[n++] = side->socket;
	qsort(keep, n, sizeof(*keep), compare_fds);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] > next)
			syscall(SYS_close_range, next, keep[i] - 1, 0);
		if (keep[i] >= next)
			next = keep[i] + 1;
	}
	syscall(SYS_close_range, next, ~0U, 0);
}

/* The owner tells the recorder when to end; a terminal or a service manager
 * that signals the whole group would cost it what is still queued. */
static void
ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
	    SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGXFSZ };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void
recorder_process(struct recorder_side *side)
{
	const struct confine_path dir = { side->setup.dir, CONFINE_WRITE };
	const struct confine_options options = { .paths = &dir, .n_paths = 1 };
	struct word word = { .good = false };
	struct confine_report confined;

	prctl(PR_SET_NAME, "ledger-recorder");
	ignore_signals();
	close_others(side);
	/* Locks are not inherited. */
	side->setup.key_locked = mlock(side->setup.sk, NOTE_SK_LEN) == 0;
	if (confine_self(&options, &confined) != 0) {
		problem_errno(&word.problem, "cannot confine the recorder");
		say(side->socket, &word);
		_exit(1);
	}
	side->setup.confined = confined.text;
	_exit(run_recorder(side) == 0 ? 0 : 1);
}

static int
start_process(struct ledger *ledger, struct recorder_side *side,
    struct problem *problem)
{
	side->setup.place = "process";
	ledger->pid = fork();
	if (ledger->pid < 0) {
		ledger->pid = 0;
		return problem_errno(problem, "cannot start the recorder");
	}
	if (ledger->pid == 0) {
		close(ledger->socket);
		recorder_process(side);
	}
	return 0;	/* the child has its own copy of side */
}

/* A thread with every signal blocked: signals are for the caller's threads. */
static int
start_quiet_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return error == 0 ? 0 : -1;
}

static int
start_thread(struct ledger *ledger, struct recorder_side **side,
    struct problem *problem)
{
	struct recorder_setup *setup = &(*side)->setup;

	setup->place = "thread";
	setup->key_locked = mlock(setup->sk, NOTE_SK_LEN) == 0;
	if (start_quiet_thread(&ledger->recorder, recorder_thread, *side) != 0)
		return problem_errno(problem, "cannot start the recorder");
	*side = NULL;	/* the thread's */
	return 0;
}

static struct recorder_side *
make_side(const struct ledger *ledger, int socket)
{
	const struct ledger_options *options = &ledger->options;
	struct recorder_side *side = calloc(1, sizeof(*side));

	if (side == NULL)
		return NULL;
	side->ports = options->ports;
	side->socket = socket;
	side->setup = (struct recorder_setup){ .channel = ledger->channel,
	    .owner_fd = socket, .dir = options->dir,
	    .stream = options->stream, .policy = options->policy,
	    .sync = options->sync == LEDGER_SYNC_DATA, .confined = "",
	    .check_all = options->check_all, .keeper = options->keeper,
	    .epoch_s = options->epoch_s,
	    .epoch_records = options->epoch_records,
	    .checkpoint_ms = options->checkpoint_ms,
	    .reserve_bytes = options->reserve_bytes > RESERVE_MIN ?
	    options->reserve_bytes : RESERVE_MIN };
	side->setup.sk = make_sk(options->seed);
	if (side->setup.sk == NULL) {
		free(side);
		return NULL;
	}
	return side;
}

/* Start the recorder's side, which owns the other end of our socket. */
static int
start_recorder(struct ledger *ledger, struct problem *problem)
{
	struct recorder_side *side = NULL;
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return problem_errno(problem, "cannot start the recorder");
	ledger->socket = pair[0];
	side = make_side(ledger, pair[1]);
	if (side == NULL) {
		close(pair[1]);
		return problem_set(problem, "out of memory for the recorder");
	}
	if (ledger->options.place == LEDGER_IN_PROCESS)
		status = start_process(ledger, side, problem);
	else
		status = start_thread(ledger, &side, problem);
	free_side(side);
	return status;
}

/* False where the recorder is gone without a word. */
static bool
hear(const struct ledger *ledger, struct word *word)
{
	ssize_t n;

	do {
		n = recv(ledger->socket, word, sizeof(*word), 0);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*word);
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
	struct pollfd fd = { .fd = ledger->socket, .events = POLLIN };
	struct word word;
	int n;

	while ((n = poll(&fd, 1, LIFE_MS)) == 0 || (n < 0 && errno == EINTR)) {
		if (n == 0)
			look_for_life(ledger);
	}
	ledger->closed_well = hear(ledger, &word) && word.good;
	channel_mark_gone(ledger->channel);
	return NULL;
}

static void
reap(struct ledger *ledger)
{
	if (ledger->pid == 0) {
		pthread_join(ledger->recorder, NULL);
		return;
	}
	while (waitpid(ledger->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void
free_ledger(struct ledger *ledger)
{
	if (ledger->socket >= 0)
		close(ledger->socket);
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
	struct word word;

	if ((!process && confine_owner(ledger, problem) != 0) ||
	    start_recorder(ledger, problem) != 0)
		return -1;
	if (process && confine_owner(ledger, problem) != 0)
		goto stop;
	if (!hear(ledger, &word))
		problem_set(problem, "the recorder ended without a word");
	else if (!word.good)
		*problem = word.problem;
	else if (start_quiet_thread(&ledger->watcher, watcher_thread,
	    ledger) == 0)
		return 0;
	else
		problem_errno(problem, "cannot watch the recorder");
stop:
	channel_stop(ledger->channel);
	reap(ledger);
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
	ledger->socket = -1;
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
	reap(ledger);
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
	return ledger->pid;
}

void
ledger_counts(const struct ledger *ledger, struct ledger_counts *out)
{
	channel_counts(ledger->channel, out);
}
