#include "daemon/daemon_impl.h"

#include "daemon/notify.h"
#include "home.h"
#include "ledger/clock.h"
#include "log.h"
#include "reserve.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define STOP_GRACE_MS 5000
#define HEALTH_MS 1000		/* how often the recorder is looked at */
#define UNREAD_MS 10000		/* between two lines about connections closed unread */

static void
reload(struct daemon *daemon)
{
	struct gate_problem why = { .status = 0 };
	char before[POLICY_DIGEST_LEN + 1] = "", after[POLICY_DIGEST_LEN + 1] = "";

	notify_manager("RELOADING=1");
	if (gate_reload(daemon->gate, daemon->port, before, after, &why) == 0)
		log_event(LOG_INFO, "reloaded", "policy %s, before %s", after,
		    before);
	else
		log_event(LOG_ERROR, "reload_failed", "%s; the old policy "
		    "stays in force", why.detail);
	notify_manager("READY=1");
}

/* What passes by itself, other than a failure. */
static void
look_at_recorder(struct daemon *daemon)
{
	unsigned silent_s = ledger_silent_s(daemon->ledger);

	if (daemon->silent == (silent_s != 0))
		return;
	daemon->silent = silent_s != 0;
	if (daemon->silent)
		log_event(LOG_ERROR, "ledger_silent", "the recorder (pid %ld) has "
		    "not answered for %u s: every request is refused until it "
		    "does; is it stopped, or does the ledger's disk hang?",
		    (long)ledger_recorder_pid(daemon->ledger), silent_s);
	else
		log_event(LOG_INFO, "ledger_answers", "the recorder answers again");
	notify_manager(daemon->silent ? "STATUS=the recorder does not answer: "
	    "refusing everything" : "STATUS=");
}

static void
look_at_ledger(struct daemon *daemon)
{
	if (daemon->sick)
		return;
	if (ledger_healthy(daemon->ledger)) {
		look_at_recorder(daemon);
		return;
	}
	daemon->sick = true;
	log_event(LOG_ERROR, "ledger_failed", "the recorder is gone or cannot "
	    "write: every request is refused until the daemon is restarted");
	notify_manager("STATUS=ledger failed: refusing everything");
}

/* False when it is time to stop. */
static bool
take_signal(struct daemon *daemon)
{
	struct signalfd_siginfo info;

	while (read(daemon->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
			log_event(LOG_INFO, "stopping", "signal %u",
			    info.ssi_signo);
			return false;
		}
		if (info.ssi_signo == SIGHUP)
			reload(daemon);
		/* SIGCHLD: look_at_ledger sees to it. */
	}
	return true;
}

/* It is read at a start alone: that it says something else now is told.  Not when
 * somebody asks, who would wait for a disk that hangs. */
static void
look_at_conf(struct daemon *daemon)
{
	const bool changed = conf_changed(daemon->conf);

	if (changed && !atomic_load(&daemon->conf_changed))
		log_event(LOG_WARNING, "config_changed", "config.json is not as it "
		    "was read: what it says now is in force behind a restart");
	atomic_store(&daemon->conf_changed, changed);
}

/* The same of the pack, which a reload reads.  Only what stands for two looks is
 * logged: a command writes it and has it read behind that. */
static void
look_at_pack(struct daemon *daemon)
{
	gate_pack_look(daemon->gate);
	daemon->pack_looks = gate_pack_differs(daemon->gate) ?
	    daemon->pack_looks + 1 : 0;
	if (daemon->pack_looks == 2)
		log_event(LOG_WARNING, "policy_changed", "the policy pack is not "
		    "as it was read: `countersign policy reload` puts it in "
		    "force, or says what is wrong with it");
}

