#include "cli/run/run_hide.h"
#include "cli/cli.h"
#include "cli/run/run_mounts.h"
#include "cli/run/run_reach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (4u << 20)
#define FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

struct kept_file {
	const char *path;
	char *bytes;
	size_t len;
};

struct run_hide_plan {
	struct run_hide what;
	struct kept_file files[RUN_HIDE_FILES];
	char *home;			/* resolved */
	struct stat home_st;
	struct run_mounts_names covers;	/* outside home: passphrases, other names */
	struct run_reach *reach;
};

/* What is to be seen of the home by nobody inside. */
static const char *const parts[] = { "config.json", "master.json", "ca/ca.key",
    "vault", "pack", "packs", "ledger", "runs", "run/operator.sock" };

static int
load(struct kept_file *file, const char *path)
{
	struct stat st;
	ssize_t got;
	int fd, rc = -1;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_size >= 0 &&
	    st.st_size < (off_t)FILE_BYTES_MAX &&
	    (file->bytes = malloc((size_t)st.st_size + 1)) != NULL) {
		got = read(fd, file->bytes, (size_t)st.st_size);
		if (got == st.st_size) {
			file->path = path;
			file->len = (size_t)got;
			rc = 0;
		}
	}
	close(fd);
	return rc;
}

/* A file or directory outside, and whatever else it is called.  What we cannot
 * reach the command cannot either: it is the same user. */
static int
add_cover(struct run_hide_plan *plan, const struct run_mounts *mounts,
    const char *path)
{
	char *real = realpath(path, NULL);
	struct stat st;
	int rc = 0;

	if (real == NULL)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ?
		    0 : -1;
	if (stat(real, &st) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
	    run_mounts_within(real, plan->home) == NULL &&
	    (run_mounts_add(&plan->covers, real, plan->home) != 0 ||
	    run_mounts_others(mounts, real, plan->home, &plan->covers) != 0))
		rc = -1;
	free(real);
	return rc;
}

/* A part that is a link to elsewhere must not be left there. */
static const char *
gather_covers(struct run_hide_plan *plan, const struct run_mounts *mounts)
{
	const struct run_hide *what = &plan->what;
	char path[PATH_MAX];
	size_t i;
	int n;

	if (run_mounts_others(mounts, plan->home, plan->home,
	    &plan->covers) != 0)
		return what->home;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		n = snprintf(path, sizeof(path), "%s/%s", plan->home, parts[i]);
		if (n < 0 || (size_t)n >= sizeof(path) ||
		    add_cover(plan, mounts, path) != 0)
			return parts[i];
	}
	for (i = 0; i < RUN_HIDE_MASKS; i++)
		if (what->masks[i] != NULL &&
		    add_cover(plan, mounts, what->masks[i]) != 0)
			return what->masks[i];
	return NULL;
}

/* NULL, or the path that stands in the way (errno says why). */
static const char *
gather(struct run_hide_plan *plan)
{
	const struct run_hide *what = &plan->what;
	struct run_reach_hidden hidden = { .covers = &plan->covers };
	struct run_mounts *mounts;
	const char *bad;
	size_t i;

	for (i = 0; i < RUN_HIDE_FILES && what->files[i] != NULL; i++)
		if (load(&plan->files[i], what->files[i]) != 0)
			return what->files[i];
	if ((plan->home = realpath(what->home, NULL)) == NULL ||
	    stat(plan->home, &plan->home_st) != 0)
		return what->home;
	if ((mounts = run_mounts_read()) == NULL)
		return "/proc/self/mountinfo";
	bad = gather_covers(plan, mounts);
	hidden.home = plan->home;
	if (bad == NULL &&
	    (plan->reach = run_reach_gather(&hidden, mounts)) == NULL)
		bad = "/proc/self/fd";
	run_mounts_free(mounts);
	return bad;
}

struct run_hide_plan *
run_hide_prepare(const struct run_hide *what, char *err, size_t err_len)
{
	struct run_hide_plan *plan = calloc(1, sizeof(*plan));
	const char *bad;

	if (plan == NULL) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	plan->what = *what;
	errno = EIO;	/* a file of a wrong size, or cut short */
	if ((bad = gather(plan)) == NULL)
		return plan;
	snprintf(err, err_len, "%s: %s", bad, strerror(errno));
	run_hide_release(plan);
	return NULL;
}

