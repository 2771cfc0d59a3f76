/*
 * The words of the ledger: the bodies of records, as broker/gate/RECORDS.md
 * describes them.  What could hold a secret (queries, arguments, a path in
 * which something of ours was found) or names a person goes in as a keyed
 * digest only.
 */
#ifndef BROKER_GATE_WORDS_H
#define BROKER_GATE_WORDS_H

#include "gate/impl.h"
#include "ledger/record/json_out.h"

/* What decisions of all kinds have in common; NULL or 0: not there. */
struct words_decision {
	const char *decision;		/* "allow", "deny", "ask" */
	const char *rule, *reason, *remedy;
	unsigned status;		/* of a refusal */
	const char *kind;		/* "http", "connect", "grant", "action" */
	const char *route;
	const char *grant;		/* id */
	const struct ledger_receipt *parent;
	const struct peer *peer;
	const struct policy_input *input;
	const struct target *place;	/* where there is no input: scheme, host, port only */
	bool tainted;			/* host and path must not be shown */
	bool person;			/* somebody answered the policy's question */
	const struct policy_decision *judged;	/* the engine's word; NULL: it was not asked */
};

/* Member `peer`, as far as it is known; program: what the process calls itself, or
 * NULL or "". */
void words_peer(struct json_out *out, const struct peer *peer,
    const char *program);

/* The input with its query, arguments, principal and, where tainted, its path
 * and host replaced, into thread->input.  Its length, or -1. */
int words_input(struct gate_thread *thread, const struct run *run,
    const struct policy_input *input, bool tainted);

/* "engine" and "decision_id", where the evaluator did not decide. */
void words_engine(struct json_out *out, const struct policy_decision *judged);

/* The body; -1 where it does not fit or the input is not valid UTF-8. */
/* thread and run may be NULL where there is no input. */
int words_decision(struct gate_thread *thread, const struct run *run,
    const struct words_decision *what, char *buf, size_t cap);

/* Refusals told by their number.  `count` comes first: the verifier looks there. */
int words_counted(const struct gate_counted *counted, const struct run *run,
    char *buf, size_t cap);

/* What became of an allowed request. */
int words_outcome(const struct gate_outcome *outcome, const char *grant,
    char *buf, size_t cap);

#endif
