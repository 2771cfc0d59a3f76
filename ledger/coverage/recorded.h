/*
 * What the records say: which actions were let through and when, which were
 * refused, how long the run lasted, and what its adapters claim to see.
 */
#ifndef LEDGER_COVERAGE_RECORDED_H
#define LEDGER_COVERAGE_RECORDED_H

#include <stdint.h>

#include "ledger/coverage/claim.h"
#include "ledger/record/record.h"
#include "ledger/tree/tree.h"

#define RECORDED_ACTS_MAX 4000000
#define RECORDED_CLAIMS_MAX 64
#define RECORDED_LOOKED_AT 4096

enum recorded_fate {
	RECORDED_OPEN,		/* let through; what became of it is not told */
	RECORDED_SENT,		/* and answered: it did happen */
	RECORDED_BROKEN,	/* and not carried out in full, or nobody knows */
	RECORDED_NOTHING,	/* let through, and then nothing was sent */
	RECORDED_REFUSED
};

struct recorded_act {
	char *key;		/* act_key; of one whose path is hidden "/" and nothing else */
	char *grant;		/* or NULL */
	int64_t from_us, to_us;	/* decided; over, or the end of the records */
	uint64_t index;
	uint8_t leaf[TREE_HASH_LEN];
	int status;		/* of the answer; 0: not told */
	bool unsettled;		/* it may have happened or not */
	enum recorded_fate fate;
	bool ours;		/* of the run */
	bool hidden;		/* its path is a digest */
};

struct recorded_claim {
	struct claim claim;
	bool is_record;		/* else a file, for which nobody vouches */
	uint64_t index;		/* of the record */
	char file[256];		/* or the file */
};

struct recorded {
	struct recorded_act *act;	/* by index */
	size_t n;
	uint64_t unclear;	/* actions whose target is in no spelling of act.h */
	uint64_t unread;	/* lines that are no record */
	bool full;		/* there were more than fit */
	int64_t from_us, to_us;	/* from the run's opening to its teardown, or of all */
	struct recorded_claim claim[RECORDED_CLAIMS_MAX];
	size_t claims;
	uint64_t bad_claims;	/* that cannot be read, or are too many */
};

/* From a ledger's or bundle's directory; run NULL: all of it.  With claims_only
 * nothing but the claims, and those among the first RECORDED_LOOKED_AT records, for
 * whoever has no truth to hold against the rest.  0, or -1 with a message; free in
 * any case. */
int recorded_read(struct recorded *recorded, const char *dir, const char *run,
    bool claims_only, char *err, size_t err_len);
void recorded_free(struct recorded *recorded);

/* One more claim, taken over (also where it fails: then it is freed). */
void recorded_add_claim(struct recorded *recorded, struct claim *claim,
    const char *file, uint64_t index);

/* The action whose record has that leaf, or NULL; sorts by leaf what order
 * refers to. */
const struct recorded_act *recorded_find(const struct recorded *recorded,
    const size_t *by_leaf, const uint8_t leaf[TREE_HASH_LEN]);
/* Places in act by leaf, to be freed; NULL where memory lacks. */
size_t *recorded_by_leaf(const struct recorded *recorded);

#endif
