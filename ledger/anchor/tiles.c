#include "ledger/anchor/tiles.h"
#include "ledger/io.h"
#include "ledger/record/record.h"
#include "ledger/recorder/segment.h"
#include "ledger/tree/hashes.h"
#include "ledger/tree/note.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEVELS 8
#define BLOCK (256 * 1024)	/* bytes of records read at a time */

/* ---- names ---- */

/* A number of at most three digits in its shortest form; NULL: none. */
static const char *
read_small(const char *p, unsigned most, unsigned *out)
{
	unsigned value = 0;
	const char *from = p;

	while (*p >= '0' && *p <= '9' && p - from < 3)
		value = value * 10 + (unsigned)(*p++ - '0');
	if (p == from || (*from == '0' && p - from > 1) || value > most)
		return NULL;
	*out = value;
	return p;
}

static bool
three_digits(const char *p, uint64_t *value)
{
	for (int i = 0; i < 3; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
		*value = *value * 10 + (uint64_t)(p[i] - '0');
	}
	return true;
}

/* Groups of three digits; the first is not x000, which would be another way to
 * write the same number. */
static const char *
read_index(const char *p, uint64_t *index)
{
	*index = 0;
	if (strncmp(p, "x000/", 5) == 0)
		return NULL;
	for (int groups = 0; groups < 6; groups++) {
		if (*p != 'x')
			return three_digits(p, index) ? p + 3 : NULL;
		if (!three_digits(p + 1, index) || p[4] != '/')
			return NULL;
		p += 5;
	}
	return NULL;
}

int
tiles_name_parse(struct tiles_name *name, const char *path)
{
	const char *p = path;

	*name = (struct tiles_name){ .width = TILES_WIDTH };
	if (strncmp(p, "entries/", 8) == 0) {
		name->entries = true;
		p += 7;
	} else if ((p = read_small(p, LEVELS - 1, &name->level)) == NULL) {
		return -1;
	}
	if (*p != '/' || (p = read_index(p + 1, &name->index)) == NULL)
		return -1;
	if (strncmp(p, ".p/", 3) == 0 && ((p = read_small(p + 3,
	    TILES_WIDTH - 1, &name->width)) == NULL || name->width == 0))
		return -1;
	return *p == '\0' ? 0 : -1;
}

static void
index_format(uint64_t index, char out[TILES_PATH_MAX])
{
	char copy[TILES_PATH_MAX];

	snprintf(out, TILES_PATH_MAX, "%03u", (unsigned)(index % 1000));
	while ((index /= 1000) > 0) {
		snprintf(copy, sizeof(copy), "%s", out);
		snprintf(out, TILES_PATH_MAX, "x%03u/%.32s",
		    (unsigned)(index % 1000), copy);
	}
}

int
tiles_name_format(const struct tiles_name *name, char *out, size_t cap)
{
	char index[TILES_PATH_MAX], level[16] = "entries", part[16] = "";
	int n;

	index_format(name->index, index);
	if (!name->entries)
		snprintf(level, sizeof(level), "%u", name->level);
	if (name->width < TILES_WIDTH)
		snprintf(part, sizeof(part), ".p/%u", name->width);
	n = snprintf(out, cap, "%s/%s%s", level, index, part);
	return n >= 0 && (size_t)n < cap ? n : -1;
}

/* ---- records ---- */

struct bundle {
	uint8_t *bytes;
	size_t len, cap;
	uint64_t skip, want;	/* lines before it, lines in it */
};

static int
take_line(struct bundle *bundle, const char *line, size_t len)
{
	uint8_t *more;

	if (len > RECORD_LINE_MAX)
		return -1;
	if (bundle->bytes == NULL || bundle->cap - bundle->len < len + 2) {
		bundle->cap += len + 2 + BLOCK;
		if ((more = realloc(bundle->bytes, bundle->cap)) == NULL)
			return -1;
		bundle->bytes = more;
	}
	bundle->bytes[bundle->len++] = (uint8_t)(len >> 8);
	bundle->bytes[bundle->len++] = (uint8_t)len;
	memcpy(bundle->bytes + bundle->len, line, len);
	bundle->len += len;
	bundle->want--;
	return 0;
}

