/*
 * What the records say of runs as wholes: that each is opened, closed and torn
 * down once, before the session that opened it closes; that nothing is admitted for
 * one behind its teardown, that the teardown says where the run began and ended, and
 * that the scan before it says one thing.  An outcome or a refusal may come later:
 * what was under way is cut, and what asks for a run that is over is refused.
 * Scans that found a secret are counted, since nobody who looks later need know it; and
 * what adapters declare that they lost.
 *
 * Of a ledger the runs are kept that records were of last, in constant memory: one
 * that none was of since 8,192 others is not remembered, but for whether it was torn
 * down, and what it may do.  What a run was opened for is held against what it and the
 * runs below it do.  A bundle is of one run, which is never forgotten: its teardown's
 * counts are held against the records.
 */
#ifndef LEDGER_VERIFY_RUNS_H
#define LEDGER_VERIFY_RUNS_H

#include "ledger/verify/load.h"

struct links;
struct runs;

enum runs_kind { RUNS_ON, RUNS_RUN, RUNS_SCAN, RUNS_LOSS, RUNS_TEARDOWN,
	RUNS_BEGIN, RUNS_END,	/* a session's, of the line's stream */
	RUNS_UNKNOWN,		/* a record of a type that is not known */
	RUNS_RECOVER		/* that a torn end was cut off */
};

/* Of a batch, by itself: where the run changes, and the records about runs. */
struct runs_part {
	unsigned count;
	struct runs_fact {
		uint64_t run;		/* its number; 0: of no run.  From BEGIN on: 1 */
		uint16_t line;
		uint16_t requests;	/* ON: let through until the run changes */
		uint8_t kind;
	} fact[2 * WALK_LINES];
};

static inline void
runs_note(struct runs_part *part, unsigned line, uint64_t run, enum runs_kind kind)
{
	part->fact[part->count++] = (struct runs_fact){ run, (uint16_t)line, 0, (uint8_t)kind };
}

/* links: for the numbers of runs.  NULL where memory lacks. */
struct runs *runs_new(const struct load *load, const struct links *links);
void runs_free(struct runs *runs);

/* The batches in order, up to the tree's size `end`. */
void runs_batch(struct runs *runs, const struct walk_batch *batch,
    const struct runs_part *part, uint64_t end);

/* A bundle: each line that is a record, in order.  ours: of its run. */
void runs_count(struct runs *runs, const struct walk_batch *batch, unsigned line, bool ours);

/* Once all were taken: findings, in the signed records.  dropped: declared losses
 * explain what a teardown counts and the records lack. */
void runs_judge(struct runs *runs, bool dropped, struct verify_result *result);

#endif
