/*
 * The policy packs of a bundle.  Each record names the pack in force by its
 * digest, and the record is signed; so a pack is proved by working its digest
 * out again from its files:
 *
 *   SHA-256 over, for each file in the order of its path's bytes: the path
 *   below the pack, a zero, its length (8 bytes, big endian), its bytes
 *
 * policy/ computes the same when it loads a pack.
 */
#ifndef LEDGER_PACKS_H
#define LEDGER_PACKS_H

#include "ledger/verify/verify.h"

#define PACKS_NAMED_MAX 256	/* digests that are told apart */

/* The digests that records name. */
struct packs_named {
	struct {
		char hex[64];
		bool ours;	/* by a record of the bundle's run */
		bool here;	/* its pack is in the bundle */
	} pack[PACKS_NAMED_MAX];
	unsigned count, recent;
	bool more;		/* than there is room for */
};

/* A readable record's; ours: it is one of the bundle's run. */
void packs_note(struct packs_named *named, const struct record_line *record,
    bool ours);
/* Whether any record noted names "sha256:<64 hex>". */
bool packs_is_named(const struct packs_named *named, const char *digest);

/* The digest of the pack below dirfd; 0, or -1 and errno. */
int packs_digest(int dirfd, char hex[65]);

/*
 * Findings for what stands below packs/ in the bundle dirfd: packs whose
 * files give another digest than their directory's name.  And where names is
 * true, because the records are those that were signed: packs that the run's
 * records name and that are not there, and packs that no record names.
 */
void packs_check(int dirfd, struct packs_named *named, bool names,
    const struct verify_options *options, struct verify_result *result);

#endif
