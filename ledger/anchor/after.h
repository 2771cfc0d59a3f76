/*
 * The bound from below: what others said last, recorded.  Nobody could know a
 * cosignature or a time stamp before it was made, so a record that holds it is not
 * older, and neither is one that names that record's leaf.
 *
 * The body of an `anchor` record, and DIR/anchors/recent, from which it is taken:
 *
 *   {"anchors":[{"note":"...","stamps":[{"authority":"name","token":"base64"}]}]}
 *
 * note is a checkpoint of the ledger as the log signed it, the log's signature
 * line first, with those of the witnesses that said last what they say of it;
 * token is an authority's response (RFC 3161) over the note without theirs.
 * Other members are not looked at.
 *
 * Which history the checkpoint is of, and whether the log signed it, is not
 * asked here: it is the time that counts.  A witness's text names the log.
 * Nothing is kept between calls: any thread.
 */
#ifndef LEDGER_ANCHOR_AFTER_H
#define LEDGER_ANCHOR_AFTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/anchor/trust.h"
#include "ledger/tree/note.h"

#define AFTER_BYTES_MAX 40960		/* of a body, within LEDGER_BODY_MAX */
#define AFTER_NOTES_MAX 24		/* as many as a broker can ask */
#define AFTER_STAMPS_MAX 16		/* of one note */
#define AFTER_TOKEN_MAX 16384		/* bytes of a response that is recorded */
#define AFTER_WHO_MAX 160

struct after;

/* A copy of what body says, for after_free.  NULL where it is no such body, or memory
 * lacks. */
struct after *after_parse(const char *body, size_t len);
void after_free(struct after *after);	/* NULL is ignored */

/*
 * May it be recorded in a ledger that is signed as far as `at`?  Each note is of
 * that origin and of no more records, and signed by nobody but (in its first line)
 * the log and these witnesses, good and not of a time behind latest_s; each has a
 * cosignature or a stamp.  Tokens are not parsed.  NULL, or the rule that it breaks
 * (a constant).
 */
const char *after_misfit(const struct after *after, const struct checkpoint *at,
    const struct note_key *witness, size_t witnesses, int64_t latest_s);

enum after_verdict {
	AFTER_SHORT,		/* too few of those whom the policy names: nothing is known */
	AFTER_GOOD,
	AFTER_FALSE		/* what no honest recorder writes; why says what */
};

struct after_answer {
	enum after_verdict verdict;
	const char *why;	/* a constant */
	int64_t time_s;		/* GOOD: it was not recorded before that */
	int64_t latest_s;	/* the latest that one of them says; 0: none */
	char who[AFTER_WHO_MAX];	/* GOOD: by whom */
};

/*
 * What it proves to somebody with that policy: not before the latest time that as
 * many of its witnesses as it wants all reach, and the authorities likewise.  size: of
 * the tree before the record; a checkpoint of more was not there.
 */
void after_ask(const struct after *after, const char *origin, uint64_t size,
    const struct trust *trust, struct after_answer *answer);

/* The same of a body; one that cannot be read says nothing. */
void after_ask_body(const char *body, size_t len, const char *origin,
    uint64_t size, const struct trust *trust, struct after_answer *answer);

#endif
