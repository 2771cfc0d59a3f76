#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/tree/hashes.h"
#include "ledger/verify/keys.h"
#include "ledger/verify/load.h"
#include "ledger/verify/vouch.h"
#include "ledger/input.h"

#define THREADS_DEFAULT_MAX 4

struct verify_finding *
verify_find(struct verify_result *result, enum verify_verdict verdict,
    const char *code, const char *format, ...)
{
	static _Thread_local struct verify_finding spill;
	struct verify_finding *f;
	va_list args;

	result->finding_count++;
	result->verdict = verify_worse(result->verdict, verdict);
	f = result->findings < VERIFY_FINDINGS_MAX ?
	    &result->finding[result->findings++] : &spill;
	memset(f, 0, sizeof(*f));
	f->verdict = verdict;
	f->code = code;
	f->count = 1;
	va_start(args, format);
	vsnprintf(f->what, sizeof(f->what), format, args);
	va_end(args);
	return f;
}

void
verify_of_file(struct verify_finding *finding, const char *path)
{
	if (strlen(path) < sizeof(finding->file))	/* half a path is another's */
		memcpy(finding->file, path, strlen(path) + 1);
}

const char *
load_reason(void)
{
	switch (errno) {
	case ELOOP:
		return "a link, or too deep, which evidence may not be";
	case EINVAL:
		return "not a regular file";
	case EFBIG:
		return "too large to be one";
	default:
		return strerror(errno);
	}
}

/* ---- checkpoints ---- */

static int
load_latest(struct load *load, const char *path,
    struct verify_result *result)
{
	char *text = evidence_read(load->dirfd, path, NOTE_MAX, &load->note_len);

	load->note = text;
	load->latest.state = SEAL_MALFORMED;
	load->latest.why = "it cannot be read";
	if (text == NULL) {
		verify_of_file(verify_find(result, VERIFY_NOT_ESTABLISHED, "unsealed",
		    "%s: %s", path, load_reason()), path);
		return 0;
	}
	seal_read(&load->latest, text, load->note_len, &load->epochs, load->origin);
	/* A new key may have come between the two files. */
	if (load->latest.state == SEAL_UNPINNED && load->kind == VERIFY_LEDGER &&
	    load->epochs.count > 0 && keys_follow(load) == 0)
		seal_read(&load->latest, text, load->note_len, &load->epochs,
		    load->origin);
	switch (load->latest.state) {
	case SEAL_GOOD:
		break;
	case SEAL_UNPINNED:
		verify_of_file(verify_find(result, VERIFY_NOT_ESTABLISHED,
		    "unknown_key", "%s: %s", path, load->latest.why), path);
		break;
	case SEAL_FORGED:
	case SEAL_MALFORMED:
		verify_of_file(verify_find(result, VERIFY_GAP, "checkpoint", "%s: %s",
		    path, load->latest.why), path);
		break;
	}
	if (load->latest.state == SEAL_MALFORMED)
		return 0;
	return seals_add(&load->seals, &load->latest);
}

/* The head that the verifier saved joins the seals.  0, or -1 with a message. */
static int
load_head(struct load *load, const struct verify_options *options, char *err,
    size_t err_len)
{
	char buf[NOTE_MAX];
	FILE *file = input_open(options->head);
	size_t len;

	if (file == NULL) {
		snprintf(err, err_len, "%.200s: the saved head cannot be read: %s",
		    options->head, input_why(errno));
		return -1;
	}
	len = fread(buf, 1, sizeof(buf), file);
	fclose(file);
	seal_read(&load->head, buf, len, &load->epochs, NULL);
	load->head.saved = true;
	if (load->head.state == SEAL_MALFORMED) {
		snprintf(err, err_len, "%.200s: no saved head, which is a signed "
		    "checkpoint: %s", options->head, load->head.why);
		return -1;
	}
	if (load->head.state != SEAL_GOOD)
		return 0;	/* the verdict will say so */
	if (seals_add(&load->seals, &load->head) == 0)
		return 0;
	snprintf(err, err_len, "out of memory");
	return -1;
}

