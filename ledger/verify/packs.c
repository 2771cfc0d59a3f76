#define OPENSSL_SUPPRESS_DEPRECATED
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/sha.h>
#include <sodium.h>

#include "ledger/evidence/evidence.h"
#include "ledger/io.h"
#include "ledger/verify/load.h"
#include "ledger/verify/packs.h"
#include "ledger/verify/vouch.h"

#define HEX 64

/* ---- what records name ---- */

static int
find(const struct packs_named *named, const char *hex)
{
	unsigned i;

	for (i = 0; i < named->count; i++)
		if (memcmp(named->pack[i].hex, hex, HEX) == 0)
			return (int)i;
	return -1;
}

void
packs_note(struct packs_named *named, const struct record_line *record, bool ours)
{
	const char *hex = record->policy.ptr + 7;
	int i = (int)named->recent;

	if (named->count == 0 || memcmp(named->pack[i].hex, hex, HEX) != 0)
		i = find(named, hex);
	if (i < 0 && named->count == PACKS_NAMED_MAX) {
		named->more = true;
		return;
	}
	if (i < 0) {
		i = (int)named->count++;
		memcpy(named->pack[i].hex, hex, HEX);
	}
	named->recent = (unsigned)i;
	named->pack[i].ours |= ours;
}

bool
packs_is_named(const struct packs_named *named, const char *digest)
{
	return named->more || find(named, digest + 7) >= 0;
}

/* ---- the digest ---- */

struct files {
	char **path;
	size_t count;
};

