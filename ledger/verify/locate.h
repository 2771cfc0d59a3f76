/* Which record was changed, once the root does not fit.  Private to verify. */
#ifndef LEDGER_VERIFY_LOCATE_H
#define LEDGER_VERIFY_LOCATE_H

#include "ledger/verify/chain.h"
#include "ledger/verify/load.h"

#define LOCATE_SPAN (UINT64_C(1) << 20)	/* leaves that are looked through at most */

/*
 * By the authenticated leaves: exactly.  Fed with the lines in order, then
 * ended; each difference becomes one finding.  Memory is constant; what is a
 * difference for more than LOCATE_SPAN records in a row has no end.
 */
struct locate {
	const struct load *load;
	struct verify_result *result;
	struct leaves *leaves;
	uint64_t first;		/* index of the first leaf in the tree */
	uint64_t end;		/* size of the signed tree: what lies beyond is not told */
	unsigned segment;	/* of the load, where the lines begin */
	uint32_t *table;	/* hash table of leaves from base on, number + 1 */
	uint64_t mask, base;
	uint64_t at;		/* next authentic leaf, counted from the first */
	unsigned pending;	/* lines since then that match none */
	struct verify_finding place;	/* of the first of these */
};

/* What is named by then may be set before: load, result, leaves, first,
 * end, segment.  0, or -1 where memory lacks; free in any case. */
int locate_begin(struct locate *locate);
void locate_batch(struct locate *locate, const struct walk_batch *batch);
void locate_end(struct locate *locate);
void locate_free(struct locate *locate);

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

/* Where the event is: index, line, file, stream.  The finding. */
struct verify_finding *locate_at_event(const struct chain *chain, const struct load *load,
    const struct chain_event *event, struct verify_finding *finding);

/* Findings for what the chain shows in a ledger whose root is as signed. */
void locate_flaws(const struct chain *chain, const struct load *load,
    struct verify_result *result);

#endif
