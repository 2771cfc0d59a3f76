#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/bundle/bundle.h"
#include "ledger/bundle/manifest.h"
#include "ledger/bundle/packs.h"
#include "ledger/verify/load.h"

#define COPY_BLOCK 65536

struct bundle {
	const struct bundle_options *options;
	char *err;
	size_t err_len;
	struct load load;	/* of the ledger */
	struct note_key key;
	char temp[EVIDENCE_PATH_MAX];
	int dirfd;		/* of temp, or -1 */
	FILE *records, *leaves;
	struct tree_frontier before, tree;
	uint64_t teardown;	/* index, UINT64_MAX: not met yet */
	uint64_t until;		/* size to stop at, once that is known */
	struct seal seal;	/* the checkpoint taken */
	struct packs_named named;	/* by the records taken */
};

static int __attribute__((format(printf, 2, 3)))
fail(struct bundle *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(b->err, b->err_len, format, args);
	va_end(args);
	return -1;
}

/* ---- writing files ---- */

static int
make_dirs(struct bundle *b, const char *path)
{
	char part[EVIDENCE_PATH_MAX];
	const char *slash;

	for (slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdirat(b->dirfd, part, 0700) != 0 && errno != EEXIST)
			return fail(b, "%s: %s", part, strerror(errno));
	}
	return 0;
}