void
run_hide_release(struct run_hide_plan *plan)
{
	size_t i;

	if (plan == NULL)
		return;
	for (i = 0; i < RUN_HIDE_FILES; i++)
		free(plan->files[i].bytes);
	run_mounts_names_free(&plan->covers);
	run_reach_free(plan->reach);
	free(plan->home);
	free(plan);
}

/* --- in the child ---------------------------------------------------- */

static int
put(const char *path, const char *text, size_t len, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0444);
	ssize_t done = -1;

	if (fd == -1)
		return -1;
	done = write(fd, text, len);
	close(fd);
	return done == (ssize_t)len ? 0 : -1;
}

/* Root needs no user name space, and would lose its rights in one. */
static const char *
enter(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (uid == 0)
		return unshare(CLONE_NEWNS) == 0 ? NULL : "mount name space";
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return "user name space";
	if (put("/proc/self/setgroups", "deny", 4, 0) != 0)
		return "setgroups";
	snprintf(map, sizeof(map), "%lu %lu 1", (unsigned long)uid,
	    (unsigned long)uid);
	if (put("/proc/self/uid_map", map, strlen(map), 0) != 0)
		return "uid_map";
	snprintf(map, sizeof(map), "%lu %lu 1", (unsigned long)gid,
	    (unsigned long)gid);
	if (put("/proc/self/gid_map", map, strlen(map), 0) != 0)
		return "gid_map";
	return NULL;
}

/* The directories of path below home; home itself is the new file system. */
static int
make_parents(const char *home, const char *path)
{
	char part[PATH_MAX], *slash;

	snprintf(part, sizeof(part), "%s", path);
	slash = part + strlen(home);
	while ((slash = strchr(slash + 1, '/')) != NULL) {
		*slash = '\0';
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return 0;
}

static int
bind_fd(int fd, const char *path)
{
	char from[64];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	return mount(from, path, NULL, MS_BIND, NULL);
}

static int
cover_one(const char *empty, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)	/* within another that is covered */
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	if (S_ISDIR(st.st_mode))
		return mount("countersign", path, "tmpfs", FLAGS | MS_RDONLY,
		    "mode=0755,size=4k");
	if (mount(empty, path, NULL, MS_BIND, NULL) != 0)
		return -1;
	/* What is written there would be lost: it is refused. */
	return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS,
	    NULL);
}

static int
cover_all(const struct run_hide_plan *plan)
{
	char empty[PATH_MAX];
	size_t i;
	int n;

	n = snprintf(empty, sizeof(empty), "%s/empty", plan->what.home);
	if (n < 0 || (size_t)n >= sizeof(empty) ||
	    put(empty, "", 0, O_CREAT | O_EXCL) != 0)
		return -1;
	for (i = 0; i < plan->covers.n; i++)
		if (cover_one(empty, plan->covers.path[i]) != 0)
			return -1;
	return 0;
}

static const char *
fill(const struct run_hide_plan *plan, int socket)
{
	const struct run_hide *what = &plan->what;
	size_t i;

	for (i = 0; i < RUN_HIDE_FILES && plan->files[i].path != NULL; i++)
		if (make_parents(what->home, plan->files[i].path) != 0 ||
		    put(plan->files[i].path, plan->files[i].bytes,
		    plan->files[i].len, O_CREAT | O_EXCL) != 0)
			return "files";
	if (make_parents(what->home, what->socket) != 0 ||
	    put(what->socket, "", 0, O_CREAT | O_EXCL) != 0 ||
	    bind_fd(socket, what->socket) != 0)
		return "agent.sock";
	return cover_all(plan) != 0 ? "files outside of it" : NULL;
}

/* Could the command rename what stands in dir?  Its owner may chmod it first. */
static bool
changeable(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 &&
	    (st.st_uid == geteuid() || access(dir, W_OK) == 0);
}

