#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/anchor/anchor.h"
#include "ledger/bundle/archive.h"
#include "ledger/bundle/impl.h"
#include "ledger/coverage/coverage.h"
#include "ledger/evidence/evidence.h"
#include "ledger/tree/epochs.h"

/* ---- what stands beside the records ---- */

/* The note of that size as it stands in the log of all, or the latest. */
static int
put_checkpoint(struct bundle *b)
{
	size_t len;
	char *text = load_note_text(&b->load, &b->seal, &len);
	int result;

	if (text == NULL)
		return bundle_fail(b, "the checkpoint of size %" PRIu64 " is gone", b->until);
	result = bundle_put(b, "ledger/checkpoint", text, len);
	free(text);
	return result;
}

/* The keys that follow from the pinned one, if any do. */
static int
copy_epochs(struct bundle *b)
{
	size_t len;
	char *text;
	int status;

	if (faccessat(b->load.dirfd, EPOCHS_FILE, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	text = evidence_read(b->load.dirfd, EPOCHS_FILE, EPOCHS_BYTES_MAX, &len);
	if (text == NULL)
		return bundle_fail(b, EPOCHS_FILE ": %s", load_reason());
	/* without one that is being written */
	status = bundle_put(b, "keys/" EPOCHS_FILE, text, epochs_whole(text, len));
	free(text);
	return status;
}

static int
put_anchor(void *context, const char *name, const void *bytes, size_t len)
{
	char path[160];

	snprintf(path, sizeof(path), "ledger/anchors/%s", name);
	return bundle_put(context, path, bytes, len);
}

/* Everybody's nearest statement about a tree that holds this one, proved to. */
static int
put_anchors(struct bundle *b)
{
	struct problem problem = { .text = "" };
	int status = anchor_extract(b->load.dirfd, b->until, put_anchor, b,
	    &problem);

	return status != 0 && problem.text[0] != '\0' ?
	    bundle_fail(b, "%s", problem.text) : status;
}

static int
copy_packs(struct bundle *b)
{
	const struct bundle_pack *pack = b->options->packs;
	char under[80];
	size_t i;

	for (i = 0; i < b->options->pack_count; i++, pack++) {
		if (!record_policy_valid(pack->digest, strlen(pack->digest)))
			return bundle_fail(b, "a pack's digest is malformed");
		if (!packs_is_named(&b->named, pack->digest))
			continue;
		snprintf(under, sizeof(under), "packs/%s", pack->digest + 7);
		if (bundle_copy_tree(b, pack->dir, under) != 0)
			return -1;
	}
	return 0;
}

/* One file that somebody names, below `under` by its own name. */
static int
copy_file(struct bundle *b, const char *from, const char *under)
{
	char dir[EVIDENCE_PATH_MAX], to[EVIDENCE_PATH_MAX];
	const char *slash = strrchr(from, '/');
	const char *name = slash != NULL ? slash + 1 : from;
	int fd, result, n = snprintf(dir, sizeof(dir), "%.*s", slash == NULL ? 1 :
	    slash == from ? 1 : (int)(slash - from), slash == NULL ? "." : from);

	if (n < 0 || (size_t)n >= sizeof(dir) || (size_t)snprintf(to, sizeof(to), "%s/%s",
	    under, name) >= sizeof(to))
		return bundle_fail(b, "%.300s: too long a path", from);
	if ((fd = evidence_dir(dir)) < 0)
		return bundle_fail(b, "%.300s: %s", dir, strerror(errno));
	result = bundle_copy(b, fd, name, to);
	close(fd);
	return result;
}

static int
copy_given(struct bundle *b)
{
	const struct {
		const char *from, *under;
		int (*check)(const char *path, char *err, size_t err_len);
	} all[] = {
		{ b->options->coverage, "coverage", coverage_check_claim },
		{ b->options->truth, "truth", coverage_check_truth },
	};
	struct stat st;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].from == NULL)
			continue;
		if (stat(all[i].from, &st) != 0)
			return bundle_fail(b, "%.300s: %s", all[i].from, strerror(errno));
		if (S_ISDIR(st.st_mode) ? bundle_copy_tree(b, all[i].from, all[i].under) != 0 :
		    all[i].check(all[i].from, b->err, b->err_len) != 0 ||
		    copy_file(b, all[i].from, all[i].under) != 0)
			return -1;
	}
	return 0;
}

/* ---- manifest ---- */

static int
list_visit(void *context, const char *path, uint64_t size, int regular)
{
	struct bundle *b = context;
	char hex[65];

	if (!manifest_path_clean(path))
		return bundle_fail(b, "%s: the name is not UTF-8, or holds control "
		    "characters: a bundle cannot hold it", path);
	if (!regular || evidence_digest(b->dirfd, path, hex) != 0 ||
	    manifest_add(&b->manifest, path, size, hex) != 0)
		return bundle_fail(b, "%s: %s", path, strerror(errno));
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
	struct manifest *m = &b->manifest;
	size_t len;
	char *text;
	int result;

	snprintf(m->origin, sizeof(m->origin), "%s", b->load.origin);
	snprintf(m->run, sizeof(m->run), "%s", b->options->run);
	m->first = b->before.size;
	m->size = b->until;
	if (evidence_walk(b->dirfd, list_visit, b) != 0)
		return -1;
	qsort(m->file, m->count, sizeof(*m->file), by_path);
	if ((text = manifest_format(m, &len)) == NULL)
		return bundle_fail(b, "out of memory");
	result = bundle_put(b, "manifest.json", text, len);
	free(text);
	return result;
}

