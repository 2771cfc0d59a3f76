/*
 * Until when grants were for, against what was let through under them.  Of a bundle,
 * which is of one run.
 *
 * A broker goes by its own clock and says the time of day; that can be set forward
 * meanwhile, which no record tells.  So what is too late is not established.
 */
#ifndef LEDGER_VERIFY_PROMISES_H
#define LEDGER_VERIFY_PROMISES_H

#include "ledger/tree/tree.h"
#include "ledger/verify/verify.h"

struct promises;

/* NULL where memory lacks. */
struct promises *promises_new(void);
void promises_free(struct promises *promises);

/* Each record of the run, in order; leaf is its own. */
void promises_take(struct promises *promises, const struct record_line *record,
    const uint8_t leaf[TREE_HASH_LEN], uint64_t index);

void promises_judge(const struct promises *promises, struct verify_result *result);

#endif
