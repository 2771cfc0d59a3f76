/*
 * The policy packs that records have said come into force: an `open` by the digest
 * of its envelope, a `policy` record by its body's `after`.  A record that names
 * another one was decided by rules that nobody was told of.
 *
 * The digests that were asked for last are kept, and since when others are not.
 */
#ifndef LEDGER_VERIFY_IN_FORCE_H
#define LEDGER_VERIFY_IN_FORCE_H

#include "ledger/record/record.h"

#define IN_FORCE_MAX 1024

struct in_force {
	unsigned count;
	struct in_force_pack {
		char digest[RECORD_POLICY_LEN];
		uint64_t since;	/* index of the record that named it last */
	} pack[IN_FORCE_MAX];	/* the one that was asked for last in front */
	uint64_t forgot;	/* the like of `since`, and 1: the latest not kept any more */
};

/* A digest of the form of record_policy_valid. */
void in_force_add(struct in_force *packs, const char *digest, uint64_t index);

/* Was it named by the record at `since`, or a later one? */
bool in_force_has(struct in_force *packs, const char *digest, uint64_t since);

/* May one have been named since then that is not kept? */
bool in_force_forgot(const struct in_force *packs, uint64_t since);

#endif
