#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "policy/bundle.h"

#define BLOCK 512

static int
fail(char *err, size_t err_len, const char *where, const char *what)
{
	if (err_len > 0)
		snprintf(err, err_len, "%s: %s", where, what);
	return -1;
}

/* --- gzip ------------------------------------------------------------- */

/* All of it, or NULL; never more than the largest pack. */
static char *
inflate_all(const void *bytes, size_t len, size_t *out_len)
{
	z_stream z = { 0 };
	size_t cap = 65536, n = 0;
	char *out = NULL, *grown;
	int rc = Z_OK;

	if (len > BUNDLE_COMPRESSED_MAX || inflateInit2(&z, 15 + 16) != Z_OK)
		return NULL;
	z.next_in = (Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)len;
	while (rc == Z_OK) {
		if (out == NULL || n == cap) {
			cap = out == NULL ? cap : cap * 2;
			if (cap > 2 * PACK_FILE_MAX ||
			    (grown = realloc(out, cap)) == NULL)
				break;
			out = grown;
		}
		z.next_out = (Bytef *)out + n;
		z.avail_out = (uInt)(cap - n);
		rc = inflate(&z, Z_NO_FLUSH);
		n = cap - z.avail_out;
	}
	if (rc != Z_STREAM_END || z.avail_in != 0) {
		free(out);
		out = NULL;
	}
	inflateEnd(&z);
	*out_len = n;
	return out;
}

/* --- tar -------------------------------------------------------------- */

/* Octal digits, perhaps with spaces around; -1 where they are not. */
static int64_t
octal(const char *p, size_t n)
{
	int64_t x = 0;
	size_t i = 0;
	bool any = false;

	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++, any = true) {
		if (x > (int64_t)1 << 50)
			return -1;
		x = x * 8 + (p[i] - '0');
	}
	for (; i < n; i++)
		if (p[i] != ' ' && p[i] != '\0')
			return -1;
	return any ? x : -1;
}

static bool
checksum_ok(const char *block)
{
	int64_t want = octal(block + 148, 8), sum = 0;
	size_t i;

	for (i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
	return want == sum;
}

static bool
all_zero(const char *block)
{
	size_t i;

	for (i = 0; i < BLOCK; i++)
		if (block[i] != '\0')
			return false;
	return true;
}

struct tar {
	struct pack_files *files;
	char path[PACK_PATH_MAX];	/* from a pax header, for the next one */
	char *err;
	size_t err_len;
};

static bool
header_path(const char *block, char *out, size_t size)
{
	int prefix = memcmp(block + 257, "ustar", 5) == 0 ?
	    (int)strnlen(block + 345, 155) : 0;
	int name = (int)strnlen(block, 100);
	int n = snprintf(out, size, "%.*s%s%.*s", prefix, block + 345,
	    prefix > 0 ? "/" : "", name, block);

	return n > 0 && (size_t)n < size;
}

/* "LEN path=VALUE\n" among the records of a pax header. */
static bool
pax_path(struct tar *t, const char *p, size_t n)
{
	const char *end = p + n, *key, *stop;
	size_t len;

	while (p < end) {
		for (len = 0, key = p; key < end && *key >= '0' &&
		    *key <= '9' && len < n; key++)
			len = len * 10 + (size_t)(*key - '0');
		if (len < 5 || len > (size_t)(end - p) || key == p ||
		    *key != ' ' || p[len - 1] != '\n')
			return false;
		stop = p + len - 1;
		key++;
		if (stop - key > 5 && memcmp(key, "path=", 5) == 0) {
			if ((size_t)(stop - key - 5) >= sizeof(t->path))
				return false;
			memcpy(t->path, key + 5, (size_t)(stop - key - 5));
			t->path[stop - key - 5] = '\0';
			if (strlen(t->path) != (size_t)(stop - key - 5))
				return false;
		}
		p += len;
	}
	return true;
}

static int
take_file(struct tar *t, const char *path, const char *bytes, size_t n)
{
	char *copy;

	while (strncmp(path, "./", 2) == 0)
		path += 2;
	while (*path == '/')
		path++;
	if (pack_files_find(t->files, path) != NULL)
		return fail(t->err, t->err_len, path, "twice in the bundle");
	if ((copy = malloc(n + 1)) == NULL)
		return fail(t->err, t->err_len, path, "out of memory");
	memcpy(copy, bytes, n);
	copy[n] = '\0';
	return pack_files_add(t->files, path, copy, n, t->err, t->err_len);
}

/* One entry whose header was good; its body follows. */
static int
take_entry(struct tar *t, const char *block, const char *body, size_t n)
{
	char path[PACK_PATH_MAX];

	switch (block[156]) {
	case 'x':
		return pax_path(t, body, n) ? 0 : fail(t->err, t->err_len,
		    "tar", "bad pax header");
	case 'g':
	case '5':
		t->path[0] = '\0';
		return 0;
	case '0':
	case '\0':
		break;
	default:
		return fail(t->err, t->err_len, "tar",
		    "an entry that is neither a file nor a directory");
	}
	if (!header_path(block, path, sizeof(path)))
		return fail(t->err, t->err_len, "tar", "bad path");
	if (t->path[0] != '\0')
		memcpy(path, t->path, sizeof(path));
	t->path[0] = '\0';
	return take_file(t, path, body, n);
}

static int
read_tar(struct tar *t, const char *p, size_t len)
{
	size_t at = 0, padded;
	int64_t n;

	while (len - at >= BLOCK && !all_zero(p + at)) {
		n = octal(p + at + 124, 12);
		if (!checksum_ok(p + at) || n < 0 ||
		    (uint64_t)n > len - at - BLOCK)
			return fail(t->err, t->err_len, "tar",
			    "malformed header");
		padded = ((size_t)n + BLOCK - 1) / BLOCK * BLOCK;
		if (take_entry(t, p + at, p + at + BLOCK, (size_t)n) != 0)
			return -1;
		if (padded > len - at - BLOCK)
			return fail(t->err, t->err_len, "tar", "cut short");
		at += BLOCK + padded;
	}
	return t->files->n > 0 ? 0 :
	    fail(t->err, t->err_len, "tar", "no files");
}

int
bundle_read(struct pack_files *files, const void *bytes, size_t len,
    char *err, size_t err_len)
{
	struct tar t = { .files = files, .err = err, .err_len = err_len };
	size_t n = 0;
	char *tar = inflate_all(bytes, len, &n);
	int result;

	if (tar == NULL)
		return fail(err, err_len, "gzip",
		    "damaged, too large, or more behind it");
	result = read_tar(&t, tar, n);
	free(tar);
	pack_files_sort(files);
	return result;
}
