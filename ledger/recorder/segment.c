#include "ledger/recorder/segment.h"
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

void
segment_name(char out[SEGMENT_NAME_MAX], uint64_t first)
{
	snprintf(out, SEGMENT_NAME_MAX, "records-%020" PRIu64 ".jsonl", first);
}

/* The index that a name stands for; 0, or -1 for any other name. */
static int
parse_name(const char *name, uint64_t *first)
{
	char again[SEGMENT_NAME_MAX];
	uint64_t value;

	if (strlen(name) != 34 || strncmp(name, "records-", 8) != 0 ||
	    strspn(name + 8, "0123456789") != 20)
		return -1;
	errno = 0;
	value = strtoull(name + 8, NULL, 10);
	segment_name(again, value);
	if (errno != 0 || strcmp(name, again) != 0)
		return -1;
	*first = value;
	return 0;
}

int
segment_count(int dirfd, uint64_t *count, struct problem *problem)
{
	int fd = io_open(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	uint64_t first, found = 0, highest = 0;
	struct dirent *entry;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return problem_errno(problem, "cannot list the directory");
	}
	while ((entry = readdir(dir)) != NULL) {
		if (parse_name(entry->d_name, &first) != 0)
			continue;
		found++;
		if (first > highest)
			highest = first;
	}
	closedir(dir);
	*count = found;
	if (found > 0 && highest / SEGMENT_RECORDS != found - 1)
		return problem_set(problem, "%" PRIu64 " segments were found, "
		    "but the last one starts at record %" PRIu64
		    ": some are missing", found, highest);
	return 0;
}

static int
extend(struct segment *segment, uint64_t to)
{
	int error;

	if (to <= segment->allocated)
		return 0;
	if (io_allocate(segment->fd, segment->allocated,
	    to - segment->allocated) == 0) {
		segment->allocated = to;
		return 0;
	}
	/* Give back what a full disk granted in part. */
	error = errno;
	io_truncate(segment->fd, segment->allocated);
	errno = error;
	return -1;
}

int
segment_open(struct segment *segment, int dirfd, uint64_t first,
    uint64_t count, uint64_t size, uint64_t reserve, bool sync,
    struct problem *problem)
{
	char name[SEGMENT_NAME_MAX];

	*segment = (struct segment){ .dirfd = dirfd, .fd = -1, .next_fd = -1,
	    .first = first, .count = count, .size = size, .allocated = size,
	    .reserve = reserve, .sync = sync };
	segment_name(name, first);
	segment->fd = io_open(dirfd, name, O_RDWR | (count == 0 ? O_CREAT : 0),
	    0600);
	if (segment->fd < 0)
		return problem_errno(problem, "cannot open %s", name);
	if (io_truncate(segment->fd, size) != 0 ||
	    extend(segment, size + reserve + SEGMENT_STEP) != 0 ||
	    io_sync_all(segment->fd) != 0 || io_sync_all(dirfd) != 0) {
		problem_errno(problem, "no space taken in %s", name);
		segment_abandon(segment);
		return -1;
	}
	return 0;
}

/* The next segment under a name of its own, so that only a file with records
 * to come ever bears a segment's name. */
static int
make_next(struct segment *segment)
{
	uint64_t len = segment->reserve + SEGMENT_STEP;
	int fd;

	if (segment->next_fd >= 0)
		return 0;
	fd = io_open(segment->dirfd, SEGMENT_NEXT, O_RDWR | O_CREAT | O_TRUNC,
	    0600);
	if (fd < 0)
		return -1;
	if (io_allocate(fd, 0, len) != 0) {
		int error = errno;

		close(fd);
		unlinkat(segment->dirfd, SEGMENT_NEXT, 0);
		errno = error;
		return -1;
	}
	segment->next_fd = fd;
	segment->next_allocated = len;
	return 0;
}

/* An attempt to get space failed: for want of it, or worse. */
static enum segment_room
no_space(void)
{
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ?
	    SEGMENT_FULL : SEGMENT_ERROR;
}

enum segment_room
segment_room(struct segment *segment, uint64_t pending,
    uint64_t pending_count, uint64_t len, bool control)
{
	uint64_t places = SEGMENT_RECORDS - segment->count - pending_count;
	uint64_t end = segment->size + pending + len;
	uint64_t needed = end + (control ? 0 : segment->reserve);

	if (places <= (control ? 0 : SEGMENT_SPARE) && make_next(segment) != 0)
		return no_space();
	if (places == 0)
		return SEGMENT_ROLL;
	if (needed <= segment->allocated)
		return SEGMENT_ROOM;
	if (extend(segment, needed + SEGMENT_STEP) != 0 &&
	    extend(segment, needed) != 0)
		return no_space();
	return SEGMENT_ROOM;
}

int
segment_write(struct segment *segment, const char *lines, size_t len,
    uint64_t count)
{
	if (io_write(segment->fd, lines, len, segment->size) != 0)
		return -1;
	segment->size += len;
	segment->count += count;
	return 0;
}

/* Before the next segment has its name, this one is whole: so only the last
 * segment can ever end in NUL bytes. */
static int
finish(struct segment *segment)
{
	if (io_truncate(segment->fd, segment->size) != 0 ||
	    fchmod(segment->fd, 0400) != 0)
		return -1;
	return segment->sync ? io_sync_all(segment->fd) : 0;
}

int
segment_roll(struct segment *segment)
{
	char name[SEGMENT_NAME_MAX];

	segment_name(name, segment->first + SEGMENT_RECORDS);
	if (finish(segment) != 0 ||
	    io_rename(segment->dirfd, SEGMENT_NEXT, name) != 0 ||
	    (segment->sync && io_sync_all(segment->dirfd) != 0))
		return -1;
	close(segment->fd);
	segment->fd = segment->next_fd;
	segment->next_fd = -1;
	segment->first += SEGMENT_RECORDS;
	segment->count = 0;
	segment->size = 0;
	segment->allocated = segment->next_allocated;
	return 0;
}

static bool
wants_next(const struct segment *segment)
{
	return segment->next_fd < 0 &&
	    segment->count > SEGMENT_RECORDS / 4 * 3;
}

static bool
wants_more(const struct segment *segment)
{
	return segment->allocated < segment->size + segment->reserve +
	    SEGMENT_AHEAD - SEGMENT_STEP;
}

bool
segment_wants_space(const struct segment *segment)
{
	return wants_next(segment) || wants_more(segment);
}

/* 1: space was taken. */
static int
synced(const struct segment *segment, int fd)
{
	return !segment->sync || io_sync(fd) == 0 ? 1 : -1;
}

int
segment_prepare(struct segment *segment)
{
	if (wants_next(segment) && make_next(segment) == 0)
		return synced(segment, segment->next_fd);
	if (!wants_more(segment) ||
	    extend(segment, segment->allocated + SEGMENT_STEP) != 0)
		return 0;
	return synced(segment, segment->fd);
}

int
segment_close(struct segment *segment)
{
	int status;

	segment->sync = true;
	if (segment->count == SEGMENT_RECORDS)
		status = finish(segment);
	else if (io_truncate(segment->fd, segment->size) != 0)
		status = -1;
	else
		status = io_sync_all(segment->fd);
	if (segment->next_fd >= 0)
		unlinkat(segment->dirfd, SEGMENT_NEXT, 0);
	segment_abandon(segment);
	return status;
}

void
segment_abandon(struct segment *segment)
{
	if (segment->fd >= 0)
		close(segment->fd);
	if (segment->next_fd >= 0)
		close(segment->next_fd);
	segment->fd = segment->next_fd = -1;
}
