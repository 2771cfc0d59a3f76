/* The reading half of archive.h: from a file that somebody else may have made. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <zstd.h>

#include "ledger/bundle/archive.h"
#include "ledger/bundle/tar.h"
#include "ledger/io.h"

#define BLOCK 65536

struct unpack {
	ZSTD_DCtx *zstd;
	int fd, dirfd;
	uint8_t in[BLOCK], out[BLOCK];
	ZSTD_inBuffer fresh;
	size_t have, at;		/* of out: filled, taken */
	uint64_t taken, made;		/* bytes of the file, and out of it */
	bool frame_end;
	struct manifest manifest;
	size_t next;			/* file of the manifest that is due */
	enum archive_status status;
	char *err;
	size_t err_len;
};

static int __attribute__((format(printf, 3, 4)))
stop(struct unpack *u, enum archive_status status, const char *format, ...)
{
	va_list args;

	u->status = status;
	va_start(args, format);
	vsnprintf(u->err, u->err_len, format, args);
	va_end(args);
	return -1;
}

/* ---- the bytes of the frame ---- */

static int
read_more(struct unpack *u)
{
	ssize_t n;

	do
		n = read(u->fd, u->in, sizeof(u->in));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return stop(u, ARCHIVE_TROUBLE, "%s", strerror(errno));
	if (n == 0)
		return stop(u, ARCHIVE_BAD, "cut: it ends within its zstd frame");
	u->fresh = (ZSTD_inBuffer){ u->in, (size_t)n, 0 };
	u->taken += (uint64_t)n;
	return 0;
}

static int
too_much(struct unpack *u)
{
	const uint64_t used = u->taken - (u->fresh.size - u->fresh.pos);

	if (u->made <= ARCHIVE_FREE_BYTES || u->made / ARCHIVE_RATIO_MAX <= used)
		return 0;
	return stop(u, ARCHIVE_BAD, "it grows to more than %d times its size, which no "
	    "evidence does", ARCHIVE_RATIO_MAX);
}

/* Fill out again; afterwards it holds something, or the frame has ended. */
static int
inflate_more(struct unpack *u)
{
	ZSTD_outBuffer out = { u->out, sizeof(u->out), 0 };
	size_t left;

	while (out.pos == 0 && !u->frame_end) {
		/* where out was full, zstd may still hold bytes of before */
		left = ZSTD_decompressStream(u->zstd, &out, &u->fresh);
		if (ZSTD_isError(left))
			return stop(u, ARCHIVE_BAD, "damaged: zstd: %s", ZSTD_getErrorName(left));
		u->frame_end = left == 0 && u->taken > 0;
		if (out.pos == 0 && !u->frame_end && u->fresh.pos == u->fresh.size &&
		    read_more(u) != 0)
			return -1;
	}
	u->have = out.pos;
	u->at = 0;
	u->made += out.pos;
	return too_much(u);
}

/* Up to len bytes that lie together; *got is 0 only at the frame's end. */
static int
take(struct unpack *u, size_t len, const uint8_t **bytes, size_t *got)
{
	if (u->at == u->have && inflate_more(u) != 0)
		return -1;
	*got = u->have - u->at < len ? u->have - u->at : len;
	*bytes = u->out + u->at;
	u->at += *got;
	return 0;
}

static int
take_block(struct unpack *u, uint8_t block[TAR_BLOCK])
{
	const uint8_t *bytes;
	size_t have = 0, got;

	while (have < TAR_BLOCK) {
		if (take(u, TAR_BLOCK - have, &bytes, &got) != 0)
			return -1;
		if (got == 0)
			return stop(u, ARCHIVE_BAD, "cut: its tar has no end");
		memcpy(block + have, bytes, got);
		have += got;
	}
	return 0;
}

/* ---- its files ---- */