/* Whole lines at the start of block; the bytes they take, or -1. */
static ptrdiff_t
take_lines(struct bundle *bundle, const char *block, size_t len)
{
	const char *at = block, *lf;

	while (bundle->want > 0 &&
	    (lf = memchr(at, '\n', len - (size_t)(at - block))) != NULL) {
		if (bundle->skip > 0)
			bundle->skip--;
		else if (take_line(bundle, at, (size_t)(lf - at)) != 0)
			return -1;
		at = lf + 1;
	}
	return at - block;
}

static int
collect(struct bundle *bundle, int fd, char *block)
{
	uint64_t at = 0;

	while (bundle->want > 0) {
		ssize_t n = io_read(fd, block, BLOCK, at);
		ptrdiff_t used = n > 0 ? take_lines(bundle, block,
		    (size_t)n) : -1;

		if (used <= 0)
			return -1;
		at += (uint64_t)used;
	}
	return 0;
}

/* A segment has no table of its lines: they are counted from its start. */
static uint8_t *
read_entries(int dirfd, const struct tiles_name *name, size_t *len)
{
	uint64_t index = name->index * TILES_WIDTH;
	uint64_t first = index - index % SEGMENT_RECORDS;
	struct bundle bundle = { .skip = index - first, .want = name->width };
	char file[SEGMENT_NAME_MAX], *block = malloc(BLOCK);
	int fd, status = -1;

	segment_name(file, first);
	fd = io_open(dirfd, file, O_RDONLY, 0);
	if (fd >= 0 && block != NULL)
		status = collect(&bundle, fd, block);
	if (fd >= 0)
		close(fd);
	free(block);
	if (status != 0) {
		free(bundle.bytes);
		return NULL;
	}
	*len = bundle.len;
	return bundle.bytes;
}

/* ---- tiles ---- */

static bool
within(const struct tiles_name *name, uint64_t size)
{
	uint64_t nodes = size >> (8 * name->level);

	return name->index <= UINT64_MAX / TILES_WIDTH &&
	    name->index * TILES_WIDTH < nodes &&
	    nodes - name->index * TILES_WIDTH >= name->width;
}

static uint8_t *
read_hashes(int dirfd, uint64_t size, const struct tiles_name *name,
    size_t *len)
{
	struct hashes_reader reader = { .dirfd = dirfd, .size = size };
	uint8_t *bytes = malloc(TILES_WIDTH * TREE_HASH_LEN);

	if (bytes != NULL && hashes_tile(&reader, name->level, name->index,
	    name->width, bytes) != 0) {
		free(bytes);
		return NULL;
	}
	*len = (size_t)name->width * TREE_HASH_LEN;
	return bytes;
}

uint8_t *
tiles_read(int dirfd, uint64_t size, const struct tiles_name *name,
    size_t *len, struct problem *problem)
{
	uint8_t *bytes;

	*len = 0;
	if (!within(name, size)) {
		problem_set(problem, "the tree of %" PRIu64 " records that is "
		    "signed has no such tile", size);
		return NULL;
	}
	bytes = name->entries ? read_entries(dirfd, name, len) :
	    read_hashes(dirfd, size, name, len);
	if (bytes == NULL)
		problem_set(problem, "the hashes beside the records are not "
		    "whole; the next start of the daemon makes them again");
	return bytes;
}

/* ---- publishing ---- */

struct publisher {
	int dirfd, out;
	uint64_t size, written;
	struct problem *problem;
};