/* Is there something to go on from? */
static int
can_go_on(const struct load *load, char *err, size_t err_len)
{
	if (load->kind == VERIFY_BUNDLE)
		snprintf(err, err_len, "only of a ledger what is new can be verified alone");
	else if (load->head.state != SEAL_GOOD)
		snprintf(err, err_len, "the saved head cannot be gone on from: %s",
		    load->head.why != NULL ? load->head.why : "none is named");
	else
		return 0;
	return -1;
}

int
load_tree_before(const struct load *load, unsigned segment,
    struct tree_frontier *tree)
{
	struct hashes_end end;
	unsigned i;

	tree_frontier_init(tree);
	for (i = 0; i < segment; i++)
		if (load->segment[i].first != (uint64_t)i * HASHES_SEGMENT ||
		    hashes_read_end(load->dirfd, load->segment[i].first, &end) != 0 ||
		    end.bytes != load->segment[i].bytes ||
		    tree_frontier_append_node(tree, HASHES_LEVEL, end.root) != 0)
			return -1;
	return load->segment[segment].first == tree->size ? 0 : -1;
}

char *
load_note_text(const struct load *load, const struct seal *seal, size_t *len)
{
	if (load->note != NULL && seal->at.size == load->latest.at.size &&
	    memcmp(seal->at.root, load->latest.at.root, TREE_HASH_LEN) == 0) {
		*len = load->note_len;
		return strndup(load->note, load->note_len);
	}
	return seals_find_text(load->dirfd, seal, len);
}

/* ---- a ledger's directory ---- */

static int
segment_visit(void *context, const char *path, uint64_t size, int regular)
{
	struct load *load = context;
	struct walk_segment *more;
	uint64_t first = 0;
	size_t i, n = strlen(path);

	if (strncmp(path, "records-", 8) != 0 || n < 15 || n > 34 ||
	    strcmp(path + n - 6, ".jsonl") != 0 || !regular)
		return 0;
	for (i = 8; i < n - 6; i++) {
		if (!isdigit((unsigned char)path[i]) || first > UINT64_MAX / 10 - 1)
			return 0;
		first = first * 10 + (uint64_t)(path[i] - '0');
	}
	if (load->segments == LOAD_SEGMENTS_MAX)
		return 0;
	more = realloc(load->segment, (load->segments + 1) * sizeof(*more));
	if (more == NULL)
		return -1;
	load->segment = more;
	more += load->segments++;
	memset(more, 0, sizeof(*more));
	memcpy(more->path, path, n);
	more->first = first;
	more->bytes = size;
	load->bytes += size;
	return 0;
}

