#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/evidence/evidence.h"
#include "ledger/scan/canary.h"
#include "ledger/scan/scan.h"
#include "ledger/scan/stream.h"
#include "ledger/scan/tags/tags_impl.h"
#include "ledger/scan/tree.h"

#define WITHHELD "(name withheld)"
#define NAME_OVERLAP PATH_MAX
#define READ_LEN (256 * 1024)

struct scanner {
	struct scan_needles *needles;
	const struct scan_tags *tags;
	struct scan_worker *worker;	/* made by the first scan */
	bool trees, have_key;
	const struct scan_engine_calls *formats;	/* NULL: secrets alone */
	uint8_t key[SCAN_BASELINE_KEY_LEN];
	bool (*accepted)(void *context, const uint8_t mark[SCAN_MARK_LEN]);
	void *accepted_context;
	void (*finding)(void *context, const struct scan_finding *finding);
	void (*progress)(void *context, const struct scan_result *so_far);
	void *context;
	uint8_t *buffer;
	/* of one scan */
	struct scan_sink sink;
	struct scan_stream *stream;
	struct scan_result *result;
	const char *path, *root;
	char joined[2 * PATH_MAX];
	char shown[2 * PATH_MAX];
	uint64_t secret_at;	/* where the first secret in a name begins */
	int dirfd;
};

struct scanner *
scanner_with(const struct scan_engine_calls *formats)
{
	struct scanner *scanner = calloc(1, sizeof(*scanner));

	if (scanner == NULL)
		return NULL;
	scanner->formats = formats;
	scanner->needles = scan_needles_new();
	scanner->buffer = malloc(READ_LEN);
	if (scanner->needles != NULL && scanner->buffer != NULL)
		return scanner;
	scanner_free(scanner);
	return NULL;
}

void
scanner_free(struct scanner *scanner)
{
	if (scanner == NULL)
		return;
	scan_worker_free(scanner->worker);
	scan_needles_free(scanner->needles);
	if (scanner->buffer != NULL)
		sodium_memzero(scanner->buffer, READ_LEN);
	free(scanner->buffer);
	sodium_memzero(scanner, sizeof(*scanner));
	free(scanner);
}

int
scanner_add_secret(struct scanner *scanner, const char *name,
    const uint8_t *value, size_t len)
{
	return scan_needles_add(scanner->needles, name, value, len);
}

void
scanner_set_tags(struct scanner *scanner, const struct scan_tags *tags)
{
	scanner->tags = tags;
}

void
scanner_set_calls(struct scanner *scanner,
    void (*finding)(void *context, const struct scan_finding *finding),
    void (*progress)(void *context, const struct scan_result *so_far),
    void *context)
{
	scanner->finding = finding;
	scanner->progress = progress;
	scanner->context = context;
}

void
scanner_set_baseline(struct scanner *scanner,
    const uint8_t key[SCAN_BASELINE_KEY_LEN],
    bool (*accepted)(void *context, const uint8_t mark[SCAN_MARK_LEN]),
    void *context)
{
	memcpy(scanner->key, key, sizeof(scanner->key));
	scanner->have_key = true;
	scanner->accepted = accepted;
	scanner->accepted_context = context;
}

void
scanner_set_trees(struct scanner *scanner)
{
	scanner->trees = true;
}

/* ---- what is found ---- */

/* What a baseline knows a finding by: its kind and value under the key, and
 * neither the place, which changes, nor the value itself. */
static void
mark(const struct scanner *scanner, const struct scan_found *found,
    uint8_t out[SCAN_MARK_LEN])
{
	crypto_generichash_state state;
	uint8_t digest[32];

	crypto_generichash_init(&state, scanner->key, sizeof(scanner->key),
	    sizeof(digest));
	crypto_generichash_update(&state, (const uint8_t *)found->what,
	    strlen(found->what) + 1);
	crypto_generichash_update(&state, found->text, found->text_len);
	crypto_generichash_final(&state, digest, sizeof(digest));
	memcpy(out, digest, SCAN_MARK_LEN);
	sodium_memzero(&state, sizeof(state));
}

