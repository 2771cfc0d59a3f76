#include "scratch_ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/tree/tree.h"

#define STREAMS_MAX 8

static int
complain(struct scratch *scratch, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(scratch->err, sizeof(scratch->err), format, ap);
	va_end(ap);
	return -1;
}

void
scratch_init(struct scratch *scratch, const char *parent)
{
	memset(scratch, 0, sizeof(*scratch));
	if (parent == NULL)
		parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(scratch->parent, sizeof(scratch->parent),
	    "%.200s/countersign-ledger-XXXXXX", parent);
	if (sodium_init() < 0 || mkdtemp(scratch->parent) == NULL) {
		perror("scratch ledger");
		exit(2);
	}
	snprintf(scratch->dir, sizeof(scratch->dir), "%.240s/ledger",
	    scratch->parent);
	memset(scratch->seed, 0x42, sizeof(scratch->seed));
	scratch->options = (struct ledger_options){ .dir = scratch->dir,
	    .seed = scratch->seed, .stream = "broker",
	    .policy = SCRATCH_POLICY, .ports = 1, .checkpoint_ms = 1000000 };
	if (ledger_create(scratch->dir, SCRATCH_ORIGIN, scratch->seed,
	    scratch->err, sizeof(scratch->err)) != 0) {
		fprintf(stderr, "scratch ledger: %s\n", scratch->err);
		exit(2);
	}
}

static void
remove_dir(const char *dir)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	if (d != NULL)
		closedir(d);
	rmdir(dir);
}

void
scratch_remove(struct scratch *scratch)
{
	remove_dir(scratch->dir);
	rmdir(scratch->parent);
}

struct ledger *
scratch_open(struct scratch *scratch)
{
	scratch->err[0] = '\0';
	return ledger_open(&scratch->options, scratch->err,
	    sizeof(scratch->err));
}

enum ledger_status
scratch_append(struct ledger_port *port, uint64_t n, size_t body_len,
    struct ledger_receipt *receipt)
{
	static __thread char body[LEDGER_BODY_MAX + 1];
	int len = snprintf(body, sizeof(body), "{\"n\":%" PRIu64
	    ",\"pad\":\"", n);
	struct ledger_record record = { .type = "secret", .run = "r1",
	    .policy = SCRATCH_POLICY, .body = body };

	while ((size_t)len + 2 < body_len)
		body[len++] = 'x';
	body[len++] = '"';
	body[len++] = '}';
	record.body_len = (size_t)len;
	return ledger_append_wait(port, &record, receipt);
}

struct stream {
	char name[65];
	uint64_t seq;
	char prev[65];
};

struct reading {
	struct scratch *scratch;
	struct scratch_read *out;
	struct tree_frontier tree;
	struct stream streams[STREAMS_MAX];
	unsigned n_streams;
	size_t room;
};

static struct stream *
stream_of(struct reading *reading, const char *name)
{
	struct stream *stream;

	for (unsigned i = 0; i < reading->n_streams; i++) {
		if (strcmp(reading->streams[i].name, name) == 0)
			return &reading->streams[i];
	}
	if (reading->n_streams == STREAMS_MAX)
		return NULL;
	stream = &reading->streams[reading->n_streams++];
	memset(stream, 0, sizeof(*stream));
	snprintf(stream->name, sizeof(stream->name), "%s", name);
	memset(stream->prev, '0', 64);
	return stream;
}

/* By a JSON reader that is not ours. */
static int
read_fields(struct reading *reading, json_t *root, struct scratch_line *line)
{
	const char *stream_name, *prev, *type;
	struct stream *stream;
	json_int_t seq, n = -1;
	json_t *body;

	if (json_unpack(root, "{s:s, s:s, s:s, s:I, s:o}", "stream",
	    &stream_name, "prev", &prev, "type", &type, "seq", &seq, "body",
	    &body) != 0)
		return complain(reading->scratch, "fields are missing");
	json_unpack(body, "{s:I}", "n", &n);
	stream = stream_of(reading, stream_name);
	if (stream == NULL || strcmp(stream->prev, prev) != 0)
		return complain(reading->scratch, "chain broken at %" PRIu64,
		    reading->out->count);
	if ((uint64_t)seq != stream->seq && strcmp(type, "drop") != 0)
		return complain(reading->scratch, "seq %" PRIu64 " where %"
		    PRIu64 " is due", (uint64_t)seq, stream->seq);
	snprintf(line->type, sizeof(line->type), "%s", type);
	line->seq = (uint64_t)seq;
	line->n = (uint64_t)n;
	stream->seq = (uint64_t)seq + 1;
	sodium_bin2hex(stream->prev, sizeof(stream->prev), line->leaf,
	    sizeof(line->leaf));
	return 0;
}

static int
check_root(struct reading *reading)
{
	uint8_t root[TREE_HASH_LEN];

	if (reading->out->count != reading->out->checkpoint.size)
		return 0;
	tree_frontier_root(&reading->tree, root);
	if (memcmp(root, reading->out->checkpoint.root, sizeof(root)) != 0)
		return complain(reading->scratch, "root mismatch at %" PRIu64,
		    reading->out->count);
	return 0;
}