static int
by_first(const void *a, const void *b)
{
	const struct walk_segment *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int
load_ledger(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len)
{
	struct seals_log log = { .dirfd = load->dirfd, .epochs = &load->epochs,
	    .size = options->since ? load->head.at.size : 0, .latest = &load->latest,
	    .threads = load_threads(options) };
	int status;

	/* the checkpoint first: what is appended meanwhile lies behind it */
	status = load_latest(load, "checkpoint", result);
	log.note = load->note;
	log.note_len = load->note_len;
	if (status != 0 || seals_load_log(&load->seals, &log, result) != 0 ||
	    evidence_walk(load->dirfd, segment_visit, load) != 0) {
		snprintf(err, err_len, "cannot list the ledger: %s", load_reason());
		return -1;
	}
	if (load->segments > 1)
		qsort(load->segment, load->segments, sizeof(*load->segment), by_first);
	load->frontier_good = true;
	return 0;
}

/* ---- a bundle ---- */

struct check {
	struct load *load;
	const struct verify_options *options;
	struct verify_result *result;
	uint64_t listed;
};

static int
file_visit(void *context, const char *path, uint64_t size, int regular)
{
	struct check *check = context;
	const struct manifest_file *file;
	const char *shown;
	char hex[65];

	if (strcmp(path, "manifest.json") == 0)
		return 0;
	shown = vouch_shown(check->options, path);
	if (!regular) {
		verify_of_file(verify_find(check->result, VERIFY_GAP, "not_a_file",
		    "%.200s: neither a regular file nor a directory", shown), shown);
		return 0;
	}
	check->load->bytes += size;
	file = manifest_find(&check->load->manifest, path);
	if (file == NULL) {
		verify_of_file(verify_find(check->result, VERIFY_NOT_ESTABLISHED,
		    "unlisted_file", "%.200s: not in the manifest", shown), shown);
		return 0;
	}
	check->listed++;
	if (file->bytes != size)
		verify_of_file(verify_find(check->result, VERIFY_GAP, "file_altered",
		    "%.200s: %" PRIu64 " bytes, %" PRIu64 " in the manifest", shown,
		    size, file->bytes), shown);
	else if (evidence_digest(check->load->dirfd, path, hex) != 0)
		verify_of_file(verify_find(check->result, VERIFY_NOT_ESTABLISHED,
		    "unreadable_file", "%.200s: %s", shown, load_reason()), shown);
	else if (strcmp(hex, file->sha256) != 0)
		verify_of_file(verify_find(check->result, VERIFY_GAP, "file_altered",
		    "%.200s: its SHA-256 is not the manifest's", shown), shown);
	return 0;
}

static int
no_file(void *context, const char *path, uint64_t size, int regular)
{
	(void)context;
	(void)path;
	(void)size;
	(void)regular;
	return 0;
}

static void
check_files(struct load *load, const struct verify_options *options,
    struct verify_result *result)
{
	struct check check = { load, options, result, 0 };
	uint64_t size;
	size_t i;
	int fd;

	if (evidence_walk(load->dirfd, load->manifest_good ? file_visit : no_file,
	    &check) != 0)
		verify_find(result, VERIFY_NOT_ESTABLISHED, "unreadable_file",
		    "the bundle's files cannot all be listed: %s", load_reason());
	for (i = 0; check.listed < load->manifest.count &&
	    i < load->manifest.count; i++) {
		fd = evidence_open(load->dirfd, load->manifest.file[i].path, &size);
		if (fd >= 0)
			close(fd);
		else if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)
			verify_find(result, VERIFY_GAP, "missing_file",
			    "%.200s: in the manifest, but not there",
			    vouch_shown(options, load->manifest.file[i].path));
	}
}

static void
load_frontier(struct load *load, struct verify_result *result)
{
	size_t len;
	char *text = evidence_read(load->dirfd, "ledger/frontier", TREE_TEXT_MAX, &len);

	if (text == NULL || tree_frontier_parse(&load->frontier, text, len) != 0)
		verify_of_file(verify_find(result, VERIFY_GAP, "frontier",
		    "ledger/frontier: %s", text == NULL ? load_reason() : "malformed"),
		    "ledger/frontier");
	else
		load->frontier_good = true;
	free(text);
}

static bool
leaves_give(struct leaves *leaves, const struct load *load)
{
	struct tree_frontier tree = load->frontier;
	uint8_t root[TREE_HASH_LEN];

	if (!leaves->whole || leaves->count != load->latest.at.size - tree.size ||
	    leaves_append(leaves, leaves->count, &tree) != 0)
		return false;
	tree_frontier_root(&tree, root);
	return memcmp(root, load->latest.at.root, TREE_HASH_LEN) == 0;
}

/*
 * The leaves as they were when the bundle was made.  Nobody signed them; they
 * are believed only if they fold into the signed root, and then name exactly
 * what was changed since.
 */
static void
load_leaves(struct load *load, struct verify_result *result)
{
	/* where the checkpoint or the frontier is wrong, that was said */
	const bool comparable = load->frontier_good &&
	    load->latest.state != SEAL_MALFORMED && load->latest.state != SEAL_FORGED;

	if (leaves_open(&load->leaves, load->dirfd, "ledger/leaves", UINT64_MAX) != 0) {
		verify_of_file(verify_find(result, VERIFY_GAP, "leaves",
		    "ledger/leaves: %s", load_reason()), "ledger/leaves");
		return;
	}
	load->leaves_good = comparable && leaves_give(&load->leaves, load);
	if (load->leaves_good)
		return;
	if (comparable)
		verify_of_file(verify_find(result, VERIFY_GAP, "leaves",
		    "ledger/leaves: they do not give the checkpoint's root"),
		    "ledger/leaves");
	leaves_close(&load->leaves);
}

