#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "policy/pack.h"

static int
fail(char *err, size_t err_len, const char *path, const char *what)
{
	if (err_len > 0)
		snprintf(err, err_len, "%s: %s", path, what);
	return -1;
}

/* Relative, no empty, "." or ".." part. */
static bool
path_ok(const char *path)
{
	const char *p = path;
	size_t n;

	if (strlen(path) >= PACK_PATH_MAX)
		return false;
	for (;;) {
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') ||
		    (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (p[n] == '\0')
			return true;
		p += n + 1;
	}
}

int
pack_files_add(struct pack_files *files, const char *path, char *bytes,
    size_t len, char *err, size_t err_len)
{
	struct pack_file *grown;
	const char *why = NULL;
	size_t cap;

	if (!path_ok(path))
		why = "not a path inside the pack";
	else if (files->n >= PACK_FILES_MAX)
		why = "too many files";
	else if (len > PACK_FILE_MAX - files->total)
		why = "the pack is too large";
	if (why == NULL && files->n == files->cap) {
		cap = files->cap < 16 ? 16 : files->cap * 2;
		grown = realloc(files->file, cap * sizeof(*grown));
		if (grown == NULL) {
			why = "out of memory";
		} else {
			files->file = grown;
			files->cap = cap;
		}
	}
	if (why == NULL &&
	    (files->file[files->n].path = strdup(path)) == NULL)
		why = "out of memory";
	if (why != NULL) {
		free(bytes);
		return fail(err, err_len, path, why);
	}
	files->file[files->n].bytes = bytes;
	files->file[files->n].len = len;
	files->n++;
	files->total += len;
	return 0;
}

static char *
read_all(int fd, size_t len)
{
	char *bytes = malloc(len + 1);
	size_t done = 0;
	ssize_t n;

	while (bytes != NULL && done < len) {
		n = read(fd, bytes + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(bytes);
			return NULL;
		}
		done += (size_t)n;
	}
	if (bytes != NULL)
		bytes[len] = '\0';
	return bytes;
}

static int
read_file(struct pack_files *files, int dir, const char *name,
    const char *path, char *err, size_t err_len)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK);
	struct stat st;
	char *bytes = NULL;
	const char *why = NULL;

	if (fd < 0)
		return fail(err, err_len, path, strerror(errno));
	if (fstat(fd, &st) != 0)
		why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (st.st_size < 0 || (size_t)st.st_size > PACK_FILE_MAX)
		why = "too large";
	else if ((bytes = read_all(fd, (size_t)st.st_size)) == NULL)
		why = "cannot be read whole";
	close(fd);
	if (why != NULL)
		return fail(err, err_len, path, why);
	return pack_files_add(files, path, bytes, (size_t)st.st_size, err,
	    err_len);
}

static bool
skipped(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* fd is taken over. */
static int
read_dir(struct pack_files *files, int fd, const char *prefix, unsigned depth,
    char *err, size_t err_len)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	char path[PACK_PATH_MAX];
	int sub, result = 0;

	if (dir == NULL) {
		close(fd);
		return fail(err, err_len, prefix, strerror(errno));
	}
	while (result == 0 && (entry = readdir(dir)) != NULL) {
		if (skipped(entry->d_name))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s%s%s", prefix,
		    *prefix != '\0' ? "/" : "", entry->d_name) >=
		    sizeof(path)) {
			result = fail(err, err_len, prefix, "path too long");
			break;
		}
		sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY |
		    O_CLOEXEC | O_NOFOLLOW);
		if (sub < 0)
			result = read_file(files, fd, entry->d_name, path, err,
			    err_len);
		else if (depth >= PACK_DEPTH_MAX) {
			close(sub);
			result = fail(err, err_len, path, "nested too deeply");
		} else
			result = read_dir(files, sub, path, depth + 1, err,
			    err_len);
	}
	closedir(dir);
	return result;
}

int
pack_files_read_dir(struct pack_files *files, const char *dir, char *err,
    size_t err_len)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail(err, err_len, dir, strerror(errno));
	return read_dir(files, fd, "", 0, err, err_len);
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct pack_file *)a)->path,
	    ((const struct pack_file *)b)->path);
}

void
pack_files_sort(struct pack_files *files)
{
	if (files->n > 1)
		qsort(files->file, files->n, sizeof(*files->file), by_path);
}

const struct pack_file *
pack_files_find(const struct pack_files *files, const char *path)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		if (strcmp(files->file[i].path, path) == 0)
			return &files->file[i];
	return NULL;
}

/* For each file in order of path: path, 0, length (8 bytes, big endian),
 * bytes. */
void
pack_files_digest(const struct pack_files *files,
    char digest[POLICY_DIGEST_LEN + 1])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char md[32] = { 0 }, length[8];
	size_t i, k;
	bool ok;

	ok = ctx != NULL && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;
	for (i = 0; ok && i < files->n; i++) {
		const struct pack_file *f = &files->file[i];

		for (k = 0; k < 8; k++)
			length[k] = (unsigned char)((uint64_t)f->len >>
			    (56 - 8 * k));
		ok = EVP_DigestUpdate(ctx, f->path, strlen(f->path) + 1) == 1
		    && EVP_DigestUpdate(ctx, length, sizeof(length)) == 1 &&
		    EVP_DigestUpdate(ctx, f->bytes, f->len) == 1;
	}
	ok = ok && EVP_DigestFinal_ex(ctx, md, NULL) == 1;
	EVP_MD_CTX_free(ctx);
	digest[0] = '\0';
	if (!ok)
		return;
	memcpy(digest, "sha256:", 8);
	for (i = 0; i < sizeof(md); i++)
		snprintf(digest + 7 + 2 * i, 3, "%02x", md[i]);
}

void
pack_files_free(struct pack_files *files)
{
	size_t i;

	for (i = 0; i < files->n; i++) {
		free(files->file[i].path);
		free(files->file[i].bytes);
	}
	free(files->file);
	memset(files, 0, sizeof(*files));
}
