/*
 * Anchoring: does anybody else vouch for this history?  Asked once it is known
 * which tree the log's key signed and the records give.
 *
 * A witness's cosignature counts where the checkpoint under it is signed by the
 * log and belongs to this history: its root is the one that the records give
 * at that size, or, behind a bundle, a consistency proof leads there.  A time
 * stamp counts likewise.  What the log signed and does not belong here refutes
 * more than anchoring: it is another history, or the end of this one is gone.
 * Nothing is kept between calls: any thread.
 */
#ifndef LEDGER_ANCHOR_ANCHOR_H
#define LEDGER_ANCHOR_ANCHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/anchor/gather.h"
#include "ledger/anchor/stamp.h"
#include "ledger/anchor/trust.h"
#include "ledger/tree/epochs.h"

#define ANCHOR_TEXT_MAX 320

enum anchor_verdict {	/* in the order of verify_verdict */
	ANCHOR_ESTABLISHED, ANCHOR_REFUTED, ANCHOR_NOT_ESTABLISHED
};

struct anchor_question {
	int dirfd;			/* of the ledger, or of the bundle */
	bool bundle;
	const struct trust *trust;	/* NULL: nobody is trusted */
	const struct epochs *epochs;	/* the log's keys */
	/* What there is of others' statements.  Of a ledger that is written to
	 * it is gathered before the records are read: what is gathered after
	 * them may be of records that came meanwhile, and looks like a cut. */
	const struct gather *others;
	struct checkpoint at;		/* signed, and what the records give */
	uint64_t records;		/* that are there: at.size, or more */
	int64_t now_s;			/* since 1970; for freshness */
	/* Do the records give that root at that size?  1, 0, or -1: not known.
	 * NULL: only at.size is known. */
	int (*stands)(void *context, const struct checkpoint *at);
	void *context;
};

/* What one of those whom the policy names has said. */
struct anchor_claim {
	const char *name;	/* in the policy */
	bool witness;
	uint64_t size;		/* of the largest tree it vouches for; 0: none */
	int64_t time_s;		/* since when, by its own clock */
	int64_t seen_s;		/* when it said so last */
	uint8_t signer[STAMP_DIGEST_LEN];	/* of an authority's stamp: whose key */
};

struct anchor_answer {
	enum anchor_verdict verdict;
	char text[ANCHOR_TEXT_MAX];
	bool demanded;		/* by the policy: counts for the whole */
	uint64_t size;		/* anchored as the policy demands; 0: not */
	int64_t time_s;		/* since then at the latest */
	const char *code;	/* of a refutation: "fork", "rollback"; else NULL */
	uint64_t contradiction;	/* the size of the checkpoint that refutes */
	uint64_t lone;		/* a ledger's: a stamp is kept for so many records,
				 * more than there are, and no checkpoint; 0: none */
	struct anchor_claim claim[TRUST_WITNESSES_MAX + TRUST_AUTHORITIES_MAX];
	unsigned claims;
};

/* All of the answer is set; its texts are copies or constants, but for the claims' names,
 * which are the trust policy's. */
void anchor_ask(const struct anchor_question *question,
    struct anchor_answer *answer);

/*
 * For a bundle of the log's first `size` records: the nearest checkpoint behind
 * it that others vouch for, as submissions, and its stamps, out of the ledger
 * in dirfd.  put is called for each file; 0, or what it returned, or -1 with a
 * problem where the ledger cannot be read.  Nothing there is no failure.
 */
int anchor_extract(int dirfd, uint64_t size,
    int (*put)(void *context, const char *name, const void *bytes, size_t len),
    void *context, struct problem *problem);

#endif
