#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "ledger/bundle/archive.h"
#include "ledger/bundle/tar.h"
#include "ledger/io.h"

#define BLOCK 65536
#define LEVEL 9

struct writer {
	ZSTD_CCtx *zstd;
	int fd;
	uint64_t taken, put;	/* bytes into the frame, and out of it */
	char *err;
	size_t err_len;
	uint8_t in[BLOCK], out[BLOCK];
};

static int __attribute__((format(printf, 2, 3)))
fail(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w->err, w->err_len, format, args);
	va_end(args);
	return -1;
}

static int
put_out(struct writer *w, size_t len)
{
	size_t at = 0;
	ssize_t n;

	while (at < len) {
		n = write(w->fd, w->out + at, len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(w, "%s", strerror(errno));
		at += (size_t)n;
	}
	w->put += len;
	return 0;
}

/* No file that our own reader refuses. */
static int
too_small(struct writer *w)
{
	if (w->taken <= ARCHIVE_FREE_BYTES || w->taken / ARCHIVE_RATIO_MAX <= w->put)
		return 0;
	return fail(w, "it repeats itself so much that it would be packed to less than one "
	    "part in %d, which readers refuse: write a directory", ARCHIVE_RATIO_MAX);
}

/* Bytes into the frame, or its end. */
static int
squeeze(struct writer *w, const void *bytes, size_t len, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { bytes, len, 0 };
	ZSTD_outBuffer out;
	size_t left;

	do {
		out = (ZSTD_outBuffer){ w->out, sizeof(w->out), 0 };
		left = ZSTD_compressStream2(w->zstd, &out, &in, how);
		if (ZSTD_isError(left))
			return fail(w, "zstd: %s", ZSTD_getErrorName(left));
		if (put_out(w, out.pos) != 0)
			return -1;
	} while (how == ZSTD_e_end ? left != 0 : in.pos < in.size);
	w->taken += len;
	return too_small(w);
}

static int
put_zeros(struct writer *w, size_t len)
{
	static const uint8_t zeros[2 * TAR_BLOCK];

	return squeeze(w, zeros, len, ZSTD_e_continue);
}

static int
put_content(struct writer *w, int fd, const char *path, uint64_t size)
{
	uint64_t at = 0;
	ptrdiff_t n;

	while ((n = io_read(fd, w->in, sizeof(w->in), at)) > 0) {
		at += (uint64_t)n;
		if (at > size)
			break;
		if (squeeze(w, w->in, (size_t)n, ZSTD_e_continue) != 0)
			return -1;
	}
	if (n < 0)
		return fail(w, "%s: %s", path, strerror(errno));
	if (at != size)
		return fail(w, "%s: its length has changed", path);
	return put_zeros(w, tar_padding(size));
}

static int
put_file(struct writer *w, int dirfd, const char *path)
{
	struct tar_entry entry;
	uint8_t header[TAR_BLOCK];
	int fd, result;

	memset(&entry, 0, sizeof(entry));
	if ((fd = evidence_open(dirfd, path, &entry.size)) < 0)
		return fail(w, "%s: %s", path, strerror(errno));
	if (strlen(path) < sizeof(entry.path))
		memcpy(entry.path, path, strlen(path));
	if (entry.path[0] == '\0' || tar_compose(header, &entry) != 0)
		result = fail(w, "%s: too long a path for an archive", path);
	else if ((result = squeeze(w, header, sizeof(header), ZSTD_e_continue)) == 0)
		result = put_content(w, fd, path, entry.size);
	close(fd);
	return result;
}

static int
setup(struct writer *w)
{
	size_t bad;

	if ((w->zstd = ZSTD_createCCtx()) == NULL)
		return fail(w, "out of memory");
	bad = ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, LEVEL);
	if (!ZSTD_isError(bad))
		bad = ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	if (!ZSTD_isError(bad))
		bad = ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_windowLog, ARCHIVE_WINDOW_LOG - 1);
	return ZSTD_isError(bad) ? fail(w, "zstd: %s", ZSTD_getErrorName(bad)) : 0;
}

int
archive_write(int dirfd, const struct manifest *manifest, int fd, char *err,
    size_t err_len)
{
	struct writer *w = calloc(1, sizeof(*w));
	size_t i;
	int result = -1;

	if (w == NULL) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	w->fd = fd;
	w->err = err;
	w->err_len = err_len;
	if (setup(w) != 0 || put_file(w, dirfd, "manifest.json") != 0)
		goto out;
	for (i = 0; i < manifest->count; i++)
		if (put_file(w, dirfd, manifest->file[i].path) != 0)
			goto out;
	if (put_zeros(w, 2 * TAR_BLOCK) == 0)
		result = squeeze(w, NULL, 0, ZSTD_e_end);
out:
	ZSTD_freeCCtx(w->zstd);
	free(w);
	return result;
}