/* Create path below dirfd, and the directories to it. */
static int
create(struct unpack *u, const char *path)
{
	char part[NAME_MAX + 1];
	const char *slash;
	int at = u->dirfd, next, fd = -1;

	while ((slash = strchr(path, '/')) != NULL && slash - path <= NAME_MAX) {
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		path = slash + 1;
		if (mkdirat(at, part, 0700) != 0 && errno != EEXIST)
			goto out;
		next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			goto out;
		if (at != u->dirfd)
			close(at);
		at = next;
	}
	fd = openat(at, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
out:
	if (at != u->dirfd)
		close(at);
	return fd;
}

static int
put(struct unpack *u, int fd, const uint8_t *bytes, size_t len)
{
	ssize_t n;

	for (; len > 0; bytes += n, len -= (size_t)n) {
		n = write(fd, bytes, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return stop(u, ARCHIVE_TROUBLE, "unpacking it: %s", strerror(errno));
	}
	return 0;
}

static int
take_zeros(struct unpack *u, unsigned len)
{
	const uint8_t *bytes;
	size_t got, i;

	while (len > 0) {
		if (take(u, len, &bytes, &got) != 0)
			return -1;
		if (got == 0)
			return stop(u, ARCHIVE_BAD, "cut: its tar ends within a file");
		for (i = 0; i < got; i++)
			if (bytes[i] != 0)
				return stop(u, ARCHIVE_BAD, "bytes hidden behind a file's end");
		len -= (unsigned)got;
	}
	return 0;
}

static int
take_file(struct unpack *u, const struct tar_entry *entry)
{
	uint64_t left = entry->size;
	const uint8_t *bytes;
	size_t got;
	int fd = create(u, entry->path), result = 0;

	if (fd < 0)
		return stop(u, errno == EEXIST || errno == ENOTDIR ? ARCHIVE_BAD :
		    ARCHIVE_TROUBLE, "%.200s: %s", entry->path, strerror(errno));
	while (left > 0 && result == 0) {
		result = take(u, left < BLOCK ? (size_t)left : BLOCK, &bytes, &got);
		if (result == 0 && got == 0)
			result = stop(u, ARCHIVE_BAD, "cut: its tar ends within %.200s",
			    entry->path);
		if (result == 0)
			result = put(u, fd, bytes, got);
		left -= result == 0 ? got : 0;
	}
	if (close(fd) != 0 && result == 0)
		result = stop(u, ARCHIVE_TROUBLE, "unpacking it: %s", strerror(errno));
	return result != 0 ? -1 : take_zeros(u, tar_padding(entry->size));
}

/* The manifest comes first, and from then on nothing that it does not say. */
static int
check_space(struct unpack *u)
{
	const struct manifest *m = &u->manifest;
	struct statvfs at;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < m->count; i++) {
		if (m->file[i].bytes >= TAR_SIZE_MAX || sum >= TAR_SIZE_MAX)
			return stop(u, ARCHIVE_BAD, "its manifest lists files too large to be");
		sum += m->file[i].bytes;
	}
	if (fstatvfs(u->dirfd, &at) == 0 && sum / at.f_frsize >= at.f_bavail)
		return stop(u, ARCHIVE_TROUBLE, "unpacking it takes %" PRIu64 " MiB, which "
		    "are not free ($TMPDIR says where)", sum >> 20);
	return 0;
}

static int
take_manifest(struct unpack *u, const struct tar_entry *entry)
{
	char why[160] = "it cannot be read", *text;
	size_t len;
	int result;

	if (strcmp(entry->path, "manifest.json") != 0)
		return stop(u, ARCHIVE_BAD, "its first file is not manifest.json");
	if (entry->size > MANIFEST_MAX)
		return stop(u, ARCHIVE_BAD, "manifest.json: too large to be one");
	if (take_file(u, entry) != 0)
		return -1;
	if ((text = evidence_read(u->dirfd, "manifest.json", MANIFEST_MAX, &len)) == NULL)
		return stop(u, ARCHIVE_TROUBLE, "manifest.json: %s", strerror(errno));
	result = manifest_parse(&u->manifest, text, len, why, sizeof(why));
	free(text);
	return result != 0 ? stop(u, ARCHIVE_BAD, "%s", why) : check_space(u);
}

static int
take_listed(struct unpack *u, const struct tar_entry *entry)
{
	const struct manifest_file *due;

	if (u->next == u->manifest.count)
		return stop(u, ARCHIVE_BAD, "%.200s: behind the last file of the manifest",
		    entry->path);
	due = &u->manifest.file[u->next++];
	if (strcmp(due->path, entry->path) != 0)
		return stop(u, ARCHIVE_BAD, "%.200s stands where the manifest has %.200s",
		    entry->path, due->path);
	if (due->bytes != entry->size)
		return stop(u, ARCHIVE_BAD, "%.200s: %" PRIu64 " bytes, %" PRIu64
		    " in the manifest", entry->path, entry->size, due->bytes);
	return take_file(u, entry);
}

/* The second block of zeros, the frame's end, the file's end. */
static int
take_end(struct unpack *u)
{
	uint8_t block[TAR_BLOCK];
	const uint8_t *bytes;
	size_t got;

	if (u->next != u->manifest.count)
		return stop(u, ARCHIVE_BAD, "cut: it ends before %.200s",
		    u->manifest.file[u->next].path);
	if (take_block(u, block) != 0)
		return -1;
	if (!tar_is_end(block) || take(u, 1, &bytes, &got) != 0 || got != 0)
		return u->status != ARCHIVE_GOOD ? -1 :
		    stop(u, ARCHIVE_BAD, "bytes hidden behind the end of its tar");
	if (u->fresh.pos != u->fresh.size || read(u->fd, block, 1) != 0)
		return stop(u, ARCHIVE_BAD, "bytes behind the end of its zstd frame");
	return 0;
}

static int
take_all(struct unpack *u)
{
	struct tar_entry entry;
	uint8_t block[TAR_BLOCK];
	const char *rule;
	bool first = true;

	for (;; first = false) {
		if (take_block(u, block) != 0)
			return -1;
		if (!first && tar_is_end(block))
			return take_end(u);
		if ((rule = tar_parse(&entry, block)) != NULL)
			return stop(u, ARCHIVE_BAD, "its tar holds %s%s%.200s", rule,
			    entry.path[0] != '\0' && manifest_path_clean(entry.path) ?
			    ": " : "", manifest_path_clean(entry.path) ? entry.path : "");
		if ((first ? take_manifest(u, &entry) : take_listed(u, &entry)) != 0)
			return -1;
	}
}

/* ---- the whole ---- */

static int
open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

bool
archive_is(const char *path)
{
	static const uint8_t magic[] = { 0x28, 0xb5, 0x2f, 0xfd };
	uint8_t begin[sizeof(magic)];
	int fd = open_regular(path);
	bool yes;

	if (fd < 0)
		return false;
	yes = io_read(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
	    memcmp(begin, magic, sizeof(magic)) == 0;
	close(fd);
	return yes;
}

static int
setup(struct unpack *u)
{
	if ((u->zstd = ZSTD_createDCtx()) == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(
	    u->zstd, ZSTD_d_windowLogMax, ARCHIVE_WINDOW_LOG)))
		return stop(u, ARCHIVE_TROUBLE, "out of memory");
	return 0;
}

enum archive_status
archive_unpack(const char *path, struct tempdir *tempdir, char *err, size_t err_len)
{
	struct unpack *u = calloc(1, sizeof(*u));
	enum archive_status status;

	*tempdir = (struct tempdir){ .dirfd = -1, .keep = -1, .sweeper = -1 };
	if (u == NULL) {
		snprintf(err, err_len, "out of memory");
		return ARCHIVE_TROUBLE;
	}
	u->err = err;
	u->err_len = err_len;
	if ((u->fd = open_regular(path)) < 0)
		stop(u, ARCHIVE_TROUBLE, "%s", strerror(errno));
	else if (tempdir_make(tempdir, err, err_len) != 0)
		u->status = ARCHIVE_TROUBLE;
	else if (u->dirfd = tempdir->dirfd, setup(u) == 0)
		(void)take_all(u);
	status = u->status;
	if (u->fd >= 0)
		close(u->fd);
	ZSTD_freeDCtx(u->zstd);
	manifest_free(&u->manifest);
	free(u);
	return status;
}
