/* Which record was changed, once the root does not fit.  Private to verify. */
#ifndef LEDGER_VERIFY_LOCATE_H
#define LEDGER_VERIFY_LOCATE_H

#include "ledger/verify/chain.h"
#include "ledger/verify/load.h"

/*
 * By the authenticated leaves: exactly.  Fed with the lines in order, then
 * ended; each difference becomes one finding.
 */
struct locate {
	const struct load *load;
	struct verify_result *result;
	uint64_t at;		/* next authentic leaf, counted from the first */
	unsigned pending;	/* lines since then that match none */
	struct verify_finding first;	/* of these */
};

void locate_init(struct locate *locate, const struct load *load,
    struct verify_result *result);
void locate_batch(struct locate *locate, const struct walk_batch *batch);
void locate_end(struct locate *locate);

/*
 * By the chain alone, where no leaves are kept: a changed record no longer has
 * the leaf that the next record of its stream names.  One finding for each
 * place that does not fit.
 */
struct suspects {
	const struct chain *chain;
	const struct load *load;
	uint64_t from;		/* size of the last root that was reproduced */
	uint64_t to;		/* size of the first one that was not */
	/* Would the signed root come out, had that record this leaf? */
	bool (*fits)(void *context, uint64_t index, const uint8_t leaf[TREE_HASH_LEN]);
	void *context;
	struct verify_result *result;
};

void locate_by_chain(const struct suspects *suspects);

/* Findings for what the chain shows in a ledger whose root is as signed. */
void locate_flaws(const struct chain *chain, const struct load *load,
    struct verify_result *result);

#endif
