/* countersignd: the daemon.  Usage and exit statuses: countersignd(8). */
#include "cli/cli.h"
#include "cli/opt.h"
#include "conf/conf.h"
#include "daemon/daemon.h"
#include "daemon/harden.h"
#include "daemon/notify.h"
#include "home.h"
#include "log.h"
#include "secret.h"
#include "trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sodium.h>

#define EXIT_FAILED 1
#define EXIT_USAGE 3

#define FILES_LEAST 128		/* descriptors: some 70 are its own */

static const struct opt options[] = {
	{ "home", 0, "DIR", false, "the home directory, instead of $COUNTERSIGN_HOME" },
	{ "foreground", 0, NULL, false, "stay, log to standard error (the only way; accepted so that it can be said)" },
	{ "passphrase-fd", 0, "N", false, "read the vault's passphrase from descriptor N" },
	{ "passphrase-file", 0, "FILE", false, "read the vault's passphrase from FILE (mode 0600)" },
	{ "ready-fd", 0, "N", false, "write READY=1, or ERROR=why, to descriptor N" },
	{ "log-level", 0, "LEVEL", false, "error, warning, info (default) or debug" },
	{ "log-json", 0, NULL, false, "log one JSON object a line" },
	{ "version", 0, NULL, false, "print the version and exit" },
	{ "help", 'h', NULL, false, "show this and exit" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct cli_command self = {
	.name = "countersignd", .operands = "", .opts = options,
	.summary = "The countersign daemon: vault, policy, proxy and ledger of one home",
	.details = "It stays in the foreground.  `countersign run` starts it when needed; a service\n"
	    "manager may too (Type=notify).  SIGHUP reloads the policy, SIGTERM stops it.",
};

struct start {
	struct opts opts;
	struct conf conf;
	long long passphrase_fd, ready_fd;
	char err[CLI_ERR_MAX];
};

static int
usage(const char *why)
{
	fprintf(stderr, "countersignd: %s\nTry `countersignd --help`.\n", why);
	return EXIT_USAGE;
}

static void
help(void)
{
	const struct opt *opt;

	printf("Usage: countersignd [OPTION...]\n\n%s.\n\n%s\n\nOptions:\n",
	    self.summary, self.details);
	for (opt = options; opt->name != NULL; opt++)
		printf("  --%s%s%s\n        %s\n", opt->name,
		    opt->arg != NULL ? " " : "", opt->arg != NULL ? opt->arg : "",
		    opt->help);
}

/* -1: go on; else an exit status. */
static int
read_options(struct start *start, int argc, char **argv)
{
	struct opts *opts = &start->opts;
	const char *level;

	if (opt_parse(options, false, argc - 1, argv + 1, opts, start->err,
	    sizeof(start->err)) != 0)
		return usage(start->err);
	if (opt_flag(opts, "help")) {
		help();
		return 0;
	}
	if (opt_flag(opts, "version")) {
		puts("countersignd " COUNTERSIGN_VERSION);
		return 0;
	}
	if (opts->n_rest != 0)
		return usage("it takes no operands");
	if (opt_number(opts, "passphrase-fd", 0, 1023, &start->passphrase_fd,
	    start->err, sizeof(start->err)) != 0 ||
	    opt_number(opts, "ready-fd", 3, 1023, &start->ready_fd, start->err,
	    sizeof(start->err)) != 0)
		return usage(start->err);
	level = opt_value(opts, "log-level");
	if (level != NULL && log_set_level(level) != 0)
		return usage("--log-level wants error, warning, info or debug");
	log_set_json(opt_flag(opts, "log-json"));
	return -1;
}

static int
find_home(struct start *start)
{
	const char *home = opt_value(&start->opts, "home");
	char path[PATH_MAX];

	if (home != NULL && setenv("COUNTERSIGN_HOME", home, 1) != 0) {
		snprintf(start->err, sizeof(start->err), "out of memory");
		return -1;
	}
	if (home_dir(start->err, sizeof(start->err)) == NULL ||
	    home_need_vault(start->err, sizeof(start->err)) != 0 ||
	    home_path("config.json", path, sizeof(path)) != 0)
		return -1;
	return conf_load(path, &start->conf, start->err, sizeof(start->err));
}

static int
serve(struct start *start, int *ready)
{
	struct daemon_options daemon_options = { .conf = &start->conf,
	    .passphrase_fd = (int)start->passphrase_fd,
	    .passphrase_file = opt_value(&start->opts, "passphrase-file"),
	    .terminal = start->passphrase_fd == -1 && isatty(STDIN_FILENO) };
	struct daemon *daemon;
	int rc = EXIT_FAILED;

	daemon = daemon_open(&daemon_options, start->err, sizeof(start->err));
	if (daemon == NULL)
		return EXIT_FAILED;
	if (daemon_start(daemon, start->err, sizeof(start->err)) == 0) {
		notify_starter(ready, "READY=1");
		memory_trim();
		notify_manager("READY=1");
		daemon_wait(daemon);
		notify_manager("STOPPING=1");
		rc = 0;
	}
	if (daemon_close(daemon) != 0 && rc == 0) {
		snprintf(start->err, sizeof(start->err),
		    "the ledger was not closed in order");
		rc = EXIT_FAILED;
	}
	if (rc == 0)
		log_event(LOG_INFO, "stopped", "in order");
	return rc;
}

/* A shell's soft limit is meant for programs that use select(2). */
static int
raise_files(char *err, size_t err_len)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return 0;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_max >= FILES_LEAST)
		return 0;
	snprintf(err, err_len, "%ju descriptors are too few, %d are wanted at least%s",
	    (uintmax_t)files.rlim_max, FILES_LEAST, trouble_remedy(EMFILE));
	return -1;
}

/* Descriptors that were handed over must not reach the recorder.  0, or an exit
 * status. */
static int
prepare(struct start *start)
{
	bool locked = false;

	if (start->ready_fd != -1)
		(void)fcntl((int)start->ready_fd, F_SETFD, FD_CLOEXEC);
	if (raise_files(start->err, sizeof(start->err)) != 0 ||
	    harden_process(start->err, sizeof(start->err)) != 0)
		return EXIT_FAILED;
	if (sodium_init() < 0) {
		snprintf(start->err, sizeof(start->err), "libsodium failed to start");
		return EXIT_FAILED;
	}
	if (find_home(start) != 0)
		return EXIT_USAGE;
	if (harden_memory(start->conf.allow_unlocked_memory, &locked, start->err,
	    sizeof(start->err)) != 0)
		return EXIT_FAILED;
	if (!locked)
		log_event(LOG_WARNING, "memory_not_locked", "%s", start->err);
	secret_allow_unlocked(start->conf.allow_unlocked_memory);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct start start = { .passphrase_fd = -1, .ready_fd = -1 };
	char line[CLI_ERR_MAX + 16];
	int rc, ready;

	if ((rc = read_options(&start, argc, argv)) != -1)
		return rc;
	memory_begin();
	ready = (int)start.ready_fd;
	if ((rc = prepare(&start)) == 0)
		rc = serve(&start, &ready);
	if (rc != 0) {
		log_event(LOG_ERROR, "failed", "%s", start.err);
		snprintf(line, sizeof(line), "ERROR=%s", start.err);
		notify_starter(&ready, line);
	}
	conf_free(&start.conf);
	return rc;
}
