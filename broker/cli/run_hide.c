#include "cli/run_hide.h"

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
	char *masks[RUN_HIDE_MASKS];	/* resolved, outside home; NULL: none */
};

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

static bool
below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* What we cannot reach the command cannot either: it is the same user. */
static int
resolve(char **out, const char *path, const char *home)
{
	char *real = realpath(path, NULL);
	struct stat st;

	if (real == NULL)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ?
		    0 : -1;
	if (stat(real, &st) != 0 || !S_ISREG(st.st_mode) || below(real, home)) {
		free(real);
		return 0;
	}
	*out = real;
	return 0;
}

/* NULL, or the path that stands in the way (errno says why). */
static const char *
gather(struct run_hide_plan *plan)
{
	const struct run_hide *what = &plan->what;
	const char *bad = NULL;
	char *home;
	size_t i;

	for (i = 0; i < RUN_HIDE_FILES && what->files[i] != NULL; i++)
		if (load(&plan->files[i], what->files[i]) != 0)
			return what->files[i];
	if ((home = realpath(what->home, NULL)) == NULL)
		return what->home;
	for (i = 0; bad == NULL && i < RUN_HIDE_MASKS; i++)
		if (what->masks[i] != NULL &&
		    resolve(&plan->masks[i], what->masks[i], home) != 0)
			bad = what->masks[i];
	free(home);
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
	for (i = 0; i < RUN_HIDE_MASKS; i++)
		free(plan->masks[i]);
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
mask_all(const struct run_hide_plan *plan)
{
	char empty[PATH_MAX];
	size_t i;
	int n;

	n = snprintf(empty, sizeof(empty), "%s/empty", plan->what.home);
	if (n < 0 || (size_t)n >= sizeof(empty) ||
	    put(empty, "", 0, O_CREAT | O_EXCL) != 0)
		return -1;
	for (i = 0; i < RUN_HIDE_MASKS; i++)
		if (plan->masks[i] != NULL &&
		    mount(empty, plan->masks[i], NULL, MS_BIND, NULL) != 0)
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
	return mask_all(plan) != 0 ? "passphrase file" : NULL;
}

/* A new name space with mounts of its own, and the home's place taken. */
static const char *
cover(const struct run_hide *what, int *socket)
{
	const char *step = enter();

	if (step != NULL)
		return step;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return "private mounts";
	/* Only now: what is bound must be of this mount name space. */
	*socket = open(what->socket, O_PATH | O_CLOEXEC);
	if (mount("countersign", what->home, "tmpfs", FLAGS,
	    "mode=0755,size=8m") != 0)
		return "tmpfs";
	return NULL;
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

	*step = cover(what, &socket);
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
	error = errno;
	if (socket != -1)
		close(socket);
	errno = error;
	return *step == NULL ? RUN_HIDE_DONE : RUN_HIDE_FAILED;
}
