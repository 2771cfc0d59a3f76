#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger/anchor/anchors.h"
#include "ledger/evidence/evidence.h"
#include "ledger/tree/epochs.h"
#include "ledger/verify/vouch.h"

const char *
vouch_shown(const struct verify_options *options, const char *path)
{
	return options->shown == NULL ? path :
	    options->shown(options->shown_context, path);
}

/* Held against the signed root, the pinned key, or refused. */
static bool
is_ledgers(const struct load *load, bool after_vouched, const char *path)
{
	static const char *const files[] = { "manifest.json", "ledger/frontier",
	    "ledger/records.jsonl", "ledger/leaves", "ledger/checkpoint", "keys/log.vkey" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(path, files[i]) == 0)
			return true;
	if (strcmp(path, BOUND_FILE) == 0)
		return after_vouched;
	return load->epochs.count > 1 && strcmp(path, "keys/" EPOCHS_FILE) == 0;
}

/* The very file that an anchor's claim was read from. */
static bool
is_anchor(const struct verify_result *r, const char *path)
{
	char want[192];

	for (unsigned i = 0; i < r->anchors; i++) {
		const struct verify_anchor *a = &r->anchor[i];

		if (a->size == 0)
			continue;
		snprintf(want, sizeof(want), "ledger/" ANCHORS_DIR "/%020" PRIu64 "%s%s%s",
		    a->size, a->witness ? ".anchor" : ".", a->witness ? "" : a->name,
		    a->witness ? "" : ".tsr");
		if (strcmp(path, want) == 0)
			return true;
	}
	return false;
}

static int
on_file(void *context, const char *path, uint64_t size, int regular)
{
	struct pass *pass = context;
	struct verify_result *r = pass->result;

	(void)size;
	/* packs_check has a finding for each file there that no record vouches for */
	if (!regular || strncmp(path, "packs/", 6) == 0 ||
	    is_ledgers(pass->load, r->after_vouched, path) || is_anchor(r, path))
		return 0;
	if (r->unvouched_count++ < VERIFY_UNVOUCHED_MAX)
		snprintf(r->unvouched[r->unvouched_kept++], sizeof(r->unvouched[0]), "%s",
		    vouch_shown(pass->options, path));
	return 0;
}

void
vouch_files(struct pass *pass)
{
	(void)evidence_walk(pass->load->dirfd, on_file, pass);
}

void
vouch_taken(struct verify_result *r, const char *path)
{
	unsigned i = 0;

	while (i < r->unvouched_kept && strncmp(r->unvouched[i], path,
	    sizeof(r->unvouched[i]) - 1) != 0)
		i++;
	if (i == r->unvouched_kept && r->unvouched_count <= r->unvouched_kept)
		return;		/* nobody listed it */
	r->unvouched_count--;
	if (i == r->unvouched_kept)
		return;
	r->unvouched_kept--;
	memmove(r->unvouched[i], r->unvouched[i + 1], (r->unvouched_kept - i) * sizeof(r->unvouched[0]));
}