static FILE *
create(struct bundle *b, const char *path)
{
	FILE *file;
	int fd;

	if (make_dirs(b, path) != 0)
		return NULL;
	fd = openat(b->dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || (file = fdopen(fd, "w")) == NULL) {
		fail(b, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	return file;
}

/* Durable, or an error that nothing has swallowed.  Closes the file. */
static int
finish(struct bundle *b, FILE *file, const char *path)
{
	int bad = ferror(file) || fflush(file) != 0 || fsync(fileno(file)) != 0;

	if (bad)
		fail(b, "%s: %s", path, strerror(errno));
	if (fclose(file) != 0 && !bad)
		return fail(b, "%s: %s", path, strerror(errno));
	return bad ? -1 : 0;
}

static int
put_file(struct bundle *b, const char *path, const char *text, size_t len)
{
	FILE *file = create(b, path);

	if (file == NULL)
		return -1;
	fwrite(text, 1, len, file);
	return finish(b, file, path);
}

static int
copy_file(struct bundle *b, int from_dir, const char *from, const char *to)
{
	char block[COPY_BLOCK];
	uint64_t at = 0;
	ptrdiff_t n;
	FILE *file;
	int fd;

	if ((fd = evidence_open(from_dir, from, NULL)) < 0)
		return fail(b, "%s: %s", from, strerror(errno));
	if ((file = create(b, to)) == NULL) {
		close(fd);
		return -1;
	}
	while ((n = evidence_pread(fd, block, sizeof(block), at)) > 0) {
		fwrite(block, 1, (size_t)n, file);
		at += (uint64_t)n;
	}
	if (n < 0)
		fail(b, "%s: %s", from, strerror(errno));
	close(fd);
	return finish(b, file, to) != 0 || n < 0 ? -1 : 0;
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
		return fail(copy->b, "%s: not a regular file", path);
	snprintf(to, sizeof(to), "%s/%s", copy->under, path);
	if (strlen(to) >= EVIDENCE_PATH_MAX)
		return fail(copy->b, "%s: too long a path", path);
	return copy_file(copy->b, copy->from, path, to);
}

static int
copy_tree(struct bundle *b, const char *from, const char *under)
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

static int
copy_packs(struct bundle *b)
{
	const struct bundle_pack *pack = b->options->packs;
	char under[80];
	size_t i;

	for (i = 0; i < b->options->pack_count; i++, pack++) {
		if (!record_policy_valid(pack->digest, strlen(pack->digest)))
			return fail(b, "a pack's digest is malformed");
		if (!packs_is_named(&b->named, pack->digest))
			continue;
		snprintf(under, sizeof(under), "packs/%s", pack->digest + 7);
		if (copy_tree(b, pack->dir, under) != 0)
			return -1;
	}
	return 0;
}

/* ---- taking the records ---- */

static bool
is(struct record_slice slice, const char *text)
{
	return slice.ptr != NULL && slice.len == strlen(text) &&
	    memcmp(slice.ptr, text, slice.len) == 0;
}

/* The smallest good checkpoint of at least that size; 0, or -1: none yet. */
static int
choose_seal(struct bundle *b, uint64_t size)
{
	const struct load *load = &b->load;
	unsigned i;

	for (i = 0; i < load->seals; i++) {
		if (load->seal[i].state != SEAL_GOOD || load->seal[i].at.size < size)
			continue;
		b->seal = load->seal[i];
		b->until = b->seal.at.size;
		return 0;
	}
	return fail(b, "run %s: no signed checkpoint covers its teardown yet",
	    b->options->run);
}

static int
take_line(struct bundle *b, const struct walk_line *line, uint64_t index)
{
	const bool ours = line->rule == NULL && is(line->record.run, b->options->run);

	if (b->records == NULL) {
		if (!ours)
			return tree_frontier_append(&b->tree, line->leaf);
		if (!is(line->record.type, "run"))
			return fail(b, "run %s: its first record, at index %" PRIu64
			    ", is no opening", b->options->run, index);
		b->before = b->tree;
		if ((b->records = create(b, "ledger/records.jsonl")) == NULL ||
		    (b->leaves = create(b, "ledger/leaves")) == NULL)
			return -1;
	}
	if (line->rule == NULL)
		packs_note(&b->named, &line->record, ours);
	fwrite(line->text, 1, line->len, b->records);
	putc('\n', b->records);
	fwrite(line->leaf, 1, TREE_HASH_LEN, b->leaves);
	if (ours && is(line->record.type, "teardown")) {
		b->teardown = index;
		if (choose_seal(b, index + 1) != 0)
			return -1;
	}
	return tree_frontier_append(&b->tree, line->leaf);
}

static int
on_batch(void *context, const struct walk_batch *batch)
{
	struct bundle *b = context;
	unsigned i;

	if (b->records == NULL && batch->whole) {
		/* most of a long ledger: nothing of ours in it */
		for (i = 0; i < batch->count; i++)
			if (batch->lines[i].rule == NULL &&
			    is(batch->lines[i].record.run, b->options->run))
				break;
		if (i == batch->count)
			return tree_frontier_append_node(&b->tree, WALK_LEVEL, batch->node);
	}
	for (i = 0; i < batch->count; i++) {
		if (b->tree.size == b->until)
			return 1;
		if (take_line(b, &batch->lines[i], batch->index + i) != 0)
			return -2;
	}
	return b->tree.size == b->until ? 1 : 0;
}

static int
on_torn(void *context, unsigned segment, uint64_t line, uint64_t bytes)
{
	(void)context;
	(void)segment;
	(void)line;
	(void)bytes;
	return 0;	/* being written */
}

static int
take_records(struct bundle *b)
{
	struct walk walk = {
		.dirfd = b->load.dirfd, .segments = b->load.segment,
		.segment_count = b->load.segments, .threads = 1,
		.batch = on_batch, .torn = on_torn, .context = b,
	};
	uint8_t root[TREE_HASH_LEN];

	b->err[0] = '\0';
	if (walk_run(&walk, b->err, b->err_len) < 0)
		return b->err[0] != '\0' ? -1 : fail(b, "the ledger is too large");
	if (b->records == NULL)
		return fail(b, "the ledger has no run %s", b->options->run);
	if (b->teardown == UINT64_MAX)
		return fail(b, "run %s is not torn down yet", b->options->run);
	if (b->tree.size != b->until)
		return fail(b, "the ledger ends before its checkpoint of size %" PRIu64,
		    b->until);
	tree_frontier_root(&b->tree, root);
	if (memcmp(root, b->seal.at.root, TREE_HASH_LEN) != 0)
		return fail(b, "the records do not give the signed root at size %" PRIu64,
		    b->until);
	return 0;
}

/* ---- the checkpoint's text ---- */

/* The note of that size as it stands in the log of all, or the latest. */
static int
put_checkpoint(struct bundle *b)
{
	size_t len;
	char *text = load_note_text(&b->load, &b->seal.at, &len);
	int result;

	if (text == NULL)
		return fail(b, "the checkpoint of size %" PRIu64 " is gone", b->until);
	result = put_file(b, "ledger/checkpoint", text, len);
	free(text);
	return result;
}

/* ---- manifest, and putting it in place ---- */

struct listing {
	struct bundle *b;
	struct manifest manifest;
};

static int
list_visit(void *context, const char *path, uint64_t size, int regular)
{
	struct listing *l = context;
	char hex[65];

	if (!regular || evidence_digest(l->b->dirfd, path, hex) != 0 ||
	    manifest_add(&l->manifest, path, size, hex) != 0)
		return fail(l->b, "%s: %s", path, strerror(errno));
	return 0;
}

static int
by_path(const void *a, const void *b)
{
	const struct manifest_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int
put_manifest(struct bundle *b)
{
	struct listing l = { .b = b };
	char *text = NULL;
	size_t len;
	int result = -1;

	snprintf(l.manifest.origin, sizeof(l.manifest.origin), "%s", b->seal.at.origin);
	snprintf(l.manifest.run, sizeof(l.manifest.run), "%s", b->options->run);
	l.manifest.first = b->before.size;
	l.manifest.size = b->until;
	if (evidence_walk(b->dirfd, list_visit, &l) != 0)
		goto out;
	qsort(l.manifest.file, l.manifest.count, sizeof(*l.manifest.file), by_path);
	if ((text = manifest_format(&l.manifest, &len)) == NULL)
		fail(b, "out of memory");
	else
		result = put_file(b, "manifest.json", text, len);
out:
	free(text);
	manifest_free(&l.manifest);
	return result;
}

/* Below fd, innermost first: remove everything, or sync every directory. */
static int
sweep(int fd, bool erase, unsigned depth)
{
	struct dirent *entry;
	DIR *dir = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	int sub, bad = dir == NULL || depth > EVIDENCE_DEPTH_MAX;

	while (!bad && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		sub = openat(fd, entry->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0) {
			bad = sweep(sub, erase, depth + 1) != 0;
			close(sub);
		}
		if (erase && !bad)
			bad = unlinkat(fd, entry->d_name, sub >= 0 ? AT_REMOVEDIR : 0) != 0;
	}
	if (dir != NULL)
		closedir(dir);
	return bad || (!erase && fsync(fd) != 0) ? -1 : 0;
}

static int
put_in_place(struct bundle *b)
{
	char parent[EVIDENCE_PATH_MAX], *slash;
	int fd, bad;

	if (renameat2(AT_FDCWD, b->temp, AT_FDCWD, b->options->out, RENAME_NOREPLACE) != 0)
		return fail(b, "%.300s: %s", b->options->out, strerror(errno));
	b->temp[0] = '\0';
	snprintf(parent, sizeof(parent), "%s", b->options->out);
	slash = strrchr(parent, '/');
	if (slash != NULL)
		slash[slash == parent] = '\0';
	else
		snprintf(parent, sizeof(parent), ".");
	fd = evidence_dir(parent);
	bad = fd < 0 || fsync(fd) != 0;
	if (fd >= 0)
		close(fd);
	return bad ? fail(b, "%.300s: %s", parent, strerror(errno)) : 0;
}

static int
make_temp(struct bundle *b)
{
	int n = snprintf(b->temp, sizeof(b->temp), "%s.XXXXXX", b->options->out);

	if (n < 0 || (size_t)n >= sizeof(b->temp) || mkdtemp(b->temp) == NULL) {
		b->temp[0] = '\0';
		return fail(b, "%.300s: %s", b->options->out, strerror(errno));
	}
	if ((b->dirfd = evidence_dir(b->temp)) < 0)
		return fail(b, "%.300s: %s", b->temp, strerror(errno));
	return 0;
}

static int
load_ledger_of(struct bundle *b)
{
	struct verify_options options = { .path = b->options->ledger, .key = &b->key };
	struct verify_result *findings = calloc(1, sizeof(*findings));
	char path[EVIDENCE_PATH_MAX], vkey[NOTE_VKEY_MAX + 2];
	FILE *file;
	size_t len = 0;
	int result = -1;

	snprintf(path, sizeof(path), "%s/log.vkey", b->options->ledger);
	if ((file = fopen(path, "re")) != NULL) {
		len = fread(vkey, 1, sizeof(vkey), file);
		fclose(file);
	}
	if (len > 0 && vkey[len - 1] == '\n')
		len--;
	if (findings == NULL || note_key_parse(&b->key, vkey, len) != 0)
		fail(b, "%.300s: no log.vkey that can be read", b->options->ledger);
	else
		result = load_open(&b->load, &options, findings, b->err, b->err_len);
	if (result == 0 && b->load.kind != VERIFY_LEDGER)
		result = fail(b, "%.300s: no ledger", b->options->ledger);
	free(findings);
	return result;
}

static int
finish_ledger(struct bundle *b)
{
	char text[TREE_TEXT_MAX];
	FILE *records = b->records, *leaves = b->leaves;
	int len, bad;

	b->records = b->leaves = NULL;
	bad = finish(b, records, "ledger/records.jsonl") != 0;
	bad |= finish(b, leaves, "ledger/leaves") != 0;
	len = tree_frontier_format(&b->before, text, sizeof(text));
	if (bad || len < 0)
		return -1;
	return put_file(b, "ledger/frontier", text, (size_t)len) != 0 ||
	    put_checkpoint(b) != 0 ||
	    copy_file(b, b->load.dirfd, "log.vkey", "keys/log.vkey") != 0 ? -1 : 0;
}

static int
write_all(struct bundle *b)
{
	if (load_ledger_of(b) != 0 || make_temp(b) != 0 || take_records(b) != 0 ||
	    finish_ledger(b) != 0 || copy_packs(b) != 0)
		return -1;
	if (b->options->coverage != NULL &&
	    copy_tree(b, b->options->coverage, "coverage") != 0)
		return -1;
	if (put_manifest(b) != 0)
		return -1;
	if (sweep(b->dirfd, false, 0) != 0)
		return fail(b, "%.300s: cannot be synced", b->temp);
	return put_in_place(b);
}

int
bundle_write(const struct bundle_options *options, char *err, size_t err_len)
{
	struct bundle *b = calloc(1, sizeof(*b));
	int result;

	if (b == NULL || sodium_init() < 0) {
		snprintf(err, err_len, "out of memory");
		free(b);
		return -1;
	}
	b->options = options;
	b->err = err;
	b->err_len = err_len;
	b->dirfd = b->load.dirfd = -1;
	b->teardown = b->until = UINT64_MAX;
	result = write_all(b);
	if (b->records != NULL)
		fclose(b->records);
	if (b->leaves != NULL)
		fclose(b->leaves);
	if (b->temp[0] != '\0' && b->dirfd >= 0) {
		sweep(b->dirfd, true, 0);
		rmdir(b->temp);
	}
	if (b->dirfd >= 0)
		close(b->dirfd);
	load_close(&b->load);
	free(b);
	return result;
}
