#include "home.h"
#include "trouble.h"

#include "ledger/utf8.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char home[PATH_MAX];

/* An absolute directory from the environment with tail behind it.  1 where the
 * variable is not set, -1 where it is no good. */
static int
from_variable(const char *name, const char *tail, char *err, size_t err_len)
{
	const char *value = getenv(name);
	int n;

	if (value == NULL || *value == '\0')
		return 1;
	if (*value != '/') {
		snprintf(err, err_len, "%s must be an absolute path, one that "
		    "begins with /: \"$PWD/home\", say, not \"home\"", name);
		return -1;
	}
	n = snprintf(home, sizeof(home), "%s%s", value, tail);
	if (n < 0 || (size_t)n >= sizeof(home)) {
		home[0] = '\0';
		snprintf(err, err_len, "%s is too long: %d bytes are the most",
		    name, HOME_DIR_MAX);
		return -1;
	}
	return 0;
}

const char *
home_dir(char *err, size_t err_len)
{
	static const struct { const char *name, *tail; } places[] = {
		{ "COUNTERSIGN_HOME", "" },
		{ "XDG_STATE_HOME", "/countersign" },
		{ "HOME", "/.local/state/countersign" },
	};
	size_t i;
	int found = 1;

	if (home[0] != '\0')
		return home;
	for (i = 0; i < sizeof(places) / sizeof(places[0]) && found == 1; i++)
		found = from_variable(places[i].name, places[i].tail, err,
		    err_len);
	if (found == 0)
		return home;
	if (found == 1)
		snprintf(err, err_len, "no home for countersign: set "
		    "COUNTERSIGN_HOME or HOME");
	return NULL;
}

int
home_name_check(const char *dir, char *err, size_t err_len)
{
	const size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) -
	    sizeof("/run/operator.sock");
	size_t len = strlen(dir), at, n;

	_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) -
	    sizeof("/run/operator.sock") == HOME_DIR_MAX, "the header says so");
	if (len > room) {
		snprintf(err, err_len, "the home's path has %zu bytes; at most %zu "
		    "leave room for the address of a Unix socket in it: choose a "
		    "shorter one with COUNTERSIGN_HOME", len, room);
		return -1;
	}
	for (at = 0; at < len; at += n) {
		n = utf8_char(dir + at, len - at);
		if (n == 0 || (unsigned char)dir[at] < 0x20 || dir[at] == 0x7f) {
			snprintf(err, err_len, "the home's path %s: choose another "
			    "with COUNTERSIGN_HOME", n == 0 ? "is not UTF-8" :
			    "has control characters");
			return -1;
		}
	}
	return 0;
}

/* --- whose it is ----------------------------------------------------- */

static int
check_owned(const char *path, const struct stat *st, char *err, size_t err_len)
{
	if (st->st_uid != geteuid() && st->st_uid != 0)
		snprintf(err, err_len, "%s belongs to another user: chown it",
		    path);
	else if (!S_ISLNK(st->st_mode) && (st->st_mode & 022) != 0)
		snprintf(err, err_len, "%s may be written by other users (mode "
		    "%04o): chmod go-w it", path,
		    (unsigned)(st->st_mode & 07777));
	else
		return 0;
	return -1;
}

static int
check_one(const char *path, char *err, size_t err_len)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return check_owned(path, &st, err, err_len);
	return trouble(err, err_len, path, errno);
}

static int
check_tree(const char *path, char *err, size_t err_len)
{
	char *roots[] = { (char *)path, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
	    NULL);
	FTSENT *at;
	int rc = walk != NULL ? 0 : -1;

	if (walk == NULL)
		snprintf(err, err_len, "%s: %s", path, strerror(errno));
	while (rc == 0 && (at = fts_read(walk)) != NULL) {
		if (at->fts_info == FTS_DP)
			continue;
		if (at->fts_info == FTS_DNR || at->fts_info == FTS_ERR ||
		    at->fts_info == FTS_NS) {
			snprintf(err, err_len, "%s: %s", at->fts_path,
			    strerror(at->fts_errno));
			rc = -1;
		} else {
			rc = check_owned(at->fts_path, at->fts_statp, err,
			    err_len);
		}
	}
	if (walk != NULL)
		fts_close(walk);
	return rc;
}

