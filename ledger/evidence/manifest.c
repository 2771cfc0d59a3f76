#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "ledger/evidence/manifest.h"
#include "ledger/record/json_out.h"
#include "ledger/utf8.h"

static int
wrong(char *err, size_t err_len, const char *what)
{
	snprintf(err, err_len, "manifest.json: %s", what);
	return -1;
}

static bool
hex64(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

bool
manifest_path_clean(const char *path)
{
	const char *p = path, *end = path + strlen(path);
	size_t n;

	if (end - p >= EVIDENCE_PATH_MAX)
		return false;
	for (; p < end; p += n) {
		n = utf8_char(p, (size_t)(end - p));
		if (n == 0 || (unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	}
	for (p = path;; p += n + 1) {
		n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') ||
		    (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (p[n] == '\0')
			return true;
	}
}

int
manifest_add(struct manifest *manifest, const char *path, uint64_t bytes,
    const char sha256[65])
{
	struct manifest_file *more;
	char *copy;

	if ((manifest->count & (manifest->count + 1)) == 0) {
		more = realloc(manifest->file,
		    (2 * manifest->count + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		manifest->file = more;
	}
	if ((copy = strdup(path)) == NULL)
		return -1;
	more = &manifest->file[manifest->count];
	memset(more, 0, sizeof(*more));
	more->path = copy;
	more->bytes = bytes;
	memcpy(more->sha256, sha256, 64);
	manifest->count++;
	return 0;
}

static int
take_file(struct manifest *manifest, json_t *item, char *err, size_t err_len)
{
	const char *path, *sha256, *before;
	json_int_t bytes;

	if (json_unpack_ex(item, NULL, JSON_STRICT, "{s:s, s:I, s:s}", "path", &path,
	    "bytes", &bytes, "sha256", &sha256) != 0)
		return wrong(err, err_len, "a file has not exactly path, bytes and sha256");
	if (!manifest_path_clean(path) || bytes < 0 || !hex64(sha256))
		return wrong(err, err_len, "a file's path, length or digest is malformed");
	before = manifest->count > 0 ? manifest->file[manifest->count - 1].path : "";
	if (strcmp(before, path) >= 0)
		return wrong(err, err_len, "files are not in order, or named twice");
	if (manifest->count >= EVIDENCE_FILES_MAX ||
	    manifest_add(manifest, path, (uint64_t)bytes, sha256) != 0)
		return wrong(err, err_len, "too many files");
	return 0;
}

static int
take_root(struct manifest *m, json_t *root, char *err, size_t err_len)
{
	const char *kind, *origin, *run;
	json_int_t v, first, size;
	json_t *files, *item;
	size_t i;

	m->version = json_integer_value(json_object_get(root, "v"));
	if (m->version > 1)
		return wrong(err, err_len, "of a later version than 1, which is the one that is "
		    "known here");
	if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:I, s:s, s:s, s:s, s:I, s:I, s:o}",
	    "v", &v, "kind", &kind, "origin", &origin, "run", &run, "first", &first,
	    "size", &size, "files", &files) != 0)
		return wrong(err, err_len, "a member lacks, is unknown, or has a wrong type");
	if (v != 1 || strcmp(kind, MANIFEST_KIND) != 0)
		return wrong(err, err_len, "no version 1 of " MANIFEST_KIND);
	if (strlen(origin) > NOTE_NAME_MAX || !record_name_valid(run, strlen(run)) ||
	    first < 0 || size < first || !json_is_array(files))
		return wrong(err, err_len, "origin, run, first, size or files is malformed");
	snprintf(m->origin, sizeof(m->origin), "%s", origin);
	snprintf(m->run, sizeof(m->run), "%s", run);
	m->first = (uint64_t)first;
	m->size = (uint64_t)size;
	json_array_foreach(files, i, item)
		if (take_file(m, item, err, err_len) != 0)
			return -1;
	return 0;
}

int
manifest_parse(struct manifest *manifest, const char *text, size_t len,
    char *err, size_t err_len)
{
	json_error_t where;
	json_t *root;
	int result;

	memset(manifest, 0, sizeof(*manifest));
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
	if (root == NULL) {
		snprintf(err, err_len, "manifest.json: line %d: %s", where.line,
		    json_error_code(&where) == json_error_duplicate_key ?
		    "a name stands twice" : "not JSON");
		return -1;
	}
	result = take_root(manifest, root, err, err_len);
	json_decref(root);
	return result;
}

char *
manifest_format(const struct manifest *m, size_t *len)
{
	size_t cap = 4096 + m->count * 128, i;
	struct json_out out;
	char *buf;
	int n;

	for (i = 0; i < m->count; i++)
		cap += 6 * strlen(m->file[i].path);	/* escaped at worst */
	if ((buf = malloc(cap + 1)) == NULL)
		return NULL;
	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_uint(&out, "v", 1);
	json_out_str(&out, "kind", MANIFEST_KIND);
	json_out_str(&out, "origin", m->origin);
	json_out_str(&out, "run", m->run);
	json_out_uint(&out, "first", m->first);
	json_out_uint(&out, "size", m->size);
	json_out_array(&out, "files");
	for (i = 0; i < m->count; i++) {
		json_out_object(&out, NULL);
		json_out_str(&out, "path", m->file[i].path);
		json_out_uint(&out, "bytes", m->file[i].bytes);
		json_out_str(&out, "sha256", m->file[i].sha256);
		json_out_object_end(&out);
	}
	json_out_array_end(&out);
	json_out_object_end(&out);
	if ((n = json_out_end(&out)) < 0) {
		free(buf);
		return NULL;
	}
	buf[n] = '\n';
	*len = (size_t)n + 1;
	return buf;
}

const struct manifest_file *
manifest_find(const struct manifest *manifest, const char *path)
{
	size_t low = 0, high = manifest->count, middle;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		order = strcmp(manifest->file[middle].path, path);
		if (order == 0)
			return &manifest->file[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void
manifest_free(struct manifest *manifest)
{
	while (manifest->count > 0)
		free(manifest->file[--manifest->count].path);
	free(manifest->file);
	memset(manifest, 0, sizeof(*manifest));
}
