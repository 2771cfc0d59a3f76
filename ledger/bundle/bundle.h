/*
 * One run's evidence, cut out of a ledger while its recorder goes on writing:
 *
 *   manifest.json            what it is, and every file's digest (manifest.h)
 *   ledger/frontier          the tree before the run's first record
 *   ledger/records.jsonl     all records from there to the checkpoint's size
 *   ledger/leaves            their leaf hashes, 32 bytes each: with them a
 *                            changed record is named exactly
 *   ledger/checkpoint        the first signed one behind the run's end
 *   ledger/after             the anchor's record that the run's opening names
 *   ledger/anchors/          what witnesses and time stamp authorities said of
 *                            the nearest tree that holds this one, with a proof
 *   keys/log.vkey            for convenience: a verifier pins its own copy
 *   keys/epochs              how later keys follow from it, if any do
 *   packs/<64 hex>/          each policy pack, by digest
 *   coverage/                manifests of adapters, if any
 *   truth/                   what independent observers recorded, if any
 *
 * Frontier and records give the checkpoint's root again, so nothing within can
 * be left out.  Records of other runs that lie between are part of it.
 * A directory, or one file (archive.h).  The same ledger gives the same bytes.
 * FORMAT.md.
 */
#ifndef LEDGER_BUNDLE_H
#define LEDGER_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

struct bundle_pack {
	const char *digest;	/* "sha256:<64 hex>" */
	const char *dir;
};

struct bundle_options {
	const char *ledger;	/* the ledger's directory; only read */
	const char *run;
	const char *out;	/* must not exist; made 0700, as a file 0600 */
	const struct bundle_pack *packs;	/* those that no record names are left out */
	size_t pack_count;
	/* A coverage manifest, or a directory to be copied as it is; NULL: none. */
	const char *coverage;
	/* The same with a file of ground truth (ledger/coverage/truth.h). */
	const char *truth;
	bool archive;		/* out is one file: <name>.tar.zst by custom */
};

/*
 * Written beside out, synced, then put in place whole.  What it costs follows
 * from what was recorded since the run was opened; memory is constant.  0, or
 * -1 with a message and nothing left behind: no such run, not ended or sealed
 * yet, records that do not give the signed root, no space.
 */
int bundle_write(const struct bundle_options *options, char *err,
    size_t err_len);

#endif
