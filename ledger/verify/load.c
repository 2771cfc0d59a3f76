#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/tree/hashes.h"
#include "ledger/verify/keys.h"
#include "ledger/verify/load_impl.h"
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

int
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

/* ---- either ---- */

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
	if (keys_load(load, options, result, err, err_len) != 0)
		return -1;
	if (gather_read(&load->others, load->dirfd, load->kind == VERIFY_BUNDLE) != 0) {
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