static int
file_visit(void *context, const char *path, uint64_t size, int regular)
{
	struct files *files = context;
	char **more;

	(void)size;
	if (!regular) {
		errno = EINVAL;
		return -1;
	}
	if ((files->count & (files->count + 1)) == 0) {
		more = realloc(files->path, (2 * files->count + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		files->path = more;
	}
	if ((files->path[files->count] = strdup(path)) == NULL)
		return -1;
	files->count++;
	return 0;
}

static void
files_free(struct files *files)
{
	while (files->count > 0)
		free(files->path[--files->count]);
	free(files->path);
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All paths below dirfd, sorted as a whole: a walk goes directory by
 * directory, where "a/b" comes before "a-b". */
static int
files_list(int dirfd, struct files *files)
{
	if (evidence_walk(dirfd, file_visit, files) != 0)
		return -1;
	if (files->count > 1)
		qsort(files->path, files->count, sizeof(*files->path), by_path);
	return 0;
}

/* The file's bytes, which must be as many as its length says. */
static int
add_bytes(SHA256_CTX *sha, int fd, uint64_t size)
{
	char block[16384];
	uint64_t at = 0;
	ptrdiff_t n;

	while ((n = io_read(fd, block, sizeof(block), at)) > 0) {
		SHA256_Update(sha, block, (size_t)n);
		at += (uint64_t)n;
	}
	if (n == 0 && at != size)
		errno = EIO;
	return n == 0 && at == size ? 0 : -1;
}

static int
add_file(SHA256_CTX *sha, int dirfd, const char *path, size_t skip)
{
	uint8_t length[8];
	uint64_t size;
	unsigned i;
	int fd, result;

	if ((fd = evidence_open(dirfd, path, &size)) < 0)
		return -1;
	for (i = 0; i < 8; i++)
		length[i] = (uint8_t)(size >> (56 - 8 * i));
	SHA256_Update(sha, path + skip, strlen(path + skip) + 1);
	SHA256_Update(sha, length, sizeof(length));
	result = add_bytes(sha, fd, size);
	close(fd);
	return result;
}

/* Over files [i, end), whose paths count from behind the first skip bytes. */
static int
digest(int dirfd, const struct files *files, size_t i, size_t end, size_t skip,
    char hex[65])
{
	uint8_t md[SHA256_DIGEST_LENGTH];
	SHA256_CTX sha;

	SHA256_Init(&sha);
	for (; i < end; i++)
		if (add_file(&sha, dirfd, files->path[i], skip) != 0)
			return -1;
	SHA256_Final(md, &sha);
	sodium_bin2hex(hex, 65, md, sizeof(md));
	return 0;
}

int
packs_digest(int dirfd, char hex[65])
{
	struct files files = { NULL, 0 };
	int result = files_list(dirfd, &files);

	if (result == 0)
		result = digest(dirfd, &files, 0, files.count, 0, hex);
	files_free(&files);
	return result;
}

/* ---- a bundle's packs ---- */

struct check {
	int dirfd;		/* of packs/ */
	struct files files;
	struct packs_named *named;
	bool names;
	const struct verify_options *options;
	struct verify_result *result;
};

/* The file does not stand below a directory that is named by a digest. */
static bool
is_stray(const char *path)
{
	return strspn(path, "0123456789abcdef") != HEX || path[HEX] != '/';
}

static void
check_pack(struct check *c, size_t i, size_t end)
{
	const char *name = c->files.path[i];
	int at = find(c->named, name);
	char hex[65], path[80];

	if (at >= 0)
		c->named->pack[at].here = true;
	snprintf(path, sizeof(path), "packs/%.64s", name);
	if (digest(c->dirfd, &c->files, i, end, HEX + 1, hex) != 0)
		verify_of_file(verify_find(c->result, VERIFY_NOT_ESTABLISHED,
		    "unreadable_file", "%s: %s", path, strerror(errno)), path);
	else if (memcmp(hex, name, HEX) != 0)
		verify_of_file(verify_find(c->result, VERIFY_GAP, "pack_altered",
		    "pack altered: the files of %s have the digest %s", path, hex), path);
	else if (c->names && at < 0 && !c->named->more)
		verify_of_file(verify_find(c->result, VERIFY_NOT_ESTABLISHED,
		    "pack_unnamed", "no record names %s", path), path);
}

static void
stray(struct check *c, const char *name)
{
	char path[sizeof("packs/") + PATH_MAX];

	snprintf(path, sizeof(path), "packs/%s", name);
	verify_of_file(verify_find(c->result, VERIFY_NOT_ESTABLISHED, "pack_unnamed",
	    "%.206s: in no pack", path), path);
}

static void
check_all(struct check *c)
{
	size_t i, end;

	for (i = 0; i < c->files.count; i = end) {
		end = i + 1;
		if (is_stray(c->files.path[i])) {
			stray(c, vouch_shown(c->options, c->files.path[i]));
			continue;
		}
		while (end < c->files.count &&
		    strncmp(c->files.path[i], c->files.path[end], HEX + 1) == 0)
			end++;
		check_pack(c, i, end);
	}
}

static void
check_missing(const struct check *c)
{
	unsigned i;

	for (i = 0; c->names && i < c->named->count; i++)
		if (c->named->pack[i].ours && !c->named->pack[i].here)
			verify_find(c->result, VERIFY_NOT_ESTABLISHED, "pack_missing",
			    "pack missing: the run's records name sha256:%.64s",
			    c->named->pack[i].hex);
	if (c->names && c->named->more)
		verify_find(c->result, VERIFY_NOT_ESTABLISHED, "pack_missing",
		    "more than %u packs are named: not all were looked for",
		    PACKS_NAMED_MAX);
}

void
packs_check(int dirfd, struct packs_named *named, bool names,
    const struct verify_options *options, struct verify_result *result)
{
	struct check c = { .named = named, .names = names, .options = options,
	    .result = result };

	c.dirfd = openat(dirfd, "packs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c.dirfd < 0 && errno != ENOENT)
		verify_find(result, VERIFY_GAP, "not_a_file", "packs: %s", strerror(errno));
	if (c.dirfd >= 0 && files_list(c.dirfd, &c.files) != 0)
		verify_find(result, VERIFY_NOT_ESTABLISHED, "unreadable_file",
		    "packs cannot all be listed: %s", strerror(errno));
	else if (c.dirfd >= 0)
		check_all(&c);
	check_missing(&c);
	files_free(&c.files);
	if (c.dirfd >= 0)
		close(c.dirfd);
}