/* Whoever could not connect has nothing else to tell of it. */
static void
look_at_unread(struct daemon *daemon)
{
	struct plane_counts n;
	uint64_t unread;

	plane_counts(daemon->plane, &n);
	unread = n.unread_limit + n.unread_files + n.unread_memory;
	if (unread == daemon->unread || (daemon->unread > 0 &&
	    clock_ms() - daemon->unread_ms < UNREAD_MS))
		return;
	log_event(LOG_WARNING, "connections_unread", "%" PRIu64 " more connections "
	    "were closed before a request was read; of all so far %" PRIu64
	    " were beyond client.max_connections, %" PRIu64 " found no descriptor "
	    "(raise `ulimit -n`), %" PRIu64 " no memory", unread - daemon->unread,
	    n.unread_limit, n.unread_files, n.unread_memory);
	daemon->unread = unread;
	daemon->unread_ms = clock_ms();
}

void
daemon_wait(struct daemon *daemon)
{
	struct pollfd fds[2] = { { .fd = daemon->signals, .events = POLLIN },
	    { .fd = daemon->wake, .events = POLLIN } };
	char log[PATH_MAX], run[PATH_MAX];

	if (home_path("run/daemon.log", log, sizeof(log)) != 0 ||
	    home_path("run", run, sizeof(run)) != 0)
		log[0] = run[0] = '\0';	/* which no file is called */
	for (;;) {
		if (poll(fds, 2, HEALTH_MS) < 0 && errno != EINTR) {
			log_event(LOG_ERROR, "stopping", "poll: %s",
			    strerror(errno));
			return;
		}
		look_at_ledger(daemon);
		look_at_conf(daemon);
		look_at_pack(daemon);
		look_at_unread(daemon);
		vault_look(&daemon->vault_look, daemon->gate);
		engine_look(&daemon->conf->policy, daemon->opa,
		    &daemon->engine_token);
		log_trim(log, LOG_FILE_MAX);
		reserve_keep(run);
		if ((fds[0].revents & POLLIN) != 0 && !take_signal(daemon))
			return;
		if ((fds[1].revents & POLLIN) != 0) {
			log_event(LOG_INFO, "stopping", "asked by an operator");
			return;
		}
	}
}

/* --- the end --------------------------------------------------------- */

/* Every run gets its end, those too that the ledger refused one before. */
static void
close_runs(struct daemon *daemon)
{
	const struct gate_closer closer = { "broker", "daemon stopped",
	    { -1, -1, 0 } };
	struct gate_problem why = { .status = 0 };
	const unsigned n = gate_runs_close(daemon->gate, daemon->port, &closer, &why);

	if (n > 0)
		log_event(LOG_WARNING, "runs_not_closed", "%u without their last "
		    "records: %s", n, why.detail);
}

int
daemon_close(struct daemon *daemon)
{
	int rc = 0;

	if (daemon == NULL)
		return 0;
	if (daemon->json_path[0] != '\0')
		(void)unlink(daemon->json_path);
	api_stopping(daemon->api);
	discover_close(daemon->discover);
	minter_stop(daemon->minter);
	if (daemon->plane != NULL)
		plane_stop(daemon->plane, STOP_GRACE_MS);
	if (daemon->api != NULL)
		api_stop(daemon->api);
	if (daemon->gate != NULL && daemon->api != NULL)
		close_runs(daemon);
	if (daemon->ledger != NULL && ledger_close(daemon->ledger) != 0) {
		log_event(LOG_ERROR, "ledger_not_closed", "the ledger's close "
		    "record could not be made durable");
		rc = -1;
	}
	vault_look_end(&daemon->vault_look);
	anchorer_stop(daemon->anchorer);	/* it has the last checkpoint to show */
	gate_free(daemon->gate);
	minter_free(daemon->minter);
	opa_free(daemon->opa);
	ca_free(daemon->ca);
	vault_close(daemon->vault);
	keys_free(daemon->keys);
	keeper_free(daemon->keeper);
	if (daemon->signals != -1)
		close(daemon->signals);
	if (daemon->wake != -1)
		close(daemon->wake);
	/* The lock is let go by the process's end: whoever waits for it finds all
	 * of the log, too. */
	free(daemon);
	return rc;
}
