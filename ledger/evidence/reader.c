#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/evidence/evidence.h"
#include "ledger/evidence/reader.h"
#include "ledger/io.h"
#include "ledger/record/record_memo.h"
#include "ledger/tree/tree.h"

#define BUFFER (1024 * 1024)
#define FILES_MAX 65536
#define SEGMENT 65536		/* records of a full file */

struct file {
	char path[64];
	uint64_t first, bytes;
};

struct reader {
	int dirfd, fd;
	char *dir;			/* what dirfd was opened by */
	bool bundle;
	struct file *file;
	unsigned files, at;		/* at: the file being read */
	uint64_t index, line;		/* of the next record */
	uint64_t offset;		/* in the file, of buf[used] */
	uint64_t total;
	char *buf;
	size_t have, used;
	bool skipping;			/* within a line that is too long */
	struct record_memo memo;
};

static int
fail(char *err, size_t err_len, const char *what)
{
	snprintf(err, err_len, "%.200s: %s", what, errno == ELOOP ?
	    "a link, which evidence may not be" : strerror(errno));
	return -1;
}

/* ---- which files ---- */

static int
add_file(struct reader *r, const char *path, uint64_t first, uint64_t bytes)
{
	struct file *more;

	if (r->files == FILES_MAX)
		return -1;
	if ((r->files & (r->files + 1)) == 0) {
		more = realloc(r->file, (2 * (size_t)r->files + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		r->file = more;
	}
	more = &r->file[r->files++];
	memset(more, 0, sizeof(*more));
	snprintf(more->path, sizeof(more->path), "%s", path);
	more->first = first;
	more->bytes = bytes;
	r->total += bytes;
	return 0;
}

/* records-<20 digits>.jsonl */
static int
add_named(struct reader *r, const char *name)
{
	char digits[21];
	uint64_t bytes;
	int fd;

	if (strlen(name) != 34 || strncmp(name, "records-", 8) != 0 ||
	    strcmp(name + 28, ".jsonl") != 0 || strspn(name + 8, "0123456789") != 20)
		return 0;
	memcpy(digits, name + 8, 20);
	digits[20] = '\0';
	errno = 0;
	if ((fd = evidence_open(r->dirfd, name, &bytes)) < 0)
		return 0;	/* a link, a directory: none of the ledger's */
	close(fd);
	return add_file(r, name, strtoull(digits, NULL, 10), bytes);
}

static int
by_first(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Not what lies below: there may be many files of tiles. */
static int
list_ledger(struct reader *r, char *err, size_t err_len)
{
	const int fd = openat(r->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int bad = dir == NULL;

	while (!bad && (errno = 0, entry = readdir(dir)) != NULL)
		bad = add_named(r, entry->d_name) != 0;
	if (bad || errno != 0)
		fail(err, err_len, "the ledger's directory");
	bad = bad || errno != 0;
	if (dir != NULL)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (!bad && r->files > 1)
		qsort(r->file, r->files, sizeof(*r->file), by_first);
	return bad ? -1 : 0;
}

static int
list_bundle(struct reader *r, char *err, size_t err_len)
{
	struct tree_frontier frontier;
	uint64_t bytes;
	size_t len;
	char *text = evidence_read(r->dirfd, "ledger/frontier", TREE_TEXT_MAX, &len);
	int fd = evidence_open(r->dirfd, "ledger/records.jsonl", &bytes), result;

	if (fd < 0) {
		free(text);
		return fail(err, err_len, "ledger/records.jsonl");
	}
	close(fd);
	tree_frontier_init(&frontier);
	if (text != NULL && tree_frontier_parse(&frontier, text, len) != 0)
		tree_frontier_init(&frontier);	/* the verifier says so */
	free(text);
	result = add_file(r, "ledger/records.jsonl", frontier.size, bytes);
	return result == 0 ? 0 : fail(err, err_len, "ledger/records.jsonl");
}

static int
list(struct reader *r, char *err, size_t err_len)
{
	r->files = 0;
	r->total = 0;
	return r->bundle ? list_bundle(r, err, err_len) : list_ledger(r, err, err_len);
}

struct reader *
reader_open(const char *dir, char *err, size_t err_len)
{
	struct reader *r = calloc(1, sizeof(*r));
	char why[256] = "out of memory";

	if (r == NULL)
		goto bad;
	r->dirfd = r->fd = -1;
	if ((r->buf = malloc(BUFFER)) == NULL || (r->dir = strdup(dir)) == NULL)
		goto bad;
	if ((r->dirfd = evidence_dir(dir)) < 0) {
		snprintf(why, sizeof(why), "%s", strerror(errno));
		goto bad;
	}
	r->bundle = faccessat(r->dirfd, "ledger/records.jsonl", F_OK,
	    AT_SYMLINK_NOFOLLOW) == 0;
	if (list(r, why, sizeof(why)) != 0)
		goto bad;
	if (r->files == 0) {
		snprintf(why, sizeof(why), "neither a ledger (records-*.jsonl) nor a bundle");
		goto bad;
	}
	r->index = r->file[0].first;
	return r;
bad:
	snprintf(err, err_len, "%.200s: %s", dir, why);
	reader_close(r);
	return NULL;
}

void
reader_close(struct reader *r)
{
	if (r == NULL)
		return;
	if (r->fd >= 0)
		close(r->fd);
	if (r->dirfd >= 0)
		close(r->dirfd);
	free(r->file);
	free(r->buf);
	free(r->dir);
	free(r);
}

bool
reader_put_aside(const struct reader *r)
{
	struct stat opened, named;

	return fstat(r->dirfd, &opened) == 0 && (stat(r->dir, &named) != 0 ||
	    named.st_dev != opened.st_dev || named.st_ino != opened.st_ino);
}

uint64_t
reader_first(const struct reader *r)
{
	return r->file[0].first;
}

bool
reader_is_bundle(const struct reader *r)
{
	return r->bundle;
}

/* ---- lines ---- */

static void
go_to(struct reader *r, unsigned file)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	r->at = file;
	r->index = r->file[file].first;
	r->line = r->offset = 0;
	r->have = r->used = 0;
	r->skipping = false;
}

/* More bytes behind those that are not used yet; the count, or -1. */
static ptrdiff_t
fill(struct reader *r, char *err, size_t err_len)
{
	ptrdiff_t n;

	if (r->fd < 0 && (r->fd = evidence_open(r->dirfd, r->file[r->at].path, NULL)) < 0)
		return fail(err, err_len, r->file[r->at].path);
	memmove(r->buf, r->buf + r->used, r->have - r->used);
	r->have -= r->used;
	r->used = 0;
	n = io_read(r->fd, r->buf + r->have, BUFFER - r->have, r->offset + r->have);
	if (n < 0)
		return fail(err, err_len, r->file[r->at].path);
	r->have += (size_t)n;
	return n;
}

/* The file after this one, if there is one by now: 1, 0, or -1. */
static int
next_file(struct reader *r, char *err, size_t err_len)
{
	const uint64_t index = r->index;

	if (!r->bundle && r->at + 1 == r->files && list(r, err, err_len) != 0)
		return -1;
	if (r->at + 1 >= r->files)
		return 0;
	go_to(r, r->at + 1);
	if (r->index < index)
		r->index = index;	/* records that should not be there */
	return 1;
}

/* The rest of a line that is too long; what is not there yet comes later. */
static int
skip_long(struct reader *r, char *err, size_t err_len)
{
	const char *lf = NULL;
	ptrdiff_t n = 1;

	while (lf == NULL && n > 0) {
		lf = memchr(r->buf + r->used, '\n', r->have - r->used);
		n = lf == NULL ? (ptrdiff_t)(r->have - r->used) : lf - r->buf + 1 - (ptrdiff_t)r->used;
		r->offset += (uint64_t)n;
		r->used += (size_t)n;
		if (lf == NULL && (n = fill(r, err, err_len)) < 0)
			return -1;
	}
	r->skipping = lf == NULL;
	return 0;
}

static void
deliver(struct reader *r, struct reader_line *out, size_t len)
{
	uint8_t prev[RECORD_HASH_LEN];

	memset(out, 0, sizeof(*out));
	out->text = r->buf + r->used;
	out->len = len;
	out->index = r->index++;
	out->line = ++r->line;
	out->offset = r->offset;
	out->file = r->file[r->at].path;
	out->rule = record_memo_check(&r->memo, out->text, len, &out->record,
	    prev);
}

/* A whole line stands in the buffer: deliver it.  NULs are space taken ahead
 * by a ledger's writer, and no record yet. */
static bool
take(struct reader *r, struct reader_line *out, bool *nul)
{
	const char *p = r->buf + r->used, *lf;
	const size_t window = r->have - r->used <= RECORD_LINE_MAX ? r->have - r->used :
	    RECORD_LINE_MAX + 1;
	size_t len;

	lf = memchr(p, '\n', window);
	len = lf != NULL ? (size_t)(lf - p) : window;
	*nul = !r->bundle && memchr(p, '\0', len) != NULL;
	if (*nul || (lf == NULL && window <= RECORD_LINE_MAX))
		return false;
	deliver(r, out, lf != NULL ? len : RECORD_LINE_MAX);
	r->skipping = lf == NULL;
	if (r->skipping)
		out->rule = "it is longer than a record may be";
	r->offset += len + (lf != NULL);
	r->used += len + (lf != NULL);
	return true;
}

int
reader_next(struct reader *r, struct reader_line *out, char *err, size_t err_len)
{
	bool again = false, nul = false;
	ptrdiff_t n;
	int more;

	for (;;) {
		if (r->skipping && skip_long(r, err, err_len) != 0)
			return -1;
		if (!r->skipping && take(r, out, &nul))
			return 1;
		if (nul)	/* it may have been written since: look once more */
			r->have = r->used;
		if ((n = fill(r, err, err_len)) < 0)
			return -1;
		if (n > 0 && !(nul && again)) {
			again = nul;
			continue;
		}
		if ((more = next_file(r, err, err_len)) <= 0)
			return more;
		again = false;
	}
}

/* ---- places ---- */

int
reader_seek(struct reader *r, uint64_t index, char *err, size_t err_len)
{
	struct reader_line line;
	unsigned i = r->files - 1;
	int n = 1;

	while (i > 0 && r->file[i].first > index)
		i--;
	go_to(r, i);
	while (r->index < index && (n = reader_next(r, &line, err, err_len)) == 1)
		;
	if (n == -1)
		return -1;
	if (r->index == index)
		return 0;
	if (r->index == r->file[0].first)
		snprintf(err, err_len, "there is no record %llu, nor any other",
		    (unsigned long long)index);
	else
		snprintf(err, err_len, "there is no record %llu: records are %llu to %llu",
		    (unsigned long long)index, (unsigned long long)r->file[0].first,
		    (unsigned long long)(r->index - 1));
	return -1;
}

int
reader_seek_tail(struct reader *r, uint64_t n, char *err, size_t err_len)
{
	unsigned i;

	if (list(r, err, err_len) != 0 || r->files == 0)
		return -1;
	i = r->files - 1;
	/* the last file may have any number of records; those before are full */
	while (i > 0 && (uint64_t)(r->files - 1 - i) * SEGMENT < n)
		i--;
	go_to(r, i);
	return 0;
}

int
reader_seek_before(struct reader *r, uint64_t end, uint64_t *first, char *err,
    size_t err_len)
{
	unsigned i;

	if (end == UINT64_MAX && list(r, err, err_len) != 0)
		return -1;
	i = r->files;
	while (i > 0 && r->file[i - 1].first >= end)
		i--;
	if (i == 0)
		return 0;
	go_to(r, i - 1);
	*first = r->index;
	return 1;
}