static void
count(struct scan_result *result, const struct scan_finding *f)
{
	if (f->baseline)
		result->baseline_count++;
	else if (f->advisory)
		result->advisory_count++;
	else
		result->finding_count++;
	if (result->findings < SCAN_FINDINGS_MAX)
		result->finding[result->findings++] = *f;
}

static void
on_found(void *context, const struct scan_found *found)
{
	struct scanner *scanner = context;
	struct scan_finding f = { .offset = found->offset, .line = found->line,
	    .len = found->len };

	if (found->source == SCAN_BY_TAG && strcmp(found->what, SCAN_TAG_CANARY) == 0)
		return;
	snprintf(f.path, sizeof(f.path), "%s", scanner->path);
	snprintf(f.what, sizeof(f.what), "%s", found->what);
	snprintf(f.form, sizeof(f.form), "%s", found->chain);
	f.confidence = found->identifier ? SCAN_LOW : found->confidence;
	f.advisory = f.confidence == SCAN_LOW;
	f.known = found->source != SCAN_BY_FORMAT;
	if (scanner->have_key) {
		mark(scanner, found, f.mark);
		f.baseline = scanner->accepted != NULL &&
		    scanner->accepted(scanner->accepted_context, f.mark);
	}
	count(scanner->result, &f);
	if (scanner->finding != NULL)
		scanner->finding(scanner->context, &f);
}

static void
not_scanned(struct scanner *scanner, const char *path, const char *why)
{
	scan_result_incomplete(scanner->result, path, "", why);
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	struct scanner *scanner = context;

	scan_result_incomplete(scanner->result, scanner->path, chain, why);
}

/* ---- names of files ---- */

static bool
is_advisory(const struct scan_found *found)
{
	return found->identifier || found->confidence == SCAN_LOW;
}

static void
on_name_probed(void *context, const struct scan_found *found)
{
	struct scanner *scanner = context;

	if (!is_advisory(found) && found->offset < scanner->secret_at)
		scanner->secret_at = found->offset;
}

static void
on_name_found(void *context, const struct scan_found *found)
{
	struct scan_found named = *found;
	char chain[96];

	if (is_advisory(found))
		return;
	snprintf(chain, sizeof(chain), "file name%s%s",
	    strcmp(found->chain, "raw") == 0 ? "" : " > ",
	    strcmp(found->chain, "raw") == 0 ? "" : found->chain);
	named.chain = chain;
	on_found(context, &named);
}

static void
scan_text(struct scanner *scanner, const char *text, const struct scan_sink *sink)
{
	struct scan_stream *stream = scan_stream_new(scanner->worker, sink,
	    sizeof(scanner->shown), NAME_OVERLAP);

	if (stream == NULL) {
		not_scanned(scanner, scanner->path, "out of memory");
		return;
	}
	scan_stream_feed(stream, (const uint8_t *)text, strlen(text));
	scan_stream_end(stream);
}

/* The path up to the part that holds a secret. */
static const char *
withheld(struct scanner *scanner, const char *path)
{
	size_t keep = strnlen(path, scanner->secret_at < sizeof(scanner->shown) / 2 ?
	    (size_t)scanner->secret_at : 0);

	while (keep > 0 && path[keep - 1] != '/')
		keep--;
	snprintf(scanner->shown, sizeof(scanner->shown), "%.*s%s", (int)keep, path,
	    WITHHELD);
	return scanner->shown;
}

/* A name leaks as well as content does, and goes into every report besides.
 * What is to be shown instead; valid until the next call. */
static const char *
scan_name(struct scanner *scanner, const char *path)
{
	const struct scan_sink probe = { on_name_probed, on_incomplete, scanner };
	const struct scan_sink report = { on_name_found, on_incomplete, scanner };

	scanner->path = WITHHELD;
	scanner->secret_at = UINT64_MAX;
	scan_text(scanner, path, &probe);
	if (scanner->secret_at == UINT64_MAX)
		return path;
	scanner->path = withheld(scanner, path);
	scan_text(scanner, path, &report);
	return scanner->shown;
}

