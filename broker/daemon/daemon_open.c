#include "daemon/daemon_impl.h"

#include "ask.h"
#include "conf/conf_authorities.h"
#include "daemon/confine_broker.h"
#include "daemon/notify.h"
#include "gate/process.h"
#include "home.h"
#include "log.h"
#include "trouble.h"
#include "vault/vault_choose.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define RESERVE_BYTES (4u << 20)

int
daemon_path(const char *name, char *buf, char *err, size_t err_len)
{
	if (home_path(name, buf, PATH_MAX) == 0)
		return 0;
	snprintf(err, err_len, "the home's path is too long for %s", name);
	return -1;
}

static int
take_lock(struct daemon *daemon, char *err, size_t err_len)
{
	char lock[PATH_MAX], json[PATH_MAX];

	if (home_make_rooms(err, err_len) != 0 ||
	    daemon_path("run/daemon.lock", lock, err, err_len) != 0 ||
	    daemon_path("run/daemon.json", json, err, err_len) != 0)
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

	if (access(path, F_OK) == 0 && home_check_owned(path, err, err_len) != 0)
		return -1;
	if ((pack = policy_pack_load(path, why, sizeof(why))) == NULL) {
		snprintf(err, err_len, "policy pack %s: %s; mend it "
		    "(`countersign policy check` looks at it), or put back what "
		    "was there: packs/ beside it keeps those that were in force",
		    path, why);
		return -1;
	}
	snprintf(daemon->policy, sizeof(daemon->policy), "%s",
	    policy_pack_digest(pack));
	policy_pack_unref(pack);
	return 0;
}

/* What a home loses, or is given in its place.  What holds nothing that could be
 * missed is made again; the others are asked for by whoever reads them. */
static int
check_folders(char *err, size_t err_len)
{
	static const struct { const char *name; bool make; } folders[] = {
		{ "packs", true }, { "vault", false }, { "ca", false }
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && rc >= 0; i++)
		rc = home_folder(folders[i].name, folders[i].make, err, err_len);
	return rc < 0 ? -1 : 0;
}

/* The packs that runs were decided by, and a bundle's that comes into force. */
static int
check_packs(char *err, size_t err_len)
{
	char packs[PATH_MAX];

	return daemon_path("packs", packs, err, err_len) != 0 ? -1 :
	    home_check_owned(packs, err, err_len);
}

/* A daemon whose run/ was removed is reached by nobody: the writer is its child. */
static const char *
writer_remedy(const char *why)
{
	static char text[160];
	const char *at = strstr(why, "by process ");
	struct process line[2];
	unsigned n = at == NULL ? 0 : process_line(strtoll(at +
	    strlen("by process "), NULL, 10), line, 2);

	snprintf(text, sizeof(text), "; it is free when that has ended");
	if (n == 2 && strcmp(line[1].name, "countersignd") == 0)
		snprintf(text, sizeof(text), "; it belongs to a daemon that cannot "
		    "be reached (was run/ in the home removed?): kill %lld ends "
		    "that in order", (long long)line[1].pid);
	return text;
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
	if (strstr(why, "restart-origin") != NULL)
		return "";	/* it says what to do */
	return strstr(why, "is being written by") != NULL ? writer_remedy(why) :
	    "; restore it from a copy, or begin another: countersign ledger "
	    "restart-origin";
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
		.ports = daemon_port(conf, PORTS_OWN),
		.checkpoint_ms = conf->checkpoint_ms,
		.reserve_bytes = RESERVE_BYTES,
		.epoch_s = conf->epoch_s, .epoch_records = conf->epoch_records,
		.confine = confine_broker, .confine_arg = (void *)(uintptr_t)conf,
	};

	if (daemon_path("ledger", dir, err, err_len) != 0 ||
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
	daemon->port = ledger_port(daemon->ledger, daemon_port(conf, PORT_MAIN));
	return 0;
}

/* Before any key is read: it parses what strangers send. */
static int
start_anchorer(struct daemon *daemon, char *err, size_t err_len)
{
	char dir[PATH_MAX];

	if (daemon_path("ledger", dir, err, err_len) != 0)
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

	if (daemon_path("ca/ca.pem", ca, err, err_len) != 0 ||
	    daemon_path("ca/bundle.pem", bundle, err, err_len) != 0)
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

	if (daemon_path("vault/store", path, err, err_len) != 0)
		return -1;
	if (vault_choose(daemon->conf, path, keys_vault(daemon->keys),
	    &daemon->vault, &why) != VAULT_OK) {
		snprintf(err, err_len, "vault: %s%s", why.text,
		    vault_remedy(why.status));
		return -1;
	}
	if (daemon_path("ca", path, err, err_len) != 0)
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
	if (daemon_path("packs", packs, err, err_len) != 0)
		return -1;
	daemon->discover = discover_open(conf, packs, pack, err, err_len);
	return daemon->discover != NULL ? 0 : -1;
}

static int
open_gate(struct daemon *daemon, const char *pack, char *err, size_t err_len)
{
	char packs[PATH_MAX], ledger[PATH_MAX], run[PATH_MAX];
	struct gate_options options = { .vault = daemon->vault,
	    .minter = daemon->minter,
	    .pack_path = pack, .packs_dir = packs, .opa = daemon->opa,
	    .ledger_dir = ledger, .tags_dir = run,
	    .anchors = &daemon->conf->anchors,
	    .pseudonym_key = keys_pseudonym(daemon->keys) };
	struct rules *rules;
	bool same;

	if (daemon->minter == NULL) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	if (daemon_path("packs", packs, err, err_len) != 0 ||
	    daemon_path("ledger", ledger, err, err_len) != 0 ||
	    daemon_path("run", run, err, err_len) != 0 ||
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

	if (check_folders(err, err_len) != 0 ||
	    conf_authorities_check(daemon->conf, err, err_len) != 0 ||
	    take_lock(daemon, err, err_len) != 0 ||
	    take_signals(daemon, err, err_len) != 0 ||
	    daemon_path("pack", pack, err, err_len) != 0 ||
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
	    engine_open(&daemon->conf->policy, &daemon->opa, err, err_len) != 0)
		return -1;
	daemon->minter = minter_new(daemon->conf);
	if (open_gate(daemon, pack, err, err_len) != 0)
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
	/* Later it may be another file, and Landlock keeps it from us. */
	(void)build_digest("/proc/self/exe", daemon->build);
	if (open_parts(daemon, options, err, err_len) == 0)
		return daemon;
	(void)daemon_close(daemon);
	return NULL;
}