/* Does that key, or one that follows from it, sign the checkpoint? */
static bool
key_leads(const struct load *load, const struct note_key *key)
{
	struct epochs epochs = { .count = 0 };
	struct seal seal = { .state = SEAL_MALFORMED };
	const char *why = "";
	size_t n;
	char *chain = evidence_read(load->dirfd, "keys/" EPOCHS_FILE,
	    EPOCHS_BYTES_MAX, &n);

	if (epochs_pin(&epochs, key) == 0) {
		if (chain != NULL)
			(void)epochs_follow(&epochs, chain, n, &why);
		seal_read(&seal, load->note, load->note_len, &epochs, NULL);
	}
	epochs_free(&epochs);
	free(chain);
	return seal.state == SEAL_GOOD;
}

/* The key beside the checkpoint signed it, and is the pinned one where that
 * has signed it too; nobody needs it, but it may not mislead either. */
static void
check_key(const struct load *load, const struct note_key *pinned,
    struct verify_result *result)
{
	struct note_key key;
	size_t len;
	char *vkey;

	vkey = evidence_read(load->dirfd, "keys/log.vkey", NOTE_VKEY_MAX + 1, &len);
	if (vkey == NULL)
		verify_of_file(verify_find(result, VERIFY_GAP, "key",
		    "keys/log.vkey: %s", load_reason()), "keys/log.vkey");
	else if (len == 0 || vkey[len - 1] != '\n' ||
	    note_key_parse(&key, vkey, len - 1) != 0 || key.type != NOTE_ED25519)
		verify_of_file(verify_find(result, VERIFY_GAP, "key",
		    "keys/log.vkey: no key of a log"), "keys/log.vkey");
	else if (load->latest.state == SEAL_GOOD && pinned != NULL &&
	    (strcmp(key.name, pinned->name) != 0 ||
	    memcmp(key.pk, pinned->pk, sizeof(key.pk)) != 0))
		verify_of_file(verify_find(result, VERIFY_GAP, "key",
		    "keys/log.vkey is not the pinned key, which signed the checkpoint"),
		    "keys/log.vkey");
	else if (load->latest.state == SEAL_UNPINNED && !key_leads(load, &key))
		verify_of_file(verify_find(result, VERIFY_GAP, "key",
		    "keys/log.vkey is not the key that signed the checkpoint"),
		    "keys/log.vkey");
	free(vkey);
}

static void
check_sizes(struct load *load, struct verify_result *result)
{
	if (!load->manifest_good)
		return;
	if (load->frontier_good && load->frontier.size != load->manifest.first)
		verify_of_file(verify_find(result, VERIFY_GAP, "frontier",
		    "ledger/frontier stands at %" PRIu64 ", the manifest begins at %"
		    PRIu64, load->frontier.size, load->manifest.first),
		    "ledger/frontier");
	if (load->latest.state == SEAL_MALFORMED)
		return;
	if (load->latest.at.size != load->manifest.size)
		verify_of_file(verify_find(result, VERIFY_GAP, "checkpoint",
		    "the checkpoint has size %" PRIu64 ", the manifest %" PRIu64,
		    load->latest.at.size, load->manifest.size), "ledger/checkpoint");
	if (strcmp(load->origin, load->manifest.origin) != 0)
		verify_of_file(verify_find(result, VERIFY_GAP, "checkpoint",
		    "the checkpoint's origin is not the manifest's"),
		    "ledger/checkpoint");
}

