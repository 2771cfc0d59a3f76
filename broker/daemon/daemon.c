#include "daemon/daemon.h"
#include "trouble.h"
#include "anchor/anchorer.h"
#include "api/api.h"
#include "ask.h"
#include "daemon/confine_broker.h"
#include "daemon/engine.h"
#include "daemon/harden.h"
#include "daemon/keeper.h"
#include "daemon/keys.h"
#include "daemon/notify.h"
#include "discover/discover.h"
#include "gate/admin.h"
#include "gate/put_back.h"
#include "home.h"
#include "ledger/recorder/append.h"
#include "log.h"
#include "plane/plane.h"
#include "policy/opa/opa.h"
#include "tls/ca.h"
#include "vault/vault_choose.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define STOP_GRACE_MS 5000
#define HEALTH_MS 1000		/* how often the recorder is looked at */
#define RESERVE_BYTES (4u << 20)
#define CLOSE_RUNS_MAX 1024	/* runs that are closed one by one at a stop */

/* Of the ledger's ports: a worker, the API's, the main thread's, discovery's. */
_Static_assert(CONF_WORKERS_MAX + API_LEDGER_PORTS + 2 <= 64, "one each");

struct daemon {
	const struct conf *conf;
	int lock, signals, wake;
	atomic_bool conf_changed;
	char policy[POLICY_DIGEST_LEN + 1];
	struct anchorer *anchorer;	/* NULL: nobody is asked */
	struct keeper *keeper;		/* the recorder's own copy works */
	struct keys *keys;
	struct ledger *ledger;
	struct ledger_port *port;	/* the main thread's */
	struct vault *vault;
	struct ca *ca;
	struct discover *discover;	/* NULL: no newer packs are looked for */
	struct opa *opa;		/* NULL: the evaluator decides */
	struct engine_token engine_token;
	struct gate *gate;
	struct plane *plane;
	struct api *api;
	bool sick;			/* the ledger's failure was logged */
	bool silent;			/* and that its recorder does not answer */
	char json_path[PATH_MAX];	/* "" while daemon.json is not ours */
};

static int
path_of(const char *name, char *buf, char *err, size_t err_len)
{
	if (home_path(name, buf, PATH_MAX) == 0)
		return 0;
	snprintf(err, err_len, "the home's path is too long for %s", name);
	return -1;
}

/* --- opening --------------------------------------------------------- */

static int
take_lock(struct daemon *daemon, char *err, size_t err_len)
{
	char lock[PATH_MAX], json[PATH_MAX];

	if (path_of("run/daemon.lock", lock, err, err_len) != 0 ||
	    path_of("run/daemon.json", json, err, err_len) != 0)
		return -1;
	daemon->lock = notify_lock(lock, json, err, err_len);
	if (daemon->lock == -1)
		return -1;
	/* What a killed daemon left tells nobody anything any more. */
	(void)unlink(json);
	return 0;
}

/* Blocked before any thread exists, so that all of them inherit it. */
static int
take_signals(struct daemon *daemon, char *err, size_t err_len)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) == 0 &&
	    (daemon->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) != -1 &&
	    (daemon->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) != -1)
		return 0;
	return trouble(err, err_len, "signals", errno);
}

static int
pack_digest(struct daemon *daemon, const char *path, char *err, size_t err_len)
{
	struct policy_pack *pack;

	char why[GATE_WHY_MAX] = "";

	if (home_check_owned(path, err, err_len) != 0)
		return -1;
	if ((pack = policy_pack_load(path, why, sizeof(why))) == NULL) {
		snprintf(err, err_len, "policy pack %s: %s; mend it "
		    "(`countersign policy check` looks at it), or put back what "
		    "was there", path, why);
		return -1;
	}
	snprintf(daemon->policy, sizeof(daemon->policy), "%s",
	    policy_pack_digest(pack));
	policy_pack_unref(pack);
	return 0;
}

/* The packs that runs were decided by, and a bundle's that comes into force. */
static int
check_packs(char *err, size_t err_len)
{
	char packs[PATH_MAX];

	if (path_of("packs", packs, err, err_len) != 0)
		return -1;
	return access(packs, F_OK) != 0 ? 0 :
	    home_check_owned(packs, err, err_len);
}

