/*
 * The work on one observer, and the pairing of what he saw with the records, sort by
 * sort and round by round.  Private to reconcile.c and passes.c.
 */
#ifndef LEDGER_COVERAGE_PASSES_H
#define LEDGER_COVERAGE_PASSES_H

#include "ledger/coverage/match.h"
#include "ledger/coverage/reconcile.h"

#define PASSES_NONE SIZE_MAX

/* Records of one sort, by key. */
struct index {
	struct match_slot *slot;
	size_t n;
};

/* Of an action: within the run, outside of it, or too near to an end to tell. */
enum place { WITHIN, OUTSIDE, EDGE };

/* Which of them a round of passes is about. */
enum round { EVERY, NEAR, FAR };

/* Which records: those of which it is known what became, the others, or all, with
 * the others last. */
enum tier { SETTLED, UNSETTLED, ALL };

struct work {
	struct reconcile *re;
	struct index tunnels, refused, spare;	/* by "host:port"; by key */
	size_t *pair;		/* of each that was seen: its record, or PASSES_NONE */
	bool *again;		/* it names an action that another line named */
	bool *taken, *taken_tcp;	/* of each record: it has its one */
	struct match_slot *record, *seen;	/* of a pass */
	char **key;		/* made for a pass, as many as there are seen or recorded */
	size_t keys;
	bool *taking;		/* which of the two flags */
	unsigned char *place;	/* of each that was seen: enum place */
	enum round round;
	enum tier tier;
	bool gave_up;		/* more pairs may be possible */
	uint64_t looks;		/* left for scope_find */
	struct act *act;	/* scratch */
	char about[ACT_VERB_MAX + ACT_TARGET_MAX + 2];	/* act, to be shown */
	int64_t window_us;	/* of this round */
};

/* All that can be paired, in w->pair and w->taken.  0, or -1: no memory. */
int passes_best(struct work *work);

/* How far the pairs are from what everybody wants: one that is left counts more
 * than all that are unsettled. */
uint64_t passes_left(const struct work *work);
/* Whether the record that it got does not tell what became of it. */
bool passes_is_unsettled(const struct work *work, size_t seen);

enum place passes_place(const struct work *work, const struct truth_seen *seen);
bool passes_is_kind(const char *key, const char *kind);
/* By record or grant. */
bool passes_is_named(const struct truth_seen *seen);

#endif
