#include "reserve.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A pack that is kept has some 250 KB, the vault and data.json less. */
#define RESERVE_BYTES (1 << 20)
#define PLENTY (8ULL * RESERVE_BYTES)

static bool
name_it(const char *dir, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/reserve", dir);

	return n > 0 && n < PATH_MAX;
}

void
reserve_keep(const char *dir)
{
	char path[PATH_MAX];
	struct statvfs room;
	int fd;

	if (!name_it(dir, path) || access(path, F_OK) == 0 ||
	    statvfs(dir, &room) != 0 ||
	    (unsigned long long)room.f_bavail * room.f_frsize < PLENTY)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (fd == -1)
		return;
	if (posix_fallocate(fd, 0, RESERVE_BYTES) != 0)
		(void)unlink(path);
	close(fd);
}

bool
reserve_release(const char *dir)
{
	char path[PATH_MAX];

	return name_it(dir, path) && unlink(path) == 0;
}