/* The recorder says it in words alone: the system's errors are told by theirs. */
static const char *
ledger_remedy(const char *why)
{
	static const int errors[] = { EMFILE, ENFILE, ENOSPC, EDQUOT, EROFS,
	    EACCES, EPERM, EAGAIN, ENOMEM };

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (strstr(why, strerrordesc_np(errors[i])) != NULL)
			return trouble_remedy(errors[i]);
	return strstr(why, "is being written by") != NULL ?
	    "; it is free when that has ended" : "; restore it from a copy, or "
	    "begin another: countersign ledger restart-origin";
}

static int
start_recorder(struct daemon *daemon, char *err, size_t err_len)
{
	const struct conf *conf = daemon->conf;
	char dir[PATH_MAX], why[512] = "";
	struct ledger_options options = {
		.dir = dir, .stream = "broker", .policy = daemon->policy,
		.sync = conf->ledger_sync ? LEDGER_SYNC_DATA : LEDGER_SYNC_NONE,
		.place = conf->ledger_thread ? LEDGER_IN_THREAD : LEDGER_IN_PROCESS,
		.ports = conf->workers + API_LEDGER_PORTS + 2,
		.checkpoint_ms = conf->checkpoint_ms,
		.reserve_bytes = RESERVE_BYTES,
		.epoch_s = conf->epoch_s, .epoch_records = conf->epoch_records,
		.confine = confine_broker, .confine_arg = (void *)(uintptr_t)conf,
	};

	if (path_of("ledger", dir, err, err_len) != 0 ||
	    keys_unseal_seed(daemon->keys, err, err_len) != 0)
		return -1;
	daemon->keeper = keeper_new(dir, keys_ledger(daemon->keys));
	if (daemon->keeper == NULL) {
		snprintf(err, err_len, "no locked memory for the ledger's key");
		return -1;
	}
	/* As a thread, which is for measurements, it could not write. */
	if (options.place == LEDGER_IN_PROCESS)
		options.keeper = keeper_ledger(daemon->keeper);
	options.seed = keys_seed(daemon->keys);
	daemon->ledger = ledger_open(&options, why, sizeof(why));
	keys_forget_ledger(daemon->keys);
	keeper_forget(daemon->keeper);
	if (daemon->ledger == NULL) {
		snprintf(err, err_len, "ledger %s: %s%s", dir, why,
		    ledger_remedy(why));
		return -1;
	}
	daemon->port = ledger_port(daemon->ledger,
	    conf->workers + API_LEDGER_PORTS);
	return 0;
}

/* Before any key is read: it parses what strangers send. */
static int
start_anchorer(struct daemon *daemon, char *err, size_t err_len)
{
	char dir[PATH_MAX];

	if (path_of("ledger", dir, err, err_len) != 0)
		return -1;
	daemon->anchorer = anchorer_start(&daemon->conf->anchors, dir, err,
	    err_len);
	return daemon->anchorer != NULL || err[0] == '\0' ? 0 : -1;
}

/* The system's trust may have changed since the last start. */
static int
write_bundle(char *err, size_t err_len)
{
	char ca[PATH_MAX], bundle[PATH_MAX];
	int why;

	if (path_of("ca/ca.pem", ca, err, err_len) != 0 ||
	    path_of("ca/bundle.pem", bundle, err, err_len) != 0)
		return -1;
	if (ca_write_bundle(ca, bundle) == 0)
		return 0;
	why = errno;
	if (access(ca, R_OK) == 0)
		return trouble(err, err_len, bundle, why);
	snprintf(err, err_len, "local CA: %s: %s; restore it from a copy, or make "
	    "another: countersign ca renew", ca, strerror(errno));
	return -1;
}

static int
open_vault(struct daemon *daemon, char *err, size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	char path[PATH_MAX];

	if (path_of("vault/store", path, err, err_len) != 0)
		return -1;
	if (vault_choose(daemon->conf, path, keys_vault(daemon->keys),
	    &daemon->vault, &why) != VAULT_OK) {
		snprintf(err, err_len, "vault: %s%s", why.text,
		    vault_remedy(why.status));
		return -1;
	}
	if (path_of("ca", path, err, err_len) != 0)
		return -1;
	if (ca_open(path, keys_ca(daemon->keys), &daemon->ca, &why) != VAULT_OK) {
		snprintf(err, err_len, "local CA: %s; restore it from a copy, or "
		    "make another: countersign ca renew", why.text);
		return -1;
	}
	return 0;
}

