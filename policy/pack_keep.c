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

/* dir/path, and the directories on the way; path has no ".." (pack_files). */
static int
write_file(const char *dir, const struct pack_file *file)
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
	char temp[PATH_MAX];
	int saved;
	size_t i;

	if (snprintf(temp, sizeof(temp), "%s/" UNFINISHED "XXXXXX",
	    parent) >=
	    (int)sizeof(temp) || mkdtemp(temp) == NULL)
		return -1;
	for (i = 0; i < pack->files.n; i++)
		if (write_file(temp, &pack->files.file[i]) != 0)
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