/* A mount's own directory cannot be renamed, but those above it can: the home
 * would be moved away for everybody, and another put in its place, to be given
 * the next secret.  So each of them is mounted upon itself.  Those in "/" are
 * left alone: only root could move them, and a link or a rename across a mount
 * fails, which programs of root's would notice below /root and /tmp. */
static int
pin_above(const char *home)
{
	char part[PATH_MAX], *slash, *next;

	snprintf(part, sizeof(part), "%s", home);
	for (slash = strchr(part + 1, '/'); slash != NULL; slash = next) {
		bool pin;

		*slash = '\0';
		pin = changeable(part);
		*slash = '/';
		if ((next = strchr(slash + 1, '/')) == NULL)
			return 0;
		*next = '\0';
		if (pin && mount(part, part, NULL, MS_BIND | MS_REC, NULL) != 0)
			return -1;
		*next = '/';
	}
	return 0;
}

/* A new name space with mounts of its own, and the home's place taken. */
static const char *
cover(const struct run_hide_plan *plan, int *socket)
{
	const struct run_hide *what = &plan->what;
	const char *step = enter();

	if (step != NULL)
		return step;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return "private mounts";
	if (pin_above(plan->home) != 0)
		return "the directories above it";
	/* Only now: what is bound must be of this mount name space. */
	*socket = open(what->socket, O_PATH | O_CLOEXEC);
	if (mount("countersign", what->home, "tmpfs", FLAGS,
	    "mode=0755,size=8m") != 0)
		return "tmpfs";
	return NULL;
}

/* Looked at from inside: is it really not there? */
static const char *
verify(const struct run_hide_plan *plan)
{
	char path[PATH_MAX];
	struct stat st;
	size_t i;

	errno = 0;
	for (i = 0; i < plan->covers.n; i++)
		if (stat(plan->covers.path[i], &st) == 0 &&
		    (S_ISDIR(st.st_mode) ? st.st_nlink > 2 ||
		    st.st_dev == plan->home_st.st_dev : st.st_size > 0))
			return "a file outside of it is still to be seen";
	if (stat(plan->what.home, &st) != 0 ||
	    (st.st_dev == plan->home_st.st_dev &&
	    st.st_ino == plan->home_st.st_ino))
		return "it is still to be seen";
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", plan->home, parts[i]);
		if (lstat(path, &st) == 0)
			return "part of it is still to be seen";
	}
	errno = 0;
	return NULL;
}

static const char *
renew(const struct run_hide_plan *plan)
{
	size_t closed;
	int first = -1;
	const char *bad = run_reach_renew(plan->reach, &closed, &first);

	if (bad == NULL && closed > 0)
		cli_err("note: %zu inherited descriptor%s, %d%s, closed for the "
		    "command: %s of what is hidden from it", closed,
		    closed == 1 ? "" : "s", first, closed == 1 ? " is" :
		    " the first, are", closed == 1 ? "it is" : "they are");
	errno = 0;	/* the words say it all */
	return bad;
}

/* Refused by the kernel's configuration, a container's or a security module. */
static bool
not_allowed(int error)
{
	return error == EPERM || error == EACCES || error == ENOSYS ||
	    error == EINVAL || error == ENOSPC || error == EUSERS;
}

enum run_hide_result
run_hide_apply(const struct run_hide_plan *plan, const char **step)
{
	const struct run_hide *what = &plan->what;
	int socket = -1, error;

	*step = cover(plan, &socket);
	if (*step != NULL) {
		error = errno;
		if (socket != -1)
			close(socket);
		errno = error;
		return not_allowed(error) ? RUN_HIDE_CANNOT : RUN_HIDE_FAILED;
	}
	*step = socket == -1 ? "agent.sock" : fill(plan, socket);
	if (*step == NULL && mount(NULL, what->home, NULL,
	    MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS, NULL) != 0)
		*step = "read-only";
	if (*step == NULL)
		*step = verify(plan);
	if (*step == NULL)
		*step = renew(plan);
	error = errno;
	if (socket != -1)
		close(socket);
	errno = error;
	return *step == NULL ? RUN_HIDE_DONE : RUN_HIDE_FAILED;
}
