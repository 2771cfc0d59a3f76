/* A bundle: its files as the manifest has them, and what of them says where its
 * records begin and end. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/verify/load_impl.h"
#include "ledger/verify/vouch.h"

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

int
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
		verify_of_file(verify_find(result, load->manifest.version > 1 ?
		    VERIFY_NOT_ESTABLISHED : VERIFY_GAP, "manifest", "%s", why),
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