static int
load_bundle(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len)
{
	char why[160] = "";
	char *text;
	size_t len;

	text = evidence_read(load->dirfd, "manifest.json", MANIFEST_MAX, &len);
	if (text == NULL)
		snprintf(why, sizeof(why), "manifest.json: %s", load_reason());
	else if (manifest_parse(&load->manifest, text, len, why, sizeof(why)) == 0)
		load->manifest_good = true;
	free(text);
	if (!load->manifest_good)
		verify_of_file(verify_find(result, VERIFY_GAP, "manifest", "%s", why),
		    "manifest.json");
	snprintf(result->run, sizeof(result->run), "%s", load->manifest.run);
	load_frontier(load, result);
	if (load_latest(load, "ledger/checkpoint", result) != 0)
		goto memory;
	load_leaves(load, result);
	check_key(load, options->key, result);
	check_sizes(load, result);
	check_files(load, options, result);
	if ((load->segment = calloc(1, sizeof(*load->segment))) == NULL)
		goto memory;
	load->segments = 1;
	snprintf(load->segment->path, sizeof(load->segment->path), "ledger/records.jsonl");
	load->segment->first = load->frontier.size;
	load->segment->bytes = UINT64_MAX;
	return 0;
memory:
	snprintf(err, err_len, "out of memory");
	return -1;
}

/* A bundle has a manifest or the directory `ledger`; a ledger its segments
 * and checkpoint beside each other. */
static int
kind_of(int dirfd, enum verify_kind *kind)
{
	static const char *bundle[] = { "manifest.json", "ledger/records.jsonl",
	    "ledger/checkpoint" };
	static const char *ledger[] = { "checkpoint", "checkpoints", "log.vkey",
	    "records-00000000000000000000.jsonl" };
	size_t i;

	*kind = VERIFY_BUNDLE;
	for (i = 0; i < sizeof(bundle) / sizeof(bundle[0]); i++)
		if (faccessat(dirfd, bundle[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return 0;
	*kind = VERIFY_LEDGER;
	for (i = 0; i < sizeof(ledger) / sizeof(ledger[0]); i++)
		if (faccessat(dirfd, ledger[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return 0;
	return -1;
}

int
load_open(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len)
{
	memset(load, 0, sizeof(*load));
	tree_frontier_init(&load->frontier);
	load->dirfd = evidence_dir(options->path);
	if (load->dirfd < 0) {
		snprintf(err, err_len, "%.200s: %s", options->path, errno == ENOTDIR ?
		    "neither a directory nor a bundle's file (zstd)" :
		    strerror(errno));
		return -1;
	}
	if (kind_of(load->dirfd, &load->kind) != 0) {
		snprintf(err, err_len, "%.200s: neither an evidence bundle "
		    "(manifest.json) nor a ledger (checkpoint, records-*.jsonl)",
		    options->path);
		return -1;
	}
	result->kind = load->kind;
	/* Others' statements before the records: anchor.h says why. */
	if (keys_load(load, options, result) != 0 ||
	    gather_read(&load->others, load->dirfd, load->kind == VERIFY_BUNDLE) != 0) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	if (options->head != NULL && load_head(load, options, err, err_len) != 0)
		return -1;
	if (options->since && can_go_on(load, err, err_len) != 0)
		return -1;
	if ((load->kind == VERIFY_BUNDLE ?
	    load_bundle(load, options, result, err, err_len) :
	    load_ledger(load, options, result, err, err_len)) != 0)
		return -1;
	if (keys_take_others(load) != 0) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	return 0;
}

unsigned
load_threads(const struct verify_options *options)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (options->threads != 0)
		return options->threads;
	return online < 1 ? 1 : online > THREADS_DEFAULT_MAX ? THREADS_DEFAULT_MAX :
	    (unsigned)online;
}

uint64_t
load_sealed(const struct load *load)
{
	return load->latest.state == SEAL_MALFORMED ? 0 : load->latest.at.size;
}

void
load_close(struct load *load)
{
	if (load->dirfd >= 0)
		close(load->dirfd);
	epochs_free(&load->epochs);
	gather_free(&load->others);
	manifest_free(&load->manifest);
	free(load->segment);
	free(load->seals.seal);
	if (load->leaves_good)
		leaves_close(&load->leaves);
	free(load->note);
}
