#include "ledger/anchor/anchors.h"
#include "ledger/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_CAP 160
#define TAIL (2 * NOTE_MAX)

bool
anchors_who_valid(const char *who)
{
	size_t n = strspn(who, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return n > 0 && n < ANCHORS_WHO_MAX && who[n] == '\0';
}

static int
cut_torn(int fd, off_t size)
{
	size_t start = size > TAIL ? (size_t)size - TAIL : 0;
	char *tail = malloc(TAIL);
	ssize_t n = tail != NULL ? io_read(fd, tail, TAIL, start) : -1;
	size_t end = n > 0 ? note_last_end(tail, (size_t)n) : 0;
	int status = n < 0 ? -1 : 0;

	if (status == 0 && (end > 0 || start == 0) &&
	    (off_t)(start + end) < size)
		status = io_truncate(fd, start + end);
	free(tail);
	return status;
}

int
anchors_open(int ledger_dirfd, struct problem *problem)
{
	int dirfd, fd, status = -1;
	off_t size;

	if (mkdirat(ledger_dirfd, ANCHORS_DIR, 0700) != 0 && errno != EEXIST)
		return problem_errno(problem, "cannot make " ANCHORS_DIR);
	dirfd = io_open(ledger_dirfd, ANCHORS_DIR, O_RDONLY | O_DIRECTORY, 0);
	if (dirfd < 0)
		return problem_errno(problem, "cannot open " ANCHORS_DIR);
	fd = io_open(dirfd, "cosigned", O_RDWR | O_CREAT, 0600);
	size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	if (size >= 0)
		status = cut_torn(fd, size);
	if (fd >= 0)
		close(fd);
	if (status == 0 && io_sync_all(dirfd) == 0)
		return dirfd;
	problem_errno(problem, "cannot write in " ANCHORS_DIR);
	close(dirfd);
	return -1;
}

static int
append(int dirfd, const char *entry, size_t len)
{
	int fd = io_open(dirfd, "cosigned", O_RDWR | O_CREAT, 0600);
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	int status = -1;

	if (end >= 0 && io_write(fd, entry, len, (uint64_t)end) == 0)
		status = io_sync(fd);
	if (status != 0 && end >= 0 && io_truncate(fd, (uint64_t)end) != 0)
		status = -1;	/* the next start cuts it */
	if (fd >= 0)
		close(fd);
	return status;
}

int
anchors_add_cosigned(int dirfd, const char *note, size_t len,
    struct problem *problem)
{
	char *entry = malloc(len + 1);
	int status = -1;

	if (entry == NULL)
		return problem_set(problem, "out of memory");
	memcpy(entry, note, len);
	entry[len] = '\n';
	if (append(dirfd, entry, len + 1) == 0 &&
	    io_replace(dirfd, "checkpoint", 0600, note, len) == 0)
		status = 0;
	else
		problem_errno(problem, "cannot keep a cosigned checkpoint");
	free(entry);
	return status;
}

int
anchors_add_stamp(int dirfd, uint64_t size, const char *who,
    const char *note, size_t note_len, const uint8_t *der, size_t der_len,
    struct problem *problem)
{
	char name[NAME_CAP];

	snprintf(name, sizeof(name), "%020" PRIu64 ".note", size);
	if (io_replace(dirfd, name, 0400, note, note_len) != 0)
		return problem_errno(problem, "cannot keep a stamped "
		    "checkpoint");
	snprintf(name, sizeof(name), "%020" PRIu64 ".%s.tsr", size, who);
	if (io_replace(dirfd, name, 0400, der, der_len) != 0)
		return problem_errno(problem, "cannot keep a time stamp");
	return 0;
}

/* <20 digits>.<who>.tsr */
static uint64_t
stamped_by(const char *name, const char *who)
{
	size_t n = strlen(who);

	if (strspn(name, "0123456789") != 20 || name[20] != '.' ||
	    strncmp(name + 21, who, n) != 0 ||
	    strcmp(name + 21 + n, ".tsr") != 0)
		return 0;
	return strtoull(name, NULL, 10);
}

uint64_t
anchors_stamped(int dirfd, const char *who)
{
	int fd = io_open(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	uint64_t latest = 0;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((entry = readdir(dir)) != NULL) {
		uint64_t size = stamped_by(entry->d_name, who);

		if (size > latest)
			latest = size;
	}
	closedir(dir);
	return latest;
}

int
anchors_put_recent(int dirfd, const char *text, size_t len,
    struct problem *problem)
{
	if (io_replace(dirfd, ANCHORS_RECENT, 0600, text, len) != 0)
		return problem_errno(problem, "cannot keep what was said last");
	return 0;
}

int
anchors_add_alarm(int dirfd, const char *who, const char *text, size_t len,
    struct problem *problem)
{
	char name[NAME_CAP];

	snprintf(name, sizeof(name), "alarm.%s", who);
	if (io_replace(dirfd, name, 0600, text, len) != 0)
		return problem_errno(problem, "cannot keep an alarm");
	return 0;
}

bool
anchors_alarmed(int dirfd, const char *who)
{
	char name[NAME_CAP];

	snprintf(name, sizeof(name), "alarm.%s", who);
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
