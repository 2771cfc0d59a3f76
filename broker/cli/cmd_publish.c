/* countersign ledger publish: the tree as static files, c2sp.org/tlog-tiles. */
#include "cli/cmd.h"
#include "ledger/anchor/tiles.h"
#include "ledger/evidence/evidence.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct opt cmd_publish_opts[] = {
	{ "entries", 0, NULL, false, "the records too, not only hashes: they "
	    "tell what your agents did" },
	{ "ledger", 0, "DIR", false, "a ledger's directory; default this home's" },
	{ NULL, 0, NULL, false, NULL }
};

const char cmd_publish_details[] =
"Writes checkpoint and tile/... below DIR (c2sp.org/tlog-tiles), for any web\n"
"server; what is there already stays.  Run it again when the ledger has grown.";

static bool
is_same(int dirfd, int out)
{
	struct stat a, b;

	return fstat(dirfd, &a) != 0 || fstat(out, &b) != 0 ||
	    (a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

int
cmd_publish(const struct opts *opts)
{
	const char *out_path = opts->n_rest == 1 ? opts->rest[0] : NULL;
	struct problem problem = { .text = "" };
	char path[PATH_MAX];
	uint64_t written = 0;
	int dirfd, out, status = -1;

	if (out_path == NULL)
		return cli_usage("publish wants one directory");
	if (opt_value(opts, "ledger") != NULL)
		snprintf(path, sizeof(path), "%s", opt_value(opts, "ledger"));
	else
		cli_home_path("ledger", path, sizeof(path));
	if (mkdir(out_path, 0755) != 0 && errno != EEXIST) {
		cli_err("%s: %s", out_path, strerror(errno));
		return CLI_USAGE;
	}
	dirfd = evidence_dir(path);
	if (dirfd < 0)
		cli_err("%s: %s", path, strerror(errno));
	out = evidence_dir(out_path);
	if (out < 0)
		cli_err("%s: %s", out_path, strerror(errno));
	if (dirfd >= 0 && out >= 0 && is_same(dirfd, out)) {
		cli_err("%s: that is the ledger itself, which only its recorder writes", out_path);
	} else if (dirfd >= 0 && out >= 0) {
		status = tiles_publish(dirfd, out, opt_flag(opts, "entries"),
		    &written, &problem);
		if (status != 0)
			cli_err("%s", problem.text);
		else
			printf("%" PRIu64 " new tiles\n", written);
	}
	if (dirfd >= 0)
		close(dirfd);
	if (out >= 0)
		close(out);
	return status == 0 ? CLI_OK : CLI_USAGE;
}
