/*
 * A coverage manifest: what an adapter says that it sees (each such action of a
 * run has a record), cannot see, and leaves out on purpose.  The body of a
 * `coverage` record, or a file in a bundle's coverage/ (claim.schema.json):
 *
 *   {"v":1,"kind":"countersign-coverage","adapter":"proxy","instance":"broker"?,
 *    "version":"0.1.0","sees":[...],"cannot_see":[...],"leaves_out":[...]}
 *
 * with entries as in scope.h; those of the last two say why ("what").  In a
 * record `parent` may stand before.
 */
#ifndef LEDGER_COVERAGE_CLAIM_H
#define LEDGER_COVERAGE_CLAIM_H

#include "ledger/coverage/scope.h"

#define CLAIM_KIND "countersign-coverage"
#define CLAIM_VERSION 1
#define CLAIM_NAME_MAX 64
#define CLAIM_BYTES_MAX 49152	/* of a manifest: a record's body */

struct claim {
	char adapter[CLAIM_NAME_MAX + 1];
	char instance[CLAIM_NAME_MAX + 1];	/* "" where there is one only */
	char version[CLAIM_NAME_MAX + 1];
	struct scope sees, cannot_see, leaves_out;
};

/* Strict: unknown or double members, wrong types and too many entries are
 * refused.  0, or -1 with a message; free in any case. */
int claim_parse(struct claim *claim, const char *text, size_t len, char *err,
    size_t err_len);
/* The same, of an object that was parsed. */
int claim_read(struct claim *claim, json_t *object, char *err, size_t err_len);
void claim_free(struct claim *claim);

/* A name of an adapter, an observer, a version: NULL, or what it should be. */
const char *claim_read_name(const json_t *value, char to[CLAIM_NAME_MAX + 1]);

/* Whether it says to see it: an entry of sees covers it, and none of leaves_out. */
bool claim_covers(const struct claim *claim, const struct act *act, uint64_t *looks);

/* Why it does not: the text of leaves_out or cannot_see for it; "" for none. */
const char *claim_excuse(const struct claim *claim, const struct act *act,
    uint64_t *looks);

#endif
