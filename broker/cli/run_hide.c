#include "cli/run_hide.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
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

struct run_hide_plan *
run_hide_prepare(const struct run_hide *what)
{
	struct run_hide_plan *plan = calloc(1, sizeof(*plan));
	size_t i;

	if (plan == NULL)
		return NULL;
	plan->what = *what;
	for (i = 0; i < RUN_HIDE_FILES && what->files[i] != NULL; i++)
		if (load(&plan->files[i], what->files[i]) != 0) {
			run_hide_release(plan);
			return NULL;
		}
	return plan;
}

void
run_hide_release(struct run_hide_plan *plan)
{
	size_t i;

	if (plan == NULL)
		return;
	for (i = 0; i < RUN_HIDE_FILES; i++)
		free(plan->files[i].bytes);
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

static const char *
fill(const struct run_hide_plan *plan, int socket)
{
	const struct run_hide *what = &plan->what;
	char empty[PATH_MAX];
	size_t i;
	int n;

	for (i = 0; i < RUN_HIDE_FILES && plan->files[i].path != NULL; i++)
		if (make_parents(what->home, plan->files[i].path) != 0 ||
		    put(plan->files[i].path, plan->files[i].bytes,
		    plan->files[i].len, O_CREAT | O_EXCL) != 0)
			return "files";
	if (make_parents(what->home, what->socket) != 0 ||
	    put(what->socket, "", 0, O_CREAT | O_EXCL) != 0 ||
	    bind_fd(socket, what->socket) != 0)
		return "agent.sock";
	if (what->mask == NULL || access(what->mask, F_OK) != 0 ||
	    strncmp(what->mask, what->home, strlen(what->home)) == 0)
		return NULL;
	n = snprintf(empty, sizeof(empty), "%s/empty", what->home);
	if (n < 0 || (size_t)n >= sizeof(empty) ||
	    put(empty, "", 0, O_CREAT | O_EXCL) != 0 ||
	    mount(empty, what->mask, NULL, MS_BIND, NULL) != 0)
		return "passphrase file";
	return NULL;
}

const char *
run_hide_apply(const struct run_hide_plan *plan)
{
	const struct run_hide *what = &plan->what;
	const char *step;
	int socket, error;

	if ((step = enter()) != NULL)
		return step;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return "private mounts";
	/* Only now: what is bound must be of this mount name space. */
	if ((socket = open(what->socket, O_PATH | O_CLOEXEC)) == -1)
		return "agent.sock";
	step = "tmpfs";
	if (mount("countersign", what->home, "tmpfs", FLAGS,
	    "mode=0755,size=8m") == 0) {
		step = fill(plan, socket);
		if (step == NULL && mount(NULL, what->home, NULL,
		    MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS, NULL) != 0)
			step = "read-only";
		error = errno;
		if (step != NULL)	/* half a home helps nobody */
			(void)umount2(what->home, MNT_DETACH);
		errno = error;
	}
	close(socket);
	return step;
}
