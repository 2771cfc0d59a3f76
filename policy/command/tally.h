/* What came of deciding records again: counts, differences, an exit status. */
#ifndef POLICY_COMMAND_TALLY_H
#define POLICY_COMMAND_TALLY_H

#include "policy/command/records.h"
#include "policy/policy.h"

struct tally {
	bool json;		/* one object a line */
	struct arena *arena;	/* for words; reset by whoever reads records */
	unsigned long seen, same, differ, undecided;
	unsigned long gate;	/* refused by the gate's own rules */
	unsigned long engine;	/* no decisions: the engine gave none then */
	unsigned long other;	/* decided under another pack then */
};

/* One side of a difference. */
struct tally_side {
	const char *who;	/* "recorded", a pack, an engine */
	const char *decision;
	const char *rule, *reason;
	const struct policy_decision *full;	/* for obligations; NULL: not known */
};

const char *tally_word(enum policy_verdict verdict);

void tally_differ(struct tally *tally, const struct record *record,
    const struct tally_side *a, const struct tally_side *b);
/* It counts as neither same nor different. */
void tally_undecided(struct tally *tally, const struct record *record,
    const char *why);
/* The last line; 0 all the same, 1 some differ, 2 some (or all) could not be
 * decided. */
int tally_end(struct tally *tally);

#endif
