/*
 * Which records of a ledger were changed, by the leaves that stand beside them
 * (hashes-*).  Nobody signed those; they are believed where they give a root
 * that the key signed, and then name each record that is not as it was.
 * Private to verify.
 */
#ifndef LEDGER_VERIFY_BESIDE_H
#define LEDGER_VERIFY_BESIDE_H

#include "ledger/verify/load.h"

/* Do they give this root for this size? */
bool beside_gives(const struct load *load, uint64_t size,
    const uint8_t root[TREE_HASH_LEN]);

/* Then: a finding for each difference among the records before size.  0, or -1
 * where memory lacks or a file is not as it was before. */
int beside_name(const struct load *load, uint64_t size, struct verify_result *result);

#endif