static int
make_parents(int out, char *path)
{
	for (char *slash = strchr(path, '/'); slash != NULL;
	    slash = strchr(slash + 1, '/')) {
		int made;

		*slash = '\0';
		made = mkdirat(out, path, 0755);
		*slash = '/';
		if (made != 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

/* Whole or not at all: written beside and renamed. */
static int
put_file(int out, const char *path, const void *bytes, size_t len)
{
	return io_write_new(out, ".next", 0644, bytes, len) == 0 ?
	    io_rename(out, ".next", path) : -1;
}

static int
put_tile(struct publisher *p, const struct tiles_name *name)
{
	char path[TILES_PATH_MAX + 8] = "tile/";
	struct stat st;
	uint8_t *bytes;
	size_t len;
	int status;

	if (tiles_name_format(name, path + 5, TILES_PATH_MAX) < 0)
		return problem_set(p->problem, "a tile's name is too long");
	if (fstatat(p->out, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	bytes = tiles_read(p->dirfd, p->size, name, &len, p->problem);
	if (bytes == NULL)
		return -1;
	status = make_parents(p->out, path) == 0 &&
	    put_file(p->out, path, bytes, len) == 0 ? 0 : -1;
	free(bytes);
	if (status != 0)
		return problem_errno(p->problem, "cannot write %s", path);
	p->written++;
	return 0;
}

/* A level's full tiles, and the partial one at its end. */
static int
put_level(struct publisher *p, unsigned level, bool entries)
{
	uint64_t nodes = p->size >> (8 * level);
	struct tiles_name name = { .entries = entries, .level = level,
	    .width = TILES_WIDTH };

	for (; name.index < nodes / TILES_WIDTH; name.index++) {
		if (put_tile(p, &name) != 0)
			return -1;
	}
	name.width = (unsigned)(nodes % TILES_WIDTH);
	return name.width > 0 ? put_tile(p, &name) : 0;
}

/* 0; 1: there is none; or -1 with a problem. */
static int
read_checkpoint(int dirfd, char text[NOTE_MAX], ssize_t *len, struct checkpoint *at,
    struct problem *problem)
{
	const char *why = "";
	struct note note;

	*len = io_read_file(dirfd, "checkpoint", text, NOTE_MAX);
	if (*len < 0)
		return errno == ENOENT ? 1 : problem_errno(problem, "cannot read checkpoint");
	if (note_parse(&note, text, (size_t)*len, &why) != 0 ||
	    checkpoint_parse(at, note.text, note.text_len) != 0)
		return problem_set(problem, "checkpoint is malformed");
	return 0;
}

/* What was published there is of this history: else its tiles, which are left alone, would
 * stand beside a checkpoint that is not theirs. */
static int
check_published(const struct publisher *p, const struct checkpoint *at)
{
	struct hashes_reader reader = { .dirfd = p->dirfd, .size = at->size };
	struct tree_source source = hashes_source(&reader);
	char text[NOTE_MAX];
	uint8_t root[TREE_HASH_LEN];
	struct checkpoint there = { .size = 0 };
	ssize_t len;
	int status = read_checkpoint(p->out, text, &len, &there, p->problem);

	if (status == 1)
		return 0;
	if (status == 0 && strcmp(there.origin, at->origin) == 0 && there.size <= at->size &&
	    tree_root(&source, there.size, root) == 0 &&
	    memcmp(root, there.root, sizeof(root)) == 0)
		return 0;
	return problem_set(p->problem, "another history was published there: take an empty "
	    "directory for this one");
}

int
tiles_publish(int dirfd, int out, bool entries, uint64_t *written,
    struct problem *problem)
{
	struct publisher p = { .dirfd = dirfd, .out = out,
	    .problem = problem };
	struct checkpoint checkpoint = { .size = 0 };
	char *text = malloc(NOTE_MAX);
	ssize_t len = 0;
	int status = -1;

	*written = 0;
	if (text == NULL)
		return problem_set(problem, "out of memory");
	status = read_checkpoint(dirfd, text, &len, &checkpoint, problem);
	if (status == 1)
		status = problem_set(problem, "the ledger has no checkpoint");
	if (status == 0)
		status = check_published(&p, &checkpoint);
	if (status == 0) {
		p.size = checkpoint.size;
		status = entries ? put_level(&p, 0, true) : 0;
		for (unsigned level = 0; status == 0 && level < LEVELS &&
		    p.size >> (8 * level) > 0; level++)
			status = put_level(&p, level, false);
		if (status == 0 && put_file(out, "checkpoint", text,
		    (size_t)len) != 0)
			status = problem_errno(problem, "cannot write checkpoint");
	}
	*written = p.written;
	free(text);
	return status;
}
