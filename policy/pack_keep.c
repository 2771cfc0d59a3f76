/* Packs written to disk, by their digest. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/pack.h"

#define UNFINISHED ".new."	/* and six characters of mkdtemp() */

static int
write_all(int fd, const char *p, size_t n)
{
	ssize_t done;

	while (n > 0) {
		done = write(fd, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return fsync(fd);
}

/* --- what the pack kept last has, too ---------------------------------- */

static bool
is_kept(const char *name)
{
	return strlen(name) == POLICY_DIGEST_LEN - 7 &&
	    strspn(name, "0123456789abcdef") == POLICY_DIGEST_LEN - 7;
}

/* Of those in parent the one that was in force last; "" where there is none. */
static void
find_last(const char *parent, char *last, size_t cap)
{
	DIR *list = opendir(parent);
	struct timespec newest = { 0, 0 };
	struct dirent *entry;
	struct stat st;

	last[0] = '\0';
	while (list != NULL && (entry = readdir(list)) != NULL) {
		if (!is_kept(entry->d_name) || fstatat(dirfd(list), entry->d_name,
		    &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
		    st.st_mtim.tv_sec < newest.tv_sec ||
		    (st.st_mtim.tv_sec == newest.tv_sec &&
		    st.st_mtim.tv_nsec < newest.tv_nsec))
			continue;
		newest = st.st_mtim;
		if (snprintf(last, cap, "%s/%s", parent, entry->d_name) >= (int)cap)
			last[0] = '\0';
	}
	if (list != NULL)
		closedir(list);
}

/* Ours, as we would write it, and nothing else. */
static bool
is_same(int fd, const struct pack_file *file)
{
	char buf[16384];
	struct stat st;
	size_t at = 0;
	ssize_t n = 0;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || (st.st_mode & 07777) != 0600 ||
	    st.st_size < 0 || (size_t)st.st_size != file->len)
		return false;
	while (at < file->len && (n = read(fd, buf, sizeof(buf))) > 0) {
		if ((size_t)n > file->len - at ||
		    memcmp(buf, file->bytes + at, (size_t)n) != 0)
			return false;
		at += (size_t)n;
	}
	return at == file->len;
}

/* Most files of a pack are those of the one before: the second name of the same
 * file costs nothing.  Looked at behind the link, which is nobody else's, so that it
 * cannot become another meanwhile.  False: it is to be written. */
static bool
link_file(const char *last, const char *path, const struct pack_file *file)
{
	char from[PATH_MAX];
	bool same;
	int fd;

	if (last[0] == '\0' || snprintf(from, sizeof(from), "%s/%s", last,
	    file->path) >= (int)sizeof(from) || link(from, path) != 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	same = fd >= 0 && is_same(fd, file) && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	if (!same)
		(void)unlink(path);
	return same;
}

/* --- all of them -------------------------------------------------------- */

/* dir/path, and the directories on the way; path has no ".." (pack_files).  last:
 * the pack kept before, or "". */
static int
write_file(const char *dir, const char *last, const struct pack_file *file)
{
	char path[PATH_MAX], *slash;
	int fd, result;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file->path) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (slash = path + strlen(dir) + 1;
	    (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	if (link_file(last, path, file))
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (fd < 0)
		return -1;
	result = write_all(fd, file->bytes, file->len);
	return close(fd) == 0 ? result : -1;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void
remove_tree(const char *dir)
{
	(void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int
sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = fd < 0 ? -1 : fsync(fd);

	if (fd >= 0)
		close(fd);
	return result;
}

/* All of it or nothing: written beside, then renamed. */
static int
write_pack(const struct policy_pack *pack, const char *parent,
    const char *final)
{
	char temp[PATH_MAX], last[PATH_MAX];
	int saved;
	size_t i;

	find_last(parent, last, sizeof(last));
	if (snprintf(temp, sizeof(temp), "%s/" UNFINISHED "XXXXXX",
	    parent) >=
	    (int)sizeof(temp) || mkdtemp(temp) == NULL)
		return -1;
	for (i = 0; i < pack->files.n; i++)
		if (write_file(temp, last, &pack->files.file[i]) != 0)
			break;
	if (i == pack->files.n && sync_dir(temp) == 0 &&
	    rename(temp, final) == 0)
		return sync_dir(parent);
	saved = errno;
	remove_tree(temp);
	errno = saved;
	/* Somebody else was faster, with the same. */
	return saved == EEXIST || saved == ENOTEMPTY ? 0 : -1;
}

int
policy_pack_keep(const struct policy_pack *pack, const char *dir, char *err,
    size_t err_len)
{
	char final[PATH_MAX];

	if ((mkdir(dir, 0700) != 0 && errno != EEXIST) ||
	    snprintf(final, sizeof(final), "%s/%s", dir, pack->digest + 7) >=
	    (int)sizeof(final))
		goto fail;
	/* Its time says that it was in force: whoever collects a run's
	 * evidence goes by it. */
	if (utimensat(AT_FDCWD, final, NULL, 0) == 0 ||
	    (errno == ENOENT && write_pack(pack, dir, final) == 0))
		return 0;
fail:
	snprintf(err, err_len, "%s: the pack cannot be kept there: %s", dir,
	    strerror(errno));
	return -1;
}

void
policy_packs_tidy(const char *dir)
{
	DIR *list = opendir(dir);
	struct dirent *entry;
	char path[PATH_MAX];

	while (list != NULL && (entry = readdir(list)) != NULL) {
		if (strncmp(entry->d_name, UNFINISHED,
		    sizeof(UNFINISHED) - 1) == 0 &&
		    strlen(entry->d_name) == sizeof(UNFINISHED) - 1 + 6 &&
		    snprintf(path, sizeof(path), "%s/%s", dir,
		    entry->d_name) < (int)sizeof(path))
			remove_tree(path);
	}
	if (list != NULL)
		closedir(list);
}
