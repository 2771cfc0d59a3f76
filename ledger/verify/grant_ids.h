/*
 * Which grant records say that they are of, against the record that they were admitted
 * under: a use, a decision, a refusal or the taking back of a grant against the grant,
 * an outcome against its use.  Of a bundle.  Constant memory: what came longest ago is
 * forgotten, and then nothing is said.
 */
#ifndef LEDGER_VERIFY_GRANT_IDS_H
#define LEDGER_VERIFY_GRANT_IDS_H

#include "ledger/tree/tree.h"
#include "ledger/verify/verify.h"

struct grant_ids;

/* NULL where memory lacks. */
struct grant_ids *grant_ids_new(void);
void grant_ids_free(struct grant_ids *ids);

/* Each record of the run, in order; leaf is its own. */
void grant_ids_take(struct grant_ids *ids, const struct record_line *record,
    const uint8_t leaf[TREE_HASH_LEN], uint64_t index);

/* A finding, where some name another. */
void grant_ids_judge(const struct grant_ids *ids, struct verify_result *result);

#endif
