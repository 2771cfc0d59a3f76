/* What the two walks of links share.  Private to links. */
#ifndef LEDGER_VERIFY_LINKS_IMPL_H
#define LEDGER_VERIFY_LINKS_IMPL_H

#include "ledger/verify/allowances.h"
#include "ledger/verify/links.h"

#define LINKS_HASH_WORDS (TREE_HASH_LEN / 8)
#define LINKS_RUN_WORDS (RECORD_NAME_MAX / 8)

__extension__ typedef unsigned __int128 links_u128;

enum links_kind {
	OTHER = 0,
	RUN = 1, GRANT = 2, DECISION = 4, USE = 8,	/* can admit */
	REFUSAL = 16, OUTCOME = 32, TEARDOWN = 64,
	NOTICE = 128	/* a scan, a loss */
};

/* What a record names, and what it lacks. */
enum links_names { NOTHING = 0, A_PARENT = 1, NO_LEAF = 2, LACKS_ONE = 4,
	MANY = 8,	/* and it is for more than one use */
	NOT_ALLOWED = 16, NO_RUN = 32,
	ODD_STATE = 64 };	/* a grant that says neither issued nor revoked */

/* The code of what is not established, not a gap. */
#define LINKS_UNKNOWN "unknown_value"

/* Clear in what is kept of a record once it has what it can have once. */
#define UNTOUCHED UINT64_C(4)

/* A record whose link is bad, or is not found yet, or that may be one too many. */
struct loose {
	uint8_t parent[TREE_HASH_LEN];
	uint8_t kind;		/* its own */
	uint8_t found;		/* the parent's kind; OTHER: not found */
	bool foreign;		/* the parent is of another run */
	bool anywhere;		/* which it may be */
	uint32_t uses;		/* of the parent, where it is a grant */
	bool consent;		/* the parent is a person's, to one */
	bool spends;		/* and this one is what a consent is used up by, */
	uint64_t spent;		/* as others before it that name the parent too */
	uint64_t earlier;	/* records of this kind that name the parent too, before */
	const char *code, *why;	/* bad; NULL: loose */
	char run[RECORD_NAME_MAX + 1];	/* that the parent is of */
	struct verify_finding place;
};

struct links {
	const struct load *load;
	const char *only;
	struct set *set;
	unsigned sets;		/* a power of two */
	links_u128 key[LINKS_HASH_WORDS + 1];		/* of the marks */
	links_u128 run_key[LINKS_RUN_WORDS + 2];	/* of the runs in them */
	uint64_t only_run;
	struct allowances *allowances;
	struct loose *loose;
	unsigned count;
	uint64_t more;		/* not kept */
	bool marked[65536];	/* first bytes of the leaves looked for */
};

enum links_kind links_kind_of(struct record_slice type);

/* A JSON string of 64 lowercase digits? */
bool links_decode(struct record_slice value, uint8_t leaf[TREE_HASH_LEN]);

/* Does a use or a decision say that it was allowed? */
bool links_allowed(const struct record_line *record);

/* A person's consent that is good for one: it is kept as a grant for one use, and has
 * no outcome of its own. */
bool links_consent_once(const struct record_line *record, enum links_kind kind);

/* Is this what such a consent is used up by? */
bool links_spends(const struct record_line *record, enum links_kind kind);

/* A run's closing, or that a grant was taken back: it admits nothing. */
bool links_ended(const struct record_line *record, enum links_kind kind);

/* The run that the record's parent is of; without pointer: of any.  Its own, but for a
 * run that was opened below another and a refusal. */
struct record_slice links_parent_run(const struct record_line *record, enum links_kind kind);

/* How many uses a grant's body is for, or ALLOWANCE_ENDLESS. */
uint32_t links_uses(struct record_slice body);

/* NULL, or why a record of that kind cannot admit one of this kind. */
const char *links_misfit(enum links_kind kind, enum links_kind parent);

#endif
