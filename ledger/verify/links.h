/*
 * What records say they were admitted under: the member `parent` of a body is
 * the leaf hash of an earlier record, of a type that can admit this one.
 *
 *   run, scan, teardown         a run
 *   grant                       a run, a grant (revoked), a decision
 *   use, decision, refusal      a run, a grant, a decision
 *   outcome                     a use, a decision; it must name one
 *
 * The two are of one run, but for a run that was opened below another, which it may
 * name, and a refusal of what another run holds.  A use, a decision and an outcome are of a
 * run and name a parent; a use says that it was allowed, and a decision that or
 * that a person is to be asked.  A use or a decision has one outcome at most, and a grant no more uses than its body's `requests`.
 * Under a person's consent that is for one ("approval":{"for":"once"}) stands one use,
 * decision or grant at most, and no outcome.
 *
 * Leaves of records that can admit are remembered, the latest ones that were
 * used of them, in constant memory; what is not among them is looked up in a
 * second walk over the records, and so is what they were used for before.  Of a
 * leaf and its record's run 61 bits are kept, the mark: they come from a universal
 * hash over all of both under a key that is drawn for each verification, so nobody
 * can make another leaf, or something that is none, with the same mark but by luck
 * (2^-58 for each that is looked up).
 */
#ifndef LEDGER_VERIFY_LINKS_H
#define LEDGER_VERIFY_LINKS_H

#include "ledger/verify/load.h"
#include "ledger/verify/runs.h"

#define LINKS_LOOSE_MAX 1024	/* looked up in the second walk */

struct links;

/* What a batch's records are and name, for links_batch.  A record about a run
 * stands here twice, since one of another run may name it. */
struct links_part {
	unsigned count;
	struct links_fact {
		uint64_t admits;	/* what is kept of it; 0: it admits nothing */
		uint64_t parent;	/* its mark, where it names one */
		uint32_t uses;		/* of a grant: how many it is for */
		uint16_t line;
		uint8_t kind;
		uint8_t names;		/* a parent: none, one, a member that is no leaf, ... */
	} fact[2 * WALK_LINES];
	struct runs_part runs;		/* for runs_batch */
};

/* only: records of this run are looked at alone, in a bundle; or NULL.
 * NULL where memory lacks. */
struct links *links_new(const struct load *load, const char *only);
void links_free(struct links *links);

/* Of a batch by itself, any thread. */
void links_look(const struct links *links, const struct walk_batch *batch,
    struct links_part *part);

/* The batches in order, up to the tree's size `end`. */
void links_batch(struct links *links, const struct walk_batch *batch,
    const struct links_part *part, uint64_t end);

/* The number that `runs` in a links_part has for a run; 0: none. */
uint64_t links_run(const struct links *links, struct record_slice run);

/* Is it a request that was let through?  What adapters ask about is decided and is none. */
bool links_request(const struct record_line *record);

/* Once all were taken: findings for what does not fit, in the signed records.
 * again walks over the records once more where that is needed. */
void links_judge(struct links *links, struct verify_result *result,
    int (*again)(const struct load *, int (*)(void *, const struct walk_batch *),
    void *));

#endif
