/*
 * What a run's teardown counts, against the run's records.  Each request counts
 * once: as allowed, as refused, also where it was allowed first, or as failed.
 * Requests that were under way (`unfinished`) may be told either way.
 */
#ifndef LEDGER_VERIFY_TALLY_H
#define LEDGER_VERIFY_TALLY_H

#include "ledger/verify/verify.h"

/* Zeroed before the first record. */
struct tally {
	struct tally_sum {
		uint64_t admitted;	/* uses, and decisions that are no adapter's */
		uint64_t outcomes, withdrawn, unreached;
		uint64_t refused;
		uint64_t grants, redacted;
	} sum;
	struct tally_sum at_end;	/* as it stood at the teardown */
	bool over, counts;
	bool places;		/* the teardown tells where the run ended */
	struct tally_odd {
		uint64_t count, first, first_seq;
	} unknown, opposed;	/* outcomes that say an unknown `ended`; two things at once */
	uint64_t allowed, refused, failed, unfinished;	/* as told; */
	uint64_t grants, redacted;	/* these may not be */
	bool tells_grants, tells_redacted;
};

/* index: the record's. */
void tally_take(struct tally *tally, const struct record_line *record, uint64_t index);

/* Findings where the two differ, but for where records are said to be dropped; and for
 * outcomes that do not say how they ended. */
void tally_judge(const struct tally *tally, bool dropped, struct verify_result *result);

#endif