/* ---- files ---- */

static void
begin_stream(struct scanner *scanner, const char *name)
{
	scanner->sink = (struct scan_sink){ on_found, on_incomplete, scanner };
	scanner->path = name;
	scanner->result->files++;
	scanner->stream = scan_stream_new(scanner->worker, &scanner->sink, SCAN_BLOCK,
	    SCAN_OVERLAP);
	if (scanner->stream == NULL)
		not_scanned(scanner, name, "out of memory");
}

void
scanner_feed(struct scanner *scanner, const void *bytes, size_t len)
{
	if (scanner->stream == NULL)
		return;
	scan_stream_feed(scanner->stream, bytes, len);
	scanner->result->bytes += len;
	if (scanner->progress != NULL)
		scanner->progress(scanner->context, scanner->result);
}

static void
end_stream(struct scanner *scanner)
{
	scan_stream_end(scanner->stream);
	scanner->stream = NULL;
}

static void
scan_fd(struct scanner *scanner, const char *path, int fd)
{
	ssize_t n;

	begin_stream(scanner, path);
	while (scanner->stream != NULL &&
	    (n = read(fd, scanner->buffer, READ_LEN)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			not_scanned(scanner, path, strerror(errno));
			break;
		}
		scanner_feed(scanner, scanner->buffer, (size_t)n);
	}
	end_stream(scanner);
}

/* Of evidence: nothing but directories and regular files belongs there. */
static int
evidence_file(void *context, const char *path, uint64_t size, int regular)
{
	struct scanner *scanner = context;
	int fd;
	const char *shown = scan_name(scanner, path);

	(void)size;
	if (!regular || (fd = evidence_open(scanner->dirfd, path, NULL)) < 0) {
		not_scanned(scanner, shown, regular ? strerror(errno) :
		    "not a regular file");
		return 0;
	}
	scan_fd(scanner, shown, fd);
	close(fd);
	return 0;
}

/* Several trees may be scanned in one go: a path says in which it is. */
static const char *
whole_path(struct scanner *scanner, const char *path)
{
	size_t len = strlen(scanner->root);

	snprintf(scanner->joined, sizeof(scanner->joined), "%s%s%s", scanner->root,
	    len > 0 && scanner->root[len - 1] == '/' ? "" : "/", path);
	return scanner->joined;
}

static void
tree_file(void *context, const char *path, int fd)
{
	scan_fd(context, scan_name(context, whole_path(context, path)), fd);
}

static void
tree_link(void *context, const char *path)
{
	struct scanner *scanner = context;

	(void)scan_name(scanner, whole_path(scanner, path));
	scanner->result->links++;
}

/* The names of others stand in those of the files below them. */
static void
tree_empty(void *context, const char *path)
{
	(void)scan_name(context, whole_path(context, path));
}

static void
tree_special(void *context, const char *path)
{
	struct scanner *scanner = context;

	(void)scan_name(scanner, whole_path(scanner, path));
	scanner->result->special++;
}

static void
tree_failed(void *context, const char *path, const char *why)
{
	not_scanned(context, scan_name(context, whole_path(context, path)), why);
}

static void
scan_directory(struct scanner *scanner, const char *path)
{
	const struct scan_tree_calls calls = { tree_file, tree_link, tree_empty,
	    tree_special, tree_failed, scanner };
	const uint64_t before = scanner->result->files;
	int dirfd = evidence_dir(path);

	scanner->dirfd = dirfd;
	scanner->root = path;
	if (dirfd >= 0 && scanner->trees) {
		scan_tree_walk(dirfd, &calls);
		if (scanner->result->files == before)	/* a wrong path is soon written */
			not_scanned(scanner, scan_name(scanner, path), "no file is there to be read");
		return;
	}
	if (dirfd < 0 || evidence_walk(dirfd, evidence_file, scanner) != 0)
		not_scanned(scanner, path, strerror(errno));
	if (dirfd >= 0)
		close(dirfd);
}