static int
read_line(struct reading *reading, const char *text, size_t len)
{
	struct scratch_read *out = reading->out;
	struct scratch_line *line;
	json_t *root;
	int status;

	if (out->count == reading->room) {
		reading->room = reading->room * 2 + 1024;
		out->lines = realloc(out->lines,
		    reading->room * sizeof(*out->lines));
		if (out->lines == NULL)
			return complain(reading->scratch, "out of memory");
	}
	line = &out->lines[out->count];
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (root == NULL)
		return complain(reading->scratch, "record %" PRIu64
		    " is no JSON", out->count);
	tree_leaf(text, len, line->leaf);
	status = read_fields(reading, root, line);
	json_decref(root);
	if (status != 0)
		return -1;
	tree_frontier_append(&reading->tree, line->leaf);
	out->count++;
	return check_root(reading);
}

static char *
read_file(const char *path, size_t *len, struct stat *st)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;

	if (file == NULL)
		return NULL;
	if (fstat(fileno(file), st) == 0 &&
	    (text = malloc((size_t)st->st_size + 1)) != NULL) {
		*len = fread(text, 1, (size_t)st->st_size, file);
		text[*len] = '\0';
	}
	fclose(file);
	return text;
}

static int
read_segment(struct reading *reading, const char *text, size_t len,
    const struct stat *st)
{
	struct scratch_read *out = reading->out;
	uint64_t first = out->count;
	const char *at = text, *lf;

	while ((lf = memchr(at, '\n', len - (size_t)(at - text))) != NULL &&
	    memchr(at, '\0', (size_t)(lf - at)) == NULL) {
		if (read_line(reading, at, (size_t)(lf - at)) != 0)
			return -1;
		at = lf + 1;
	}
	out->tail = len - (size_t)(at - text);
	out->nuls = 0;
	while (out->tail > 0 && at[out->tail - 1] == '\0') {
		out->tail--;
		out->nuls++;
	}
	out->segments++;
	if (out->count - first == 65536 && out->nuls == 0 &&
	    (st->st_mode & 0777) != 0400)
		return complain(reading->scratch, "a full segment has mode %o",
		    st->st_mode & 0777);
	return 0;
}

static int
read_segments(struct reading *reading)
{
	for (;;) {
		char path[400];
		struct stat st;
		size_t len = 0;
		char *text;
		int status;

		if (reading->out->count % 65536 != 0)
			return 0;
		snprintf(path, sizeof(path), "%s/records-%020" PRIu64 ".jsonl",
		    reading->scratch->dir, reading->out->count);
		text = read_file(path, &len, &st);
		if (text == NULL)
			return 0;
		status = read_segment(reading, text, len, &st);
		free(text);
		if (status != 0)
			return -1;
		if (reading->out->count % 65536 != 0 || len == 0 ||
		    reading->out->nuls + reading->out->tail > 0)
			return 0;
	}
}

static int
read_checkpoints(struct reading *reading)
{
	struct scratch *scratch = reading->scratch;
	char path[400], *vkey, *note, *all;
	size_t vkey_len = 0, note_len = 0, all_len = 0;
	struct note_key key;
	struct stat st;
	const char *why = "";
	int status;

	snprintf(path, sizeof(path), "%s/log.vkey", scratch->dir);
	vkey = read_file(path, &vkey_len, &st);
	snprintf(path, sizeof(path), "%s/checkpoint", scratch->dir);
	note = read_file(path, &note_len, &st);
	snprintf(path, sizeof(path), "%s/checkpoints", scratch->dir);
	all = read_file(path, &all_len, &st);
	if (vkey == NULL || note == NULL || all == NULL ||
	    note_key_parse(&key, vkey, vkey_len - 1) != 0)
		status = complain(scratch, "key or checkpoint unreadable");
	else if (checkpoint_open(&reading->out->checkpoint, note, note_len,
	    &key, &why) != 0)
		status = complain(scratch, "checkpoint: %s", why);
	else
		status = 0;
	for (const char *at = all; status == 0 && at != NULL &&
	    (at = strstr(at, "\n\n\xe2\x80\x94 ")) != NULL; at++)
		reading->out->checkpoints++;
	free(all);
	free(note);
	free(vkey);
	return status;
}

int
scratch_check(struct scratch *scratch, struct scratch_read *out)
{
	struct reading reading = { .scratch = scratch, .out = out };
	int status;

	memset(out, 0, sizeof(*out));
	tree_frontier_init(&reading.tree);
	status = read_checkpoints(&reading);
	if (status == 0)
		status = read_segments(&reading);
	if (status == 0 && out->count < out->checkpoint.size)
		status = complain(scratch, "%" PRIu64 " records, but %" PRIu64
		    " are signed", out->count, out->checkpoint.size);
	if (status != 0) {
		free(out->lines);
		out->lines = NULL;
	}
	return status;
}

uint64_t
scratch_find(const struct scratch_read *read, const char *type)
{
	for (uint64_t i = read->count; i > 0; i--) {
		if (strcmp(read->lines[i - 1].type, type) == 0)
			return i;
	}
	return 0;
}
