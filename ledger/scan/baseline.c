#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#include "ledger/input.h"
#include "ledger/output/out_file.h"
#include "ledger/scan/baseline.h"

#define TYPE "countersign-scan-baseline"
#define KEY_TEXT (2 * SCAN_BASELINE_KEY_LEN)

static int
fail(char *err, size_t err_len, const char *path, const char *why)
{
	snprintf(err, err_len, "%.200s: %s", path, why);
	return -1;
}

static int
key_path(const char *path, char out[PATH_MAX], char *err, size_t err_len)
{
	int n = snprintf(out, PATH_MAX, "%s.key", path);

	return n > 0 && n < PATH_MAX ? 0 : fail(err, err_len, path, strerror(ENAMETOOLONG));
}

/* A key that others can read is no key. */
static int
read_key(struct scan_baseline *baseline, const char *path, char *err,
    size_t err_len)
{
	char text[KEY_TEXT + 2];
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), result;

	if (fd < 0)
		return fail(err, err_len, path, strerror(errno));
	n = fstat(fd, &st) == 0 ? read(fd, text, sizeof(text)) : -1;
	close(fd);
	if (n >= 0 && (st.st_mode & 077) != 0)
		return fail(err, err_len, path, "others may read it: chmod 600");
	result = n == KEY_TEXT + 1 && text[KEY_TEXT] == '\n' && sodium_hex2bin(
	    baseline->key, sizeof(baseline->key), text, KEY_TEXT, NULL, NULL, NULL) == 0 ?
	    0 : fail(err, err_len, path, "this is no key of a baseline");
	sodium_memzero(text, sizeof(text));
	return result;
}

static int
make_key(struct scan_baseline *baseline, const char *path, char *err,
    size_t err_len)
{
	char text[KEY_TEXT + 1];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), result;

	if (fd < 0)
		return fail(err, err_len, path, strerror(errno));
	randombytes_buf(baseline->key, sizeof(baseline->key));
	sodium_bin2hex(text, sizeof(text), baseline->key, sizeof(baseline->key));
	text[KEY_TEXT] = '\n';
	result = write(fd, text, sizeof(text)) == (ssize_t)sizeof(text) && fsync(fd) == 0 ?
	    0 : fail(err, err_len, path, strerror(errno));
	close(fd);
	sodium_memzero(text, sizeof(text));
	return result;
}

int
scan_baseline_add(struct scan_baseline *baseline,
    const uint8_t mark[SCAN_MARK_LEN])
{
	uint8_t (*more)[SCAN_MARK_LEN];
	size_t cap;

	if (baseline->n == baseline->cap) {
		cap = baseline->cap == 0 ? 64 : 2 * baseline->cap;
		if (baseline->n >= SCAN_BASELINE_MAX ||
		    (more = reallocarray(baseline->mark, cap, SCAN_MARK_LEN)) == NULL)
			return -1;
		baseline->mark = more;
		baseline->cap = cap;
	}
	memcpy(baseline->mark[baseline->n++], mark, SCAN_MARK_LEN);
	return 0;
}

static int
order(const void *a, const void *b)
{
	return memcmp(a, b, SCAN_MARK_LEN);
}

static void
sort(struct scan_baseline *baseline)
{
	size_t i, n = 0;

	if (baseline->n > 1)
		qsort(baseline->mark, baseline->n, SCAN_MARK_LEN, order);
	for (i = 0; i < baseline->n; i++)
		if (i == 0 || order(baseline->mark[n - 1], baseline->mark[i]) != 0)
			memmove(baseline->mark[n++], baseline->mark[i], SCAN_MARK_LEN);
	baseline->n = n;
}

static const char *
fill(struct scan_baseline *baseline, const json_t *root)
{
	const char *type = json_string_value(json_object_get(root, "type")), *text;
	const json_t *marks = json_object_get(root, "marks");
	uint8_t mark[SCAN_MARK_LEN];
	size_t i;

	if (type == NULL || strcmp(type, TYPE) != 0 || !json_is_array(marks) ||
	    json_integer_value(json_object_get(root, "v")) != 1)
		return "this is no baseline that this program knows";
	for (i = 0; i < json_array_size(marks); i++) {
		text = json_string_value(json_array_get(marks, i));
		if (text == NULL || strlen(text) != 2 * SCAN_MARK_LEN || sodium_hex2bin(mark,
		    sizeof(mark), text, 2 * SCAN_MARK_LEN, NULL, NULL, NULL) != 0)
			return "a mark that is not 16 hexadecimal digits";
		if (scan_baseline_add(baseline, mark) != 0)
			return "out of memory, or too many marks";
	}
	sort(baseline);
	return NULL;
}

int
scan_baseline_read(struct scan_baseline *baseline, const char *path, char *err,
    size_t err_len)
{
	char key[PATH_MAX];
	json_error_t error;
	const char *why;
	json_t *root;
	FILE *in;

	if (key_path(path, key, err, err_len) != 0 ||
	    read_key(baseline, key, err, err_len) != 0)
		return -1;
	if ((in = input_open(path)) == NULL)
		return fail(err, err_len, path, input_why(errno));
	root = json_loadf(in, JSON_REJECT_DUPLICATES, &error);
	fclose(in);
	why = root == NULL ? "it cannot be read, or is no JSON" : fill(baseline, root);
	json_decref(root);
	return why == NULL ? 0 : fail(err, err_len, path, why);
}

int
scan_baseline_begin(struct scan_baseline *baseline, const char *path, char *err,
    size_t err_len)
{
	char key[PATH_MAX];

	if (key_path(path, key, err, err_len) != 0)
		return -1;
	if (access(key, F_OK) == 0)
		return read_key(baseline, key, err, err_len);
	return make_key(baseline, key, err, err_len);
}

int
scan_baseline_write(struct scan_baseline *baseline, const char *path, char *err,
    size_t err_len)
{
	char hex[2 * SCAN_MARK_LEN + 1];
	struct out_file file;
	size_t i;
	FILE *out;

	if (out_file_open(&file, path) != 0)
		return fail(err, err_len, path, out_file_why(errno));
	out = file.stream;
	sort(baseline);
	fprintf(out, "{\"v\":1,\"type\":\"%s\",\"table\":\"%s\",\"marks\":[", TYPE,
	    SCAN_TABLE_VERSION);
	for (i = 0; i < baseline->n; i++)
		fprintf(out, "%s\n\"%s\"", i > 0 ? "," : "", sodium_bin2hex(hex, sizeof(hex),
		    baseline->mark[i], SCAN_MARK_LEN));
	fputs("\n]}\n", out);
	return out_file_close(&file, 1) == 0 ? 0 :
	    fail(err, err_len, path, strerror(errno));
}

bool
scan_baseline_has(void *context, const uint8_t mark[SCAN_MARK_LEN])
{
	const struct scan_baseline *baseline = context;

	return baseline->n > 0 && bsearch(mark, baseline->mark, baseline->n,
	    SCAN_MARK_LEN, order) != NULL;
}

void
scan_baseline_free(struct scan_baseline *baseline)
{
	free(baseline->mark);
	sodium_memzero(baseline, sizeof(*baseline));
}
