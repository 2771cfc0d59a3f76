#include "daemon/confine_broker.h"

#include "conf/conf.h"
#include "confined.h"
#include "home.h"
#include "log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Where in the home it may write. */
struct rooms {
	char home[PATH_MAX], vault[PATH_MAX], run[PATH_MAX], packs[PATH_MAX];
	char ledger[PATH_MAX];		/* "": the recorder's alone */
};

static int
find_rooms(const struct conf *conf, struct rooms *rooms, char *err,
    size_t err_len)
{
	if (home_path("", rooms->home, PATH_MAX) != 0 ||
	    home_path("vault", rooms->vault, PATH_MAX) != 0 ||
	    home_path("run", rooms->run, PATH_MAX) != 0 ||
	    home_path("packs", rooms->packs, PATH_MAX) != 0 ||
	    (conf->ledger_thread &&
	    home_path("ledger", rooms->ledger, PATH_MAX) != 0)) {
		snprintf(err, err_len, "the home's path is too long");
		return -1;
	}
	/* Only what is there can be named in a rule. */
	if (mkdir(rooms->packs, 0700) == 0 || errno == EEXIST)
		return 0;
	snprintf(err, err_len, "%s: %s", rooms->packs, strerror(errno));
	return -1;
}

static void
add_all(struct confined *confined, const struct conf *conf,
    const struct rooms *rooms)
{
	confined_add(confined, rooms->vault, CONFINE_WRITE);
	confined_add(confined, rooms->run, CONFINE_WRITE);
	confined_add(confined, rooms->packs, CONFINE_WRITE);
	confined_add(confined, rooms->ledger, CONFINE_WRITE);
	confined_add(confined, rooms->home, CONFINE_READ);
	confined_add(confined, "/proc", CONFINE_READ);
	confined_system(confined);
	confined_add(confined, conf->upstream_ca_file, CONFINE_READ);
	confined_add_file(confined, conf->kv.ca_file);
	confined_add_file(confined, conf->kv.token_file);
	confined_add_file(confined, conf->policy.ca_file);
	confined_add_file(confined, conf->policy.token_file);
	confined_add_file(confined, conf->policy.bundle.ca_file);
	confined_add_file(confined, conf->policy.bundle.from);
}

int
confine_broker(void *arg, char *err, size_t err_len)
{
	const struct conf *conf = arg;
	struct rooms rooms = { .ledger = "" };
	struct confined confined = { .n = 0 };
	struct confine_options options = { .paths = confined.paths,
	    .network = true, .watch = true };
	struct confine_report report;

	if (find_rooms(conf, &rooms, err, err_len) != 0)
		return -1;
	add_all(&confined, conf, &rooms);
	options.n_paths = confined.n;
	if (confine_self(&options, &report) != 0) {
		snprintf(err, err_len, "the broker cannot confine itself: %s",
		    strerror(errno));
		return -1;
	}
	log_event(report.landlock > 0 && report.seccomp ? LOG_INFO : LOG_WARNING,
	    "confined", "%s", report.text);
	return 0;
}
