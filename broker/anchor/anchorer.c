#include "anchor/anchorer.h"
#include "anchor/turn.h"
#include "confined.h"

#include "ledger/anchor/anchors.h"
#include "ledger/child.h"
#include "ledger/evidence/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <curl/curl.h>

#define FIRST_MS 500		/* let the ledger open */
#define LAST_CALL_MS 2000	/* one call's share of the grace */

struct anchorer {
	const struct conf_anchors *conf;
	struct anchor_shared *shared;
	pid_t pid;
	int pipe;		/* to it: one byte says finish, hanging up says end */
	char name[ANCHOR_PARTIES_MAX][NOTE_NAME_MAX + 1];
};

/* --- the process -------------------------------------------------------- */

/* The daemon's lock, signals and sockets are none of our business. */
static int
close_others(int *pipe)
{
	int kept = fcntl(*pipe, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (kept < 0 || dup2(kept, STDERR_FILENO + 1) < 0)
		return -1;
	syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0);
	*pipe = STDERR_FILENO + 1;
	return 0;
}

static int
confine(const struct conf_anchors *conf, const char *ledger_dir)
{
	char anchors[PATH_MAX + sizeof(ANCHORS_DIR) + 1];
	struct confined confined = { .n = 0 };
	struct confine_options options = { .paths = confined.paths,
	    .network = true };
	struct confine_report report;

	snprintf(anchors, sizeof(anchors), "%s/" ANCHORS_DIR, ledger_dir);
	confined_add(&confined, anchors, CONFINE_WRITE);
	confined_add(&confined, ledger_dir, CONFINE_READ);
	confined_system(&confined);
	confined_add_file(&confined, conf->ca_file);
	for (size_t i = 0; i < conf->authorities; i++)
		confined_add_file(&confined, conf->authority[i].ca_file);
	options.n_paths = confined.n;
	return confine_self(&options, &report);
}

/* 1: finish, 0: time has passed, -1: end. */
static int
wait_for_owner(int pipe, int64_t ms)
{
	struct pollfd fd = { .fd = pipe, .events = POLLIN };
	char byte;
	int n = poll(&fd, 1, ms > INT_MAX ? INT_MAX : (int)ms);

	if (n == 0 || (n < 0 && errno == EINTR))
		return 0;
	return n > 0 && read(pipe, &byte, 1) == 1 ? 1 : -1;
}

static void
work(struct turn *turn, int pipe)
{
	int64_t wait_ms = FIRST_MS;
	int told;

	while ((told = wait_for_owner(pipe, wait_ms)) == 0) {
		turn_run(turn, false);
		wait_ms = (int64_t)turn->conf->interval_s * 1000;
	}
	if (told < 0)
		return;
	if (turn->timeout_ms > LAST_CALL_MS)
		turn->timeout_ms = LAST_CALL_MS;
	turn_run(turn, true);
}

static _Noreturn void
child(const struct conf_anchors *conf, struct anchor_shared *shared,
    const char *ledger_dir, int pipe)
{
	struct turn *turn = calloc(1, sizeof(*turn));
	struct problem problem = { .text = "cannot start" };

	prctl(PR_SET_NAME, "anchorer");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_ignore_signals();
	if (turn == NULL || close_others(&pipe) != 0)
		_exit(1);
	turn->conf = conf;
	turn->shared = shared;
	turn->timeout_ms = conf->timeout_ms;
	turn->ledger_fd = evidence_dir(ledger_dir);
	turn->anchors_fd = turn->ledger_fd >= 0 ?
	    anchors_open(turn->ledger_fd, &problem) : -1;
	if (turn->anchors_fd < 0 || confine(conf, ledger_dir) != 0 ||
	    curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
		fprintf(stderr, "countersignd: anchors: %s\n", problem.text);
		_exit(1);
	}
	turn_init(turn);
	work(turn, pipe);
	_exit(0);
}

/* --- its owner ------------------------------------------------------------ */

static void
name_parties(struct anchorer *anchorer)
{
	const struct conf_anchors *conf = anchorer->conf;
	struct note_key key;

	for (size_t i = 0; i < conf->witnesses; i++) {
		note_key_parse(&key, conf->witness[i].vkey,
		    strlen(conf->witness[i].vkey));
		memcpy(anchorer->name[i], key.name, sizeof(key.name));
	}
	for (size_t i = 0; i < conf->authorities; i++)
		snprintf(anchorer->name[conf->witnesses + i],
		    sizeof(anchorer->name[0]), "%s", conf->authority[i].name);
}

static int
start(struct anchorer *anchorer, const char *ledger_dir)
{
	int ends[2];

	anchorer->shared = mmap(NULL, sizeof(*anchorer->shared),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (anchorer->shared == MAP_FAILED) {
		anchorer->shared = NULL;
		return -1;
	}
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	anchorer->pid = fork();
	if (anchorer->pid == 0) {
		close(ends[1]);
		child(anchorer->conf, anchorer->shared, ledger_dir, ends[0]);
	}
	close(ends[0]);
	anchorer->pipe = ends[1];
	return anchorer->pid > 0 ? 0 : -1;
}

static void
release(struct anchorer *anchorer)
{
	if (anchorer->pipe >= 0)
		close(anchorer->pipe);
	if (anchorer->shared != NULL)
		munmap(anchorer->shared, sizeof(*anchorer->shared));
	free(anchorer);
}

struct anchorer *
anchorer_start(const struct conf_anchors *conf, const char *ledger_dir,
    char *err, size_t err_len)
{
	struct anchorer *anchorer;

	err[0] = '\0';
	if (conf->witnesses + conf->authorities == 0)
		return NULL;
	anchorer = calloc(1, sizeof(*anchorer));
	if (anchorer != NULL) {
		anchorer->conf = conf;
		anchorer->pipe = -1;
		name_parties(anchorer);
		if (start(anchorer, ledger_dir) == 0)
			return anchorer;
		release(anchorer);
	}
	snprintf(err, err_len, "cannot start the anchoring process: %s",
	    strerror(errno));
	return NULL;
}

/* Whether it has ended within the time. */
static bool
ended_within(pid_t pid, int ms)
{
	const struct timespec pause = { 0, 10 * 1000000 };

	for (; ms > 0; ms -= 10) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

void
anchorer_stop(struct anchorer *anchorer)
{
	bool told;

	if (anchorer == NULL)
		return;
	told = write(anchorer->pipe, "F", 1) == 1;
	/* A confined daemon may not signal it; the kernel does when it ends. */
	if (!(told && ended_within(anchorer->pid, ANCHORER_GRACE_MS)) &&
	    kill(anchorer->pid, SIGKILL) == 0) {
		while (waitpid(anchorer->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	release(anchorer);
}

bool
anchorer_alive(const struct anchorer *anchorer)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)anchorer->pid, &info,
	    WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

unsigned
anchorer_parties(const struct anchorer *anchorer)
{
	return (unsigned)(anchorer->conf->witnesses +
	    anchorer->conf->authorities);
}

void
anchorer_look(const struct anchorer *anchorer, unsigned i,
    struct anchor_view *out)
{
	const struct anchor_party *party = &anchorer->shared->party[i];

	*out = (struct anchor_view){ .name = anchorer->name[i],
	    .witness = i < anchorer->conf->witnesses,
	    .reason = atomic_load(&party->reason),
	    .size = atomic_load(&party->size),
	    .time_s = atomic_load(&party->time_s),
	    .good = atomic_load(&party->good),
	    .failed = atomic_load(&party->failed) };
}
