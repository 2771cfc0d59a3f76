/*
 * Coverage: what independent observers saw (truth.h), held against the records,
 * one to one.  An action that was seen and has no record is a gap.
 *
 * Each observer is reconciled by himself.  An action that he saw belongs to
 *   recorded       a record that let it through, of that time and outcome; one that
 *                  does not tell its outcome (client gone, broken off) only where no
 *                  other is left, and then it is unsettled.  Or no record, and
 *   outside_time   it was before the run or after it
 *   outside_scope  no adapter claims to see such actions
 *   in_tunnel      a recorded tunnel to that place was open, and not looked into:
 *                  nobody knows whether it went through there
 *   edge           it cannot be told whether it was within the run (his clock
 *                  is coarser than the distance)
 *   unrecorded     none of these: the gap
 *
 * Adapters' claims count from `coverage` records, which the signed root vouches
 * for; files in coverage/ can only widen what is claimed.  A truth that lies in
 * the bundle is vouched for by nobody either: it can refute coverage, and cannot
 * establish it.  What the verifier brings himself can, and what an observer signed
 * whose key he pins, if that says to miss nothing from the run's opening to its end:
 * whoever made the bundle chose which of the observer's files to put there.
 */
#ifndef LEDGER_COVERAGE_COVERAGE_H
#define LEDGER_COVERAGE_COVERAGE_H

#include "ledger/coverage/recorded.h"
#include "ledger/coverage/signed.h"
#include "ledger/verify/verify.h"

#define COVERAGE_SOURCES_MAX 64
#define COVERAGE_WINDOW_MS 2000		/* how far clocks may be apart, by default */
#define COVERAGE_WINDOW_MAX_MS 600000

struct coverage_options {
	const char *dir;		/* a ledger's or bundle's directory */
	const char *run;		/* the bundle's; NULL or "": all records */
	const char *const *truth;	/* files that the verifier brings */
	size_t truths;
	int64_t window_ms;
	const struct note_key *observer;	/* whose signature counts */
	size_t observers;
	size_t observed;		/* so many must establish it; 0: no demand */
	int64_t now_us;			/* what lies behind it nobody has seen; 0: not asked */
	/* how a text of the files may be shown (it may hold a secret), valid until
	 * the next call; NULL: as it is */
	const char *(*shown)(void *context, const char *text);
	void *shown_context;
};

struct coverage_source {
	char source[CLAIM_NAME_MAX + 1], instance[CLAIM_NAME_MAX + 1];
	char file[80];			/* as findings name it */
	bool given;			/* by the verifier; else it lay in the bundle */
	enum signed_by signature;
	size_t observer;		/* by whom, of GOOD and FORGED */
	char signer[NOTE_NAME_MAX + 1];	/* "" where nobody signed */
	bool exhaustive;
	bool spans;			/* and for the whole of the run */
	char why[160];			/* it cannot be used; "" otherwise */
	uint64_t seen;			/* actions in the file, duplicates once */
	uint64_t recorded, ours;	/* of them: with a record of the run itself */
	uint64_t hidden;		/* of them: by their host alone */
	uint64_t outside_time, outside_scope, in_tunnel, edge, unrecorded;
	uint64_t refused;		/* of the unrecorded: the ledger has them refused */
	uint64_t duplicates;		/* lines that name an action again */
	uint64_t missed;		/* recorded as sent, his to see, and not seen */
	uint64_t unseen;		/* the same where he does not claim to see all */
	char excuse[SCOPE_TEXT_MAX + 1];	/* why outside_scope, of the first */
	uint64_t differ;		/* of the unrecorded: recorded with another outcome */
	uint64_t unsettled;		/* of the recorded: by one that may not have happened */
	bool gave_up;			/* too many alike to pair as many as can be */
	bool lists_long;		/* scope.h gave up: not all was held against the lists */
	uint64_t bad;			/* lines that are no action */
	uint64_t left_out, unread;	/* as he says himself */
	uint64_t beyond;		/* actions that he says not to see */
	bool ahead;			/* he says to miss nothing of a time that is not over */
	enum verify_verdict verdict;
};

struct coverage {
	struct coverage_source source[COVERAGE_SOURCES_MAX];
	size_t sources;
	struct recorded recorded;	/* claims, bounds */
	int64_t window_ms;
	size_t observers, observed;	/* as in the options */
	enum verify_verdict verdict;	/* of all; NOT_ESTABLISHED where none is given */
};

/*
 * Reconcile, with findings and the statement in result, whose verdict becomes
 * a gap with a gap here, and not established where a truth was given, or observers
 * are demanded, and it is not established, or where an observer's signature is
 * forged; else it stays as it is.  Establishing it takes records that were found
 * good: result's integrity and completeness.  A signed truth in the bundle is
 * taken off what nobody vouches for.
 *
 * 0 and *out (to be freed), or -1 with a message: no memory, a given file that
 * cannot be read or is none.
 */
int coverage_judge(const struct coverage_options *options,
    struct verify_result *result, struct coverage **out, char *err, size_t err_len);
void coverage_free(struct coverage *coverage);

/* Whether somebody whom the verifier believes vouches for what it says. */
bool coverage_vouched(const struct coverage_source *source);

/* Whether a file is a manifest, or a truth without a line that is no action: 0,
 * or -1 with a message.  For those who put one into a bundle. */
int coverage_check_claim(const char *path, char *err, size_t err_len);
int coverage_check_truth(const char *path, char *err, size_t err_len);

#endif