/* pack becomes the last good bundle's directory, where there is one. */
static int
open_discover(struct daemon *daemon, char *pack, char *err, size_t err_len)
{
	const struct conf_bundle *conf = &daemon->conf->policy.bundle;
	char packs[PATH_MAX];

	if (conf->from == NULL)
		return 0;
	if (path_of("packs", packs, err, err_len) != 0)
		return -1;
	daemon->discover = discover_open(conf, packs, pack, err, err_len);
	return daemon->discover != NULL ? 0 : -1;
}

static int
open_gate(struct daemon *daemon, const char *pack, char *err, size_t err_len)
{
	char packs[PATH_MAX], ledger[PATH_MAX], run[PATH_MAX];
	struct gate_options options = { .vault = daemon->vault,
	    .pack_path = pack, .packs_dir = packs, .opa = daemon->opa,
	    .ledger_dir = ledger, .tags_dir = run,
	    .pseudonym_key = keys_pseudonym(daemon->keys) };
	struct rules *rules;
	bool same;

	if (path_of("packs", packs, err, err_len) != 0 ||
	    path_of("ledger", ledger, err, err_len) != 0 ||
	    path_of("run", run, err, err_len) != 0 ||
	    (daemon->gate = gate_new(&options, err, err_len)) == NULL)
		return -1;
	rules = gate_rules(daemon->gate);
	same = strcmp(rules_digest(rules), daemon->policy) == 0;
	rules_unref(rules);
	if (same)
		return 0;
	snprintf(err, err_len, "the pack changed while the daemon started; "
	    "start it again");
	return -1;
}

static int
narrow_home(char *err, size_t err_len)
{
	int rc = home_narrow(err, err_len);

	if (rc == 1)
		log_event(LOG_WARNING, "home_narrowed", "others could look into "
		    "the home; its mode is 0700 now");
	return rc < 0 ? -1 : 0;
}

static int
open_parts(struct daemon *daemon, const struct daemon_options *options,
    char *err, size_t err_len)
{
	struct ask_passphrase from = { .fd = options->passphrase_fd,
	    .file = options->passphrase_file,
	    .conf_file = options->conf->passphrase_file,
	    .terminal = options->terminal };
	char pack[PATH_MAX];

	if (take_lock(daemon, err, err_len) != 0 ||
	    take_signals(daemon, err, err_len) != 0 ||
	    path_of("pack", pack, err, err_len) != 0 ||
	    check_packs(err, err_len) != 0 ||
	    open_discover(daemon, pack, err, err_len) != 0 ||
	    pack_digest(daemon, pack, err, err_len) != 0 ||
	    narrow_home(err, err_len) != 0 ||
	    start_anchorer(daemon, err, err_len) != 0)
		return -1;
	engine_look(&daemon->conf->policy, NULL, &daemon->engine_token);
	daemon->keys = keys_open(&from, !options->conf->allow_unlocked_memory,
	    err, err_len);
	if (daemon->keys == NULL || write_bundle(err, err_len) != 0 ||
	    start_recorder(daemon, err, err_len) != 0 ||
	    open_vault(daemon, err, err_len) != 0 ||
	    engine_open(&daemon->conf->policy, &daemon->opa, err, err_len) != 0 ||
	    open_gate(daemon, pack, err, err_len) != 0)
		return -1;
	keys_free(daemon->keys);	/* vault, CA and gate have their copies */
	daemon->keys = NULL;
	return 0;
}

struct daemon *
daemon_open(const struct daemon_options *options, char *err, size_t err_len)
{
	struct daemon *daemon = calloc(1, sizeof(*daemon));

	if (daemon == NULL) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	daemon->conf = options->conf;
	daemon->lock = daemon->signals = daemon->wake = -1;
	if (open_parts(daemon, options, err, err_len) == 0)
		return daemon;
	(void)daemon_close(daemon);
	return NULL;
}

/* --- serving --------------------------------------------------------- */

/* From an API thread. */
static void
on_shutdown(void *arg)
{
	struct daemon *daemon = arg;
	uint64_t one = 1;

	(void)!write(daemon->wake, &one, sizeof(one));
}

static int
start_plane(struct daemon *daemon, char *err, size_t err_len)
{
	struct plane_options options = { .conf = daemon->conf,
	    .gate = daemon->gate, .ca = daemon->ca, .ledger = daemon->ledger,
	    .first_port = 0 };

	daemon->plane = plane_start(&options, err, err_len);
	return daemon->plane != NULL ? 0 : -1;
}

