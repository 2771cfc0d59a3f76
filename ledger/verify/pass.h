/* The one pass over the records, and what it leaves for the judgement.  Private
 * to verify. */
#ifndef LEDGER_VERIFY_PASS_H
#define LEDGER_VERIFY_PASS_H

#include "ledger/verify/bound.h"
#include "ledger/verify/packs.h"
#include "ledger/verify/chain.h"
#include "ledger/verify/links.h"
#include "ledger/verify/load.h"

struct pass {
	struct load *load;
	struct verify_result *result;
	struct chain chain;
	struct links *links;
	struct runs *runs;
	struct bound *bound;
	struct tree_frontier tree;
	unsigned next_seal;
	uint64_t torn;			/* bytes of an unterminated end */
	uint64_t torn_line;
	unsigned torn_segment;
	bool nul;			/* a NUL ends the records, not the file's end */
	uint64_t beyond;		/* good records behind the first NUL, not followed */
	bool segment_gap;
	uint64_t run_first, run_records;	/* of the bundle's run */
	uint64_t opened, teardown;	/* indices, UINT64_MAX: none */
	struct packs_named named;	/* bundle: packs, by its records */
	const struct verify_options *options;
	uint64_t done;			/* bytes, for progress */
};

/* Read all records once.  0, or -1 with a message: a file cannot be read; -2:
 * memory lacks. */
int pass_run(struct pass *pass, char *err, size_t err_len);

/* Once more over the records, for what the first pass could not know.  As
 * walk_run, without a message. */
int pass_again(const struct load *load,
    int (*batch)(void *, const struct walk_batch *), void *context);

/* The verdict and all statements.  0, or -1 with a message: memory lacks. */
int judge(struct pass *pass, char *err, size_t err_len);

/* Were the signed records changed, as far as the roots tell?  *good gets the
 * largest signed size whose root came out, *bad the first that did not
 * (UINT64_MAX: none). */
bool changes_between(const struct pass *pass, uint64_t *good, uint64_t *bad);

/* A finding for each record that was changed.  0, or -1 where memory lacks. */
int changes_name(struct pass *pass, uint64_t good, uint64_t bad);

#endif
