/*
 * Recorded decisions: lines of a ledger's or a bundle's records (see the
 * broker's RECORDS.md) with the input that the policy saw.
 */
#ifndef POLICY_COMMAND_RECORDS_H
#define POLICY_COMMAND_RECORDS_H

#include "policy/value/value.h"

struct record {
	const char *file;
	unsigned long line;
	const char *why;		/* not NULL: it cannot be read; nothing below is there */
	const struct value *body;
	const struct value *input;	/* as the policy saw it; NULL: none was kept */
	const char *decision;		/* the policy's word: "allow", "deny", "ask" */
	const struct value *policy;	/* digest of the pack, in the envelope */
	int64_t seq;			/* -1 where the line has none */
	const struct value *rule;
};

/*
 * Read a file, a ledger's directory or a bundle; each() gets every decision
 * and every line that is none of the ledger's.  arena is reset for each, and a
 * limit that each() runs into brings the record back with why set.  Where
 * packs that the records name lie is written to packs ("" where that is not
 * known).  0, or -1 after a message.
 */
int records_read(struct arena *arena, const char *path, char *packs,
    size_t packs_cap,
    void (*each)(void *arg, const struct record *record), void *arg);

/* Nothing was decided: another engine than the evaluator was asked and gave no
 * answer, or none that is a decision (engine/opa-unreachable, engine/type...).
 * The evaluator's own engine/... rules are what it makes of that pack, and come
 * out again. */
bool record_engine_failed(const struct record *record);

#endif