/* The sockets belong to the API once it runs. */
static int
start_api(struct daemon *daemon, struct notify_daemon *ports, char *err,
    size_t err_len)
{
	char operator_path[PATH_MAX], agent_path[PATH_MAX], cert[PATH_MAX],
	    bundle[PATH_MAX], checkpoint[PATH_MAX], ledger[PATH_MAX], why[256] = "";
	struct api_options options = { .gate = daemon->gate,
	    .ledger = daemon->ledger, .first_port = daemon->conf->workers,
	    .plane = daemon->plane, .operator_fd = -1, .agent_fd = -1,
	    .tcp_fd = -1, .proxy_host = ports->proxy_host,
	    .api_host = ports->api_host, .proxy_port = plane_port(daemon->plane), .agent_socket = agent_path,
	    .ca_cert = cert, .ca_bundle = bundle,
	    .checkpoint_path = checkpoint, .ledger_dir = ledger,
	    .anchorer = daemon->anchorer, .hosts = &daemon->conf->hosts,
	    .conf_changed = &daemon->conf_changed,
	    .shutdown = on_shutdown,
	    .arg = daemon };

	inet_ntop(AF_INET, &daemon->conf->listen.sin_addr, ports->proxy_host,
	    sizeof(ports->proxy_host));
	inet_ntop(AF_INET, &daemon->conf->api.sin_addr, ports->api_host,
	    sizeof(ports->api_host));
	if (path_of("run/operator.sock", operator_path, err, err_len) != 0 ||
	    path_of("run/agent.sock", agent_path, err, err_len) != 0 ||
	    path_of("ca/ca.pem", cert, err, err_len) != 0 ||
	    path_of("ca/bundle.pem", bundle, err, err_len) != 0 ||
	    path_of("ledger/checkpoint", checkpoint, err, err_len) != 0 ||
	    path_of("ledger", ledger, err, err_len) != 0)
		return -1;
	options.operator_fd = api_listen_unix(operator_path, err, err_len);
	if (options.operator_fd == -1)
		return -1;
	options.agent_fd = api_listen_unix(agent_path, err, err_len);
	if (options.agent_fd != -1 && (options.tcp_fd = api_listen_tcp(
	    &daemon->conf->api, &options.api_port, why, sizeof(why))) == -1)
		snprintf(err, err_len, "api, port %u: %s",
		    ntohs(daemon->conf->api.sin_port), why);
	if (options.tcp_fd != -1)
		daemon->api = api_start(&options, err, err_len);
	if (daemon->api == NULL) {
		close(options.operator_fd);
		if (options.agent_fd != -1)
			close(options.agent_fd);
		if (options.tcp_fd != -1)
			close(options.tcp_fd);
		return -1;
	}
	ports->proxy_port = options.proxy_port;
	ports->api_port = options.api_port;
	plane_name_api(daemon->plane, options.api_port);
	return 0;
}

/* Before anybody is served: is it the vault that the ledger knows? */
static int
look_at_vault(struct daemon *daemon, char *err, size_t err_len)
{
	struct gate_problem why = { .status = 0 };
	struct put_back found;

	if (gate_vault_look(daemon->gate, daemon->port, &found, &why) != 0) {
		snprintf(err, err_len, "vault: %s; %s", why.detail, why.remedy);
		return -1;
	}
	if (!found.found && found.revoked > 0)
		log_event(LOG_WARNING, "revoked_again", "%u versions that the "
		    "store had not heard to be revoked are revoked now",
		    found.revoked);
	if (!found.found)
		return 0;
	log_event(LOG_ERROR, "vault_put_back", "the vault is an older copy: the "
	    "ledger knows generation %" PRIu64 ", this is %" PRIu64 "; %u versions "
	    "that had been revoked since are revoked again", found.known,
	    found.now, found.revoked);
	if (found.lost > 0)
		log_event(LOG_ERROR, "vault_versions_lost", "of %s, and %u other "
		    "names, the ledger knows a newer version than the vault has: "
		    "store it again with countersign secret rotate", found.name,
		    found.lost - 1);
	return 0;
}

static int
start_discover(struct daemon *daemon, char *err, size_t err_len)
{
	struct ledger_port *port = ledger_port(daemon->ledger,
	    daemon->conf->workers + API_LEDGER_PORTS + 1);

	if (daemon->discover == NULL || discover_start(daemon->discover,
	    daemon->gate, port) == 0)
		return 0;
	snprintf(err, err_len, "cannot start a thread for the policy's source");
	return -1;
}