/* Root may look after another user's home: then what is that user's is well. */
static int
check_folder(const char *path, struct stat *st, char *err, size_t err_len)
{
	struct stat above;

	if (stat(home, &above) == 0 && above.st_uid == st->st_uid)
		st->st_uid = geteuid();
	return check_owned(path, st, err, err_len);
}

static int
nowhere(const char *path, char *err, size_t err_len)
{
	snprintf(err, err_len, "%s is a link that leads nowhere: put back what it "
	    "names, or remove it", path);
	return -1;
}

int
home_folder(const char *name, bool make, char *err, size_t err_len)
{
	char path[PATH_MAX];
	struct stat st;

	if (home_path(name, path, sizeof(path)) != 0)
		return trouble(err, err_len, name, ENAMETOOLONG);
	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? check_folder(path, &st, err, err_len) :
		    trouble(err, err_len, path, ENOTDIR);
	if (errno != ENOENT)
		return trouble(err, err_len, path, errno);
	if (lstat(path, &st) == 0)
		return nowhere(path, err, err_len);
	if (!make)
		return 0;
	if (mkdir(path, 0700) == 0)
		return 1;
	/* Somebody else was faster. */
	return errno == EEXIST ? home_folder(name, false, err, err_len) :
	    trouble(err, err_len, path, errno);
}

int
home_narrow(char *err, size_t err_len)
{
	const char *dir = home_dir(err, err_len);
	struct stat st;

	if (dir == NULL)
		return -1;
	if (stat(dir, &st) != 0)
		return trouble(err, err_len, dir, errno);
	if (st.st_uid != geteuid() || (st.st_mode & 077) == 0 ||
	    (st.st_mode & 022) != 0)
		return 0;
	return chmod(dir, st.st_mode & 0700) == 0 ? 1 :
	    trouble(err, err_len, dir, errno);
}

int
home_make_rooms(char *err, size_t err_len)
{
	return home_folder("run", true, err, err_len) < 0 ||
	    home_folder("runs", true, err, err_len) < 0 ? -1 : 0;
}

int
home_check_owned(const char *path, char *err, size_t err_len)
{
	const char *dir = home_dir(err, err_len);
	char part[PATH_MAX], *slash;
	size_t len = dir != NULL ? strlen(dir) : 0;

	if (len == 0 || strncmp(path, dir, len) != 0 || path[len] != '/')
		return 0;
	if (check_one(dir, err, err_len) != 0)
		return -1;
	snprintf(part, sizeof(part), "%s", path);
	for (slash = part + len; (slash = strchr(slash + 1, '/')) != NULL;
	    *slash = '/') {
		*slash = '\0';
		if (check_one(part, err, err_len) != 0)
			return -1;
	}
	return check_tree(path, err, err_len);
}

int
home_path(const char *name, char *buf, size_t cap)
{
	char err[128];
	const char *dir = home_dir(err, sizeof(err));
	int n;

	if (dir == NULL)
		return -1;
	n = snprintf(buf, cap, "%s/%s", dir, name);
	return n < 0 || (size_t)n >= cap ? -1 : 0;
}

int
home_need_vault(char *err, size_t err_len)
{
	char path[PATH_MAX];

	if (home_dir(err, err_len) == NULL)
		return -1;	/* no home, or a relative one: said already */
	if (home_path("master.json", path, sizeof(path)) != 0)
		snprintf(err, err_len, "the home's path is too long: choose another "
		    "with COUNTERSIGN_HOME");
	else if (access(path, F_OK) == 0)
		return home_name_check(home, err, err_len);
	else if (errno == EACCES)
		snprintf(err, err_len, "%s is not yours to look into: its owner "
		    "runs countersign on it; COUNTERSIGN_HOME names another home",
		    home);
	else
		snprintf(err, err_len, "%s holds no vault; `countersign init` makes "
		    "one", home);
	return -1;
}