/* ---- putting it in place ---- */

static int
sync_parent(struct bundle *b)
{
	char parent[EVIDENCE_PATH_MAX], *slash;
	int fd, bad;

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
	return bad ? bundle_fail(b, "%.300s: %s", parent, strerror(errno)) : 0;
}

static int
put_in_place(struct bundle *b, char *temp)
{
	if (renameat2(AT_FDCWD, temp, AT_FDCWD, b->options->out, RENAME_NOREPLACE) != 0)
		return bundle_fail(b, "%.300s: %s", b->options->out, strerror(errno));
	temp[0] = '\0';
	return sync_parent(b);
}

static int
put_archive(struct bundle *b)
{
	int n = snprintf(b->temp_file, sizeof(b->temp_file), "%s.XXXXXX", b->options->out);
	int fd = -1, result;

	if (n < 0 || (size_t)n >= sizeof(b->temp_file) ||
	    (fd = mkostemp(b->temp_file, O_CLOEXEC)) < 0) {
		b->temp_file[0] = '\0';
		return bundle_fail(b, "%.300s: %s", b->options->out, strerror(errno));
	}
	result = archive_write(b->dirfd, &b->manifest, fd, b->err, b->err_len);
	if (result == 0 && fsync(fd) != 0)
		result = bundle_fail(b, "%.300s: %s", b->options->out, strerror(errno));
	if (close(fd) != 0 && result == 0)
		result = bundle_fail(b, "%.300s: %s", b->options->out, strerror(errno));
	return result == 0 ? put_in_place(b, b->temp_file) : -1;
}

static int
make_temp(struct bundle *b)
{
	int n = snprintf(b->temp, sizeof(b->temp), "%s.XXXXXX", b->options->out);
	struct stat st;

	/* said before anything is read; the renaming has the last word */
	if (lstat(b->options->out, &st) == 0) {
		b->temp[0] = '\0';
		return bundle_fail(b, "%.300s is there already, and is not "
		    "replaced: name another file", b->options->out);
	}
	if (n < 0 || (size_t)n >= sizeof(b->temp) || mkdtemp(b->temp) == NULL) {
		b->temp[0] = '\0';
		return bundle_fail(b, "%.300s: %s", b->options->out, strerror(errno));
	}
	if ((b->dirfd = evidence_dir(b->temp)) < 0)
		return bundle_fail(b, "%.300s: %s", b->temp, strerror(errno));
	return 0;
}

/* ---- the whole ---- */

static int
load_ledger_of(struct bundle *b)
{
	struct verify_options options = { .path = b->options->ledger, .key = &b->key };
	struct verify_result *findings = calloc(1, sizeof(*findings));
	const int dirfd = evidence_dir(b->options->ledger);
	char *vkey = NULL;
	size_t len = 0;
	int result = -1;

	if (dirfd >= 0) {
		vkey = evidence_read(dirfd, "log.vkey", NOTE_VKEY_MAX + 1, &len);
		close(dirfd);
	}
	if (vkey != NULL && len > 0 && vkey[len - 1] == '\n')
		len--;
	if (findings == NULL || vkey == NULL || note_key_parse(&b->key, vkey, len) != 0)
		bundle_fail(b, "%.300s: no log.vkey that can be read", b->options->ledger);
	else
		result = load_open(&b->load, &options, findings, b->err, b->err_len);
	if (result == 0 && b->load.kind != VERIFY_LEDGER)
		result = bundle_fail(b, "%.300s: no ledger", b->options->ledger);
	free(vkey);
	free(findings);
	return result;
}

static int
write_all(struct bundle *b)
{
	if (load_ledger_of(b) != 0 || make_temp(b) != 0 || bundle_take(b) != 0 ||
	    put_checkpoint(b) != 0 || bundle_put_before(b) != 0 || put_anchors(b) != 0 ||
	    copy_epochs(b) != 0 ||
	    bundle_copy(b, b->load.dirfd, "log.vkey", "keys/log.vkey") != 0 ||
	    copy_packs(b) != 0 || copy_given(b) != 0 || put_manifest(b) != 0)
		return -1;
	if (b->options->archive)
		return put_archive(b);
	if (tempdir_sync_below(b->dirfd) != 0)
		return bundle_fail(b, "%.300s: cannot be synced", b->temp);
	return put_in_place(b, b->temp);
}

static void
clean_up(struct bundle *b)
{
	if (b->records != NULL)
		fclose(b->records);
	if (b->leaves != NULL)
		fclose(b->leaves);
	if (b->temp[0] != '\0' && b->dirfd >= 0) {
		tempdir_erase_below(b->dirfd);
		rmdir(b->temp);
	}
	if (b->temp_file[0] != '\0')
		unlink(b->temp_file);
	if (b->dirfd >= 0)
		close(b->dirfd);
	manifest_free(&b->manifest);
	load_close(&b->load);
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
	b->end = b->until = UINT64_MAX;
	result = write_all(b);
	clean_up(b);
	free(b);
	return result;
}
