#include "cli/run/run_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOUNTS_MAX 65536u

struct mount_point {
	unsigned long long id;
	unsigned major, minor;
	char *root;	/* within the file system */
	char *point;
};

struct run_mounts {
	struct mount_point *all;
	size_t n;
};

const char *
run_mounts_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1)	/* the root */
		return path[1] == '\0' ? "" : path;
	if (strncmp(path, dir, len) != 0 ||
	    (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path + len;
}

/* --- the table ------------------------------------------------------- */

/* Blank, tab, newline and backslash are written in octal. */
static void
unescape(char *text)
{
	char *out = text;

	for (; *text != '\0'; out++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
		    text[2] >= '0' && text[2] <= '7' && text[3] >= '0' &&
		    text[3] <= '7') {
			*out = (char)((text[1] - '0') * 64 +
			    (text[2] - '0') * 8 + (text[3] - '0'));
			text += 4;
		} else {
			*out = *text++;
		}
	}
	*out = '\0';
}

static int
read_line(struct run_mounts *mounts, const char *line)
{
	struct mount_point *all, one = { .id = 0 };

	if (mounts->n >= MOUNTS_MAX) {
		errno = E2BIG;
		return -1;
	}
	if (sscanf(line, "%llu %*u %u:%u %ms %ms", &one.id, &one.major,
	    &one.minor, &one.root, &one.point) != 5) {
		free(one.root);
		free(one.point);
		errno = EPROTO;
		return -1;
	}
	all = reallocarray(mounts->all, mounts->n + 1, sizeof(*all));
	if (all == NULL) {
		free(one.root);
		free(one.point);
		return -1;
	}
	unescape(one.root);
	unescape(one.point);
	mounts->all = all;
	all[mounts->n++] = one;
	return 0;
}

struct run_mounts *
run_mounts_read(void)
{
	struct run_mounts *mounts = calloc(1, sizeof(*mounts));
	FILE *in = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t cap = 0;
	int rc = mounts != NULL && in != NULL ? 0 : -1, error;

	while (rc == 0 && getline(&line, &cap, in) > 0)
		rc = read_line(mounts, line);
	error = errno;
	free(line);
	if (in != NULL)
		fclose(in);
	if (rc != 0) {
		run_mounts_free(mounts);
		mounts = NULL;
	}
	errno = error;
	return mounts;
}

void
run_mounts_free(struct run_mounts *mounts)
{
	size_t i;

	if (mounts == NULL)
		return;
	for (i = 0; i < mounts->n; i++) {
		free(mounts->all[i].root);
		free(mounts->all[i].point);
	}
	free(mounts->all);
	free(mounts);
}

/* --- names ----------------------------------------------------------- */

int
run_mounts_add(struct run_mounts_names *names, const char *path,
    const char *home)
{
	size_t i;

	if (run_mounts_within(path, home) != NULL)
		return 0;
	for (i = 0; i < names->n; i++)
		if (strcmp(names->path[i], path) == 0)
			return 0;
	if (names->n == RUN_MOUNTS_NAMES) {
		errno = E2BIG;
		return -1;
	}
	if ((names->path[names->n] = strdup(path)) == NULL)
		return -1;
	names->n++;
	return 0;
}

void
run_mounts_names_free(struct run_mounts_names *names)
{
	while (names->n > 0)
		free(names->path[--names->n]);
}

/* --- other names ----------------------------------------------------- */

#define NO_MOUNT UINT64_MAX

/* statx(2) says it too, since Linux 5.8 only. */
static unsigned long long
mount_of_fd(int fd)
{
	unsigned long long id = NO_MOUNT;
	char path[64], line[128];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if ((in = fopen(path, "re")) == NULL)
		return NO_MOUNT;
	while (id == NO_MOUNT && fgets(line, sizeof(line), in) != NULL)
		if (sscanf(line, "mnt_id: %llu", &id) != 1)
			id = NO_MOUNT;
	fclose(in);
	return id;
}

static unsigned long long
mount_of(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	unsigned long long id;

	if (fd == -1)
		return NO_MOUNT;
	id = mount_of_fd(fd);
	close(fd);
	return id;
}

static const struct mount_point *
find(const struct run_mounts *mounts, unsigned long long id)
{
	size_t i;

	for (i = 0; i < mounts->n; i++)
		if (mounts->all[i].id == id)
			return &mounts->all[i];
	return NULL;
}

bool
run_mounts_has(const struct run_mounts *mounts, int fd)
{
	return find(mounts, mount_of_fd(fd)) != NULL;
}

static bool
same_file(const char *a, const char *b)
{
	struct stat one, two;

	return stat(a, &one) == 0 && stat(b, &two) == 0 &&
	    one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

static int
join(char out[PATH_MAX], const char *dir, const char *rest)
{
	int n = snprintf(out, PATH_MAX, "%s%s",
	    dir[1] == '\0' && rest[0] != '\0' ? "" : dir, rest);

	if (n > 0 && n < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

/* path is called `inner` in its file system; is it, or a part, at this mount? */
static int
other(const struct mount_point *at, const char *path, const char *inner,
    const char *home, struct run_mounts_names *names)
{
	const char *rest = run_mounts_within(inner, at->root);
	char name[PATH_MAX];

	if (rest != NULL) {
		if (join(name, at->point, rest) != 0)
			return -1;
		if (strcmp(name, path) == 0 || !same_file(name, path))
			return 0;	/* something else is mounted there */
		return run_mounts_add(names, name, home);
	}
	if (run_mounts_within(at->root, inner) != NULL &&
	    mount_of(at->point) == at->id)
		return run_mounts_add(names, at->point, home);
	return 0;
}

static int
others_of(const struct run_mounts *mounts, const char *path, const char *home,
    struct run_mounts_names *names)
{
	const struct mount_point *own = find(mounts, mount_of(path));
	const char *rest;
	char inner[PATH_MAX];
	size_t i;

	rest = own != NULL ? run_mounts_within(path, own->point) : NULL;
	if (rest == NULL) {
		errno = ENOENT;
		return -1;
	}
	if (join(inner, own->root, rest) != 0)
		return -1;
	for (i = 0; i < mounts->n; i++)
		if (mounts->all[i].major == own->major &&
		    mounts->all[i].minor == own->minor && other(&mounts->all[i],
		    path, inner, home, names) != 0)
			return -1;
	return 0;
}

int
run_mounts_others(const struct run_mounts *mounts, const char *path,
    const char *home, struct run_mounts_names *names)
{
	const struct mount_point *at;
	size_t i;

	if (others_of(mounts, path, home, names) != 0)
		return -1;
	for (i = 0; i < mounts->n; i++) {
		at = &mounts->all[i];
		if (strcmp(at->point, path) != 0 &&
		    run_mounts_within(at->point, path) != NULL &&
		    mount_of(at->point) == at->id &&
		    others_of(mounts, at->point, home, names) != 0)
			return -1;
	}
	return 0;
}
