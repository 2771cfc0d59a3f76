#include "ledger/recorder/spawn.h"
#include "ledger/child.h"
#include "ledger/confine.h"
#include "ledger/recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESERVE_MIN (256 * 1024)

/* What the recorder's side owns until it ends. */
struct recorder_side {
	struct recorder_setup setup;
	unsigned ports;
	int socket;
};

uint8_t *
spawn_secret_key(const uint8_t *seed)
{
	uint8_t pk[NOTE_PK_LEN], *sk;

	if (sodium_init() < 0 || (sk = sodium_malloc(NOTE_SK_LEN)) == NULL)
		return NULL;
	crypto_sign_seed_keypair(pk, sk, seed);
	return sk;
}

static void
say(int socket, const struct spawn_word *word)
{
	/* Nobody may be left to hear it. */
	if (send(socket, word, sizeof(*word), MSG_NOSIGNAL) < 0)
		return;
}

/* Serve from start to end; both words are said here. */
static int
run_recorder(const struct recorder_side *side)
{
	struct spawn_word word = { .good = false };
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

static _Noreturn void
recorder_process(struct recorder_side *side)
{
	const struct confine_path dir = { side->setup.dir, CONFINE_WRITE };
	const struct confine_options options = { .paths = &dir, .n_paths = 1 };
	struct spawn_word word = { .good = false };
	struct confine_report confined;

	prctl(PR_SET_NAME, "ledger-recorder");
	child_ignore_signals();
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
start_process(struct spawn *spawn, struct recorder_side *side,
    struct problem *problem)
{
	side->setup.place = "process";
	spawn->pid = fork();
	if (spawn->pid < 0) {
		spawn->pid = 0;
		return problem_errno(problem, "cannot start the recorder");
	}
	if (spawn->pid == 0) {
		close(spawn->socket);
		recorder_process(side);
	}
	return 0;	/* the child has its own copy of side */
}

int
spawn_thread(pthread_t *thread, void *(*run)(void *), void *arg)
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
start_thread(struct spawn *spawn, struct recorder_side **side,
    struct problem *problem)
{
	struct recorder_setup *setup = &(*side)->setup;

	setup->place = "thread";
	setup->key_locked = mlock(setup->sk, NOTE_SK_LEN) == 0;
	if (spawn_thread(&spawn->thread, recorder_thread, *side) != 0)
		return problem_errno(problem, "cannot start the recorder");
	*side = NULL;	/* the thread's */
	return 0;
}

static struct recorder_side *
make_side(const struct ledger_options *options, struct channel *channel, int socket)
{
	struct recorder_side *side = calloc(1, sizeof(*side));

	if (side == NULL)
		return NULL;
	side->ports = options->ports;
	side->socket = socket;
	side->setup = (struct recorder_setup){ .channel = channel,
	    .owner_fd = socket, .dir = options->dir,
	    .stream = options->stream, .policy = options->policy,
	    .sync = options->sync == LEDGER_SYNC_DATA, .confined = "",
	    .check_all = options->check_all, .keeper = options->keeper,
	    .epoch_s = options->epoch_s,
	    .epoch_records = options->epoch_records,
	    .checkpoint_ms = options->checkpoint_ms,
	    .reserve_bytes = options->reserve_bytes > RESERVE_MIN ?
	    options->reserve_bytes : RESERVE_MIN };
	side->setup.sk = spawn_secret_key(options->seed);
	if (side->setup.sk == NULL) {
		free(side);
		return NULL;
	}
	return side;
}

int
spawn_start(struct spawn *spawn, const struct ledger_options *options,
    struct channel *channel, struct problem *problem)
{
	struct recorder_side *side = NULL;
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return problem_errno(problem, "cannot start the recorder");
	spawn->socket = pair[0];
	side = make_side(options, channel, pair[1]);
	if (side == NULL) {
		close(pair[1]);
		return problem_set(problem, "out of memory for the recorder");
	}
	if (options->place == LEDGER_IN_PROCESS)
		status = start_process(spawn, side, problem);
	else
		status = start_thread(spawn, &side, problem);
	free_side(side);
	return status;
}

bool
spawn_hear(const struct spawn *spawn, struct spawn_word *word)
{
	ssize_t n;

	do {
		n = recv(spawn->socket, word, sizeof(*word), 0);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*word);
}

void
spawn_join(const struct spawn *spawn)
{
	if (spawn->pid == 0) {
		pthread_join(spawn->thread, NULL);
		return;
	}
	while (waitpid(spawn->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void
spawn_free(struct spawn *spawn)
{
	if (spawn->socket >= 0)
		close(spawn->socket);
	spawn->socket = -1;
}
