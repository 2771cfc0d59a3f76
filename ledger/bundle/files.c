#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/bundle/impl.h"
#include "ledger/io.h"

#define COPY_BLOCK 65536

int
bundle_fail(struct bundle *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(b->err, b->err_len, format, args);
	va_end(args);
	return -1;
}

static int
make_dirs(struct bundle *b, const char *path)
{
	char part[EVIDENCE_PATH_MAX];
	const char *slash;

	for (slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdirat(b->dirfd, part, 0700) != 0 && errno != EEXIST)
			return bundle_fail(b, "%s: %s", part, strerror(errno));
	}
	return 0;
}

FILE *
bundle_create(struct bundle *b, const char *path)
{
	FILE *file;
	int fd;

	if (make_dirs(b, path) != 0)
		return NULL;
	fd = openat(b->dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || (file = fdopen(fd, "w")) == NULL) {
		bundle_fail(b, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	return file;
}

int
bundle_finish(struct bundle *b, FILE *file, const char *path)
{
	int bad = ferror(file) || fflush(file) != 0 || fsync(fileno(file)) != 0;

	if (bad)
		bundle_fail(b, "%s: %s", path, strerror(errno));
	if (fclose(file) != 0 && !bad)
		return bundle_fail(b, "%s: %s", path, strerror(errno));
	return bad ? -1 : 0;
}

int
bundle_put(struct bundle *b, const char *path, const char *text, size_t len)
{
	FILE *file = bundle_create(b, path);

	if (file == NULL)
		return -1;
	fwrite(text, 1, len, file);
	return bundle_finish(b, file, path);
}

int
bundle_copy(struct bundle *b, int from_dir, const char *from, const char *to)
{
	char block[COPY_BLOCK];
	uint64_t at = 0;
	ptrdiff_t n;
	FILE *file;
	int fd;

	if ((fd = evidence_open(from_dir, from, NULL)) < 0)
		return bundle_fail(b, "%s: %s", from, strerror(errno));
	if ((file = bundle_create(b, to)) == NULL) {
		close(fd);
		return -1;
	}
	while ((n = io_read(fd, block, sizeof(block), at)) > 0) {
		fwrite(block, 1, (size_t)n, file);
		at += (uint64_t)n;
	}
	if (n < 0)
		bundle_fail(b, "%s: %s", from, strerror(errno));
	close(fd);
	return bundle_finish(b, file, to) != 0 || n < 0 ? -1 : 0;
}

struct copy {
	struct bundle *b;
	int from;
	const char *under;
};

static int
copy_visit(void *context, const char *path, uint64_t size, int regular)
{
	struct copy *copy = context;
	char to[2 * EVIDENCE_PATH_MAX];

	(void)size;
	if (!regular)
		return bundle_fail(copy->b, "%s: not a regular file", path);
	snprintf(to, sizeof(to), "%s/%s", copy->under, path);
	if (strlen(to) >= EVIDENCE_PATH_MAX)
		return bundle_fail(copy->b, "%s: too long a path", path);
	return bundle_copy(copy->b, copy->from, path, to);
}

int
bundle_copy_tree(struct bundle *b, const char *from, const char *under)
{
	struct copy copy = { b, evidence_dir(from), under };
	int result = -1;

	snprintf(b->err, b->err_len, "%.300s: cannot be read", from);
	if (copy.from >= 0) {
		result = evidence_walk(copy.from, copy_visit, &copy);
		close(copy.from);
	}
	return result == 0 ? 0 : -1;
}
