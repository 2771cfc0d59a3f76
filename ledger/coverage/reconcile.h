/* One observer's truth against the records: the inside of coverage.h. */
#ifndef LEDGER_COVERAGE_RECONCILE_H
#define LEDGER_COVERAGE_RECONCILE_H

#include "ledger/coverage/coverage.h"
#include "ledger/coverage/truth.h"

struct reconcile {
	const struct coverage_options *options;
	const struct recorded *recorded;
	const size_t *by_leaf;			/* of recorded */
	const struct truth *truth;
	struct coverage_source *source;		/* filled in; its names are set */
	struct verify_result *result;		/* gets the findings */
};

/* 0, or -1 where memory lacks. */
int reconcile_run(struct reconcile *reconcile);

/* state.c: the statement of all sources together, into result and coverage. */
void coverage_state(struct coverage *coverage, struct verify_result *result);

#endif