/* ---- one scan ---- */

static int
begin(struct scanner *scanner, struct scan_result *result, char *err,
    size_t err_len)
{
	if (scanner->worker == NULL && (scanner->worker = scan_worker_new(
	    scanner->needles, scanner->tags, scanner->formats, err, err_len)) ==
	    NULL)
		return -1;
	if (scanner->formats == NULL ? !scan_canary_secret_found() :
	    !scan_canary_found(scanner->worker, scanner->tags != NULL)) {
		snprintf(err, err_len, "the scanner missed its own canary: it cannot be "
		    "relied on here");
		return -1;
	}
	scanner->result = result;
	return 0;
}

static int
end(struct scanner *scanner, const char *path)
{
	struct scan_result *result = scanner->result;

	result->secrets = scan_needles_count(scanner->needles);
	result->short_secrets = scan_needles_short(scanner->needles);
	result->tags = scanner->tags != NULL ? scan_tags_count(scanner->tags) : 0;
	if (result->short_secrets > 0)
		not_scanned(scanner, path, "a known secret is too short to look for");
	result->verdict = result->finding_count > 0 ? SCAN_FOUND :
	    result->incomplete_count > 0 ? SCAN_INCOMPLETE : SCAN_CLEAN;
	return 0;
}

const char *
scanner_shown_name(struct scanner *scanner, const char *path)
{
	const struct scan_sink probe = { on_name_probed, on_incomplete, scanner };
	struct scan_result *result = calloc(1, sizeof(*result));
	char err[128];

	scanner->secret_at = UINT64_MAX;
	if (result == NULL || begin(scanner, result, err, sizeof(err)) != 0) {
		free(result);
		return WITHHELD;
	}
	scanner->path = WITHHELD;
	scan_text(scanner, path, &probe);
	if (result->incomplete_count > 0)
		scanner->secret_at = 0;
	scanner->result = NULL;
	free(result);
	return scanner->secret_at == UINT64_MAX ? path : withheld(scanner, path);
}

int
scanner_scan(struct scanner *scanner, const char *path,
    struct scan_result *result, char *err, size_t err_len)
{
	const char *special = evidence_special(path);
	struct stat st;
	int fd;

	if (begin(scanner, result, err, err_len) != 0)
		return -1;
	if (stat(path, &st) != 0) {
		snprintf(err, err_len, "%.200s: %s", path, strerror(errno));
		return -1;
	}
	if (special != NULL) {	/* not even opened, which can block or do something */
		snprintf(err, err_len, "%.200s: %s; what can be scanned is a directory or a "
		    "regular file", scan_name(scanner, path), special);
		return -1;
	}
	if (S_ISDIR(st.st_mode)) {
		scan_directory(scanner, path);
		return end(scanner, path);
	}
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	path = scan_name(scanner, path);
	if (fd < 0 || !S_ISREG(st.st_mode))
		not_scanned(scanner, path, "not a regular file that can be read");
	else
		scan_fd(scanner, path, fd);
	if (fd >= 0)
		close(fd);
	return end(scanner, path);
}

int
scanner_scan_fd(struct scanner *scanner, int fd, const char *name,
    struct scan_result *result, char *err, size_t err_len)
{
	if (begin(scanner, result, err, err_len) != 0)
		return -1;
	scan_fd(scanner, name, fd);
	return end(scanner, name);
}

int
scanner_open(struct scanner *scanner, const char *name,
    struct scan_result *result, char *err, size_t err_len)
{
	if (begin(scanner, result, err, err_len) != 0)
		return -1;
	begin_stream(scanner, name);
	return 0;
}

void
scanner_cannot(struct scanner *scanner, const char *why)
{
	not_scanned(scanner, scanner->path, why);
}

void
scanner_close(struct scanner *scanner)
{
	end_stream(scanner);
	end(scanner, scanner->path);
}