int
daemon_start(struct daemon *daemon, char *err, size_t err_len)
{
	struct notify_daemon ports = { .proxy_port = 0 };
	char json[PATH_MAX];

	if (path_of("run/daemon.json", json, err, err_len) != 0)
		return -1;
	if (look_at_vault(daemon, err, err_len) != 0 ||
	    start_plane(daemon, err, err_len) != 0 ||
	    start_api(daemon, &ports, err, err_len) != 0 ||
	    start_discover(daemon, err, err_len) != 0 ||
	    notify_daemon_file(json, &ports, err, err_len) != 0)
		return -1;
	snprintf(daemon->json_path, sizeof(daemon->json_path), "%s", json);
	log_event(LOG_INFO, "started", "version %s, pid %ld, proxy at %s:%u, "
	    "api at %s:%u, policy %s", COUNTERSIGN_VERSION, (long)getpid(),
	    ports.proxy_host, ports.proxy_port, ports.api_host, ports.api_port,
	    daemon->policy);
	if (daemon->opa != NULL)
		log_event(LOG_INFO, "engine", "OPA at %s decides, within %u ms",
		    daemon->conf->policy.opa,
		    daemon->conf->policy.deadline_ms);
	return 0;
}

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

void
daemon_wait(struct daemon *daemon)
{
	struct pollfd fds[2] = { { .fd = daemon->signals, .events = POLLIN },
	    { .fd = daemon->wake, .events = POLLIN } };
	char log[PATH_MAX];

	if (home_path("run/daemon.log", log, sizeof(log)) != 0)
		log[0] = '\0';	/* which no file is called */
	for (;;) {
		if (poll(fds, 2, HEALTH_MS) < 0 && errno != EINTR) {
			log_event(LOG_ERROR, "stopping", "poll: %s",
			    strerror(errno));
			return;
		}
		look_at_ledger(daemon);
		look_at_conf(daemon);
		engine_look(&daemon->conf->policy, daemon->opa,
		    &daemon->engine_token);
		log_trim(log, LOG_FILE_MAX);
		if ((fds[0].revents & POLLIN) != 0 && !take_signal(daemon))
			return;
		if ((fds[1].revents & POLLIN) != 0) {
			log_event(LOG_INFO, "stopping", "asked by an operator");
			return;
		}
	}
}

/* --- the end --------------------------------------------------------- */

struct open_runs {
	struct run *runs[CLOSE_RUNS_MAX];
	size_t n;
};

static void
collect_open(void *arg, struct run *run)
{
	struct open_runs *open = arg;

	if (run_open_p(run) && open->n < CLOSE_RUNS_MAX)
		open->runs[open->n++] = run_ref(run);
}

/* Every open run gets its teardown; a child closed with its parent is a 409. */
static void
close_runs(struct daemon *daemon)
{
	struct open_runs *open = calloc(1, sizeof(*open));
	const struct gate_closer closer = { "broker", "daemon stopped",
	    { -1, -1, 0 } };
	struct gate_run_summary summary;
	struct gate_problem why = { .status = 0 };
	size_t i;

	if (open == NULL)
		return;
	gate_run_each(daemon->gate, collect_open, open);
	for (i = 0; i < open->n; i++) {
		if (run_open_p(open->runs[i]) && gate_run_close(daemon->gate,
		    daemon->port, open->runs[i], &closer, &summary, &why) != 0 &&
		    why.status != 409)
			log_event(LOG_WARNING, "run_not_closed", "%s: %s",
			    run_id(open->runs[i]), why.detail);
		run_unref(open->runs[i]);
	}
	free(open);
}

int
daemon_close(struct daemon *daemon)
{
	int rc = 0;

	if (daemon == NULL)
		return 0;
	if (daemon->json_path[0] != '\0')
		(void)unlink(daemon->json_path);
	discover_close(daemon->discover);
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
	anchorer_stop(daemon->anchorer);	/* it has the last checkpoint to show */
	gate_free(daemon->gate);
	opa_free(daemon->opa);
	ca_free(daemon->ca);
	vault_close(daemon->vault);
	keys_free(daemon->keys);
	keeper_free(daemon->keeper);
	if (daemon->signals != -1)
		close(daemon->signals);
	if (daemon->wake != -1)
		close(daemon->wake);
	if (daemon->lock != -1)
		close(daemon->lock);
	free(daemon);
	return rc;
}
