#include "ledger/recorder/replay.h"
#include "ledger/io.h"
#include "ledger/recorder/segment.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TORN_MAX (64 * 1024 * 1024)

static int
write_aside(int dirfd, const char *name, const void *bytes, size_t len)
{
	int fd = io_open(dirfd, name, O_WRONLY | O_CREAT | O_EXCL, 0400);
	int status;

	if (fd < 0)
		return -1;
	status = io_write(fd, bytes, len, 0) == 0 && io_sync_all(fd) == 0 &&
	    io_sync_all(dirfd) == 0 ? 0 : -1;
	close(fd);
	return status;
}

static int
read_torn(const struct replay *replay, int dirfd, void *bytes)
{
	char name[SEGMENT_NAME_MAX];
	ssize_t n = -1;
	int fd;

	segment_name(name, replay->segment_first);
	fd = io_open(dirfd, name, O_RDONLY, 0);
	if (fd >= 0) {
		n = io_read(fd, bytes, (size_t)replay->torn_len,
		    replay->segment_size);
		close(fd);
	}
	return n == (ssize_t)replay->torn_len ? 0 : -1;
}

int
replay_set_aside(const struct replay *replay, int dirfd, int64_t time_us,
    struct replay_torn *torn, struct problem *problem)
{
	char time[RECORD_TIME_LEN];
	uint8_t *bytes;
	int status = -1;

	*torn = (struct replay_torn){ .len = replay->torn_len };
	if (torn->len == 0)
		return 0;
	if (torn->len > TORN_MAX)
		return problem_set(problem, "%" PRIu64 " bytes behind the last "
		    "whole record: no crash leaves that many", torn->len);
	record_time_format(time, time_us);
	snprintf(torn->file, sizeof(torn->file),
	    "recovered-%.4s%.2s%.2sT%.2s%.2s%.2s.%.6sZ-%" PRIu64, time,
	    time + 5, time + 8, time + 11, time + 14, time + 17, time + 20,
	    replay->tree.size);
	bytes = malloc((size_t)torn->len);
	if (bytes == NULL)
		return problem_set(problem, "out of memory");
	if (read_torn(replay, dirfd, bytes) != 0) {
		problem_errno(problem, "cannot read the torn end");
	} else if (write_aside(dirfd, torn->file, bytes,
	    (size_t)torn->len) != 0) {
		problem_errno(problem, "cannot write %s", torn->file);
	} else {
		crypto_hash_sha256(torn->sha256, bytes, torn->len);
		status = 0;
	}
	free(bytes);
	return status;
}
