/*
 * What a person is said to have decided, against their answers: a record of the run
 * each.  Of a bundle, which is of one run.  Constant memory: what came longest ago is
 * forgotten, and what names it is not judged then.
 */
#ifndef LEDGER_VERIFY_CONSENTS_H
#define LEDGER_VERIFY_CONSENTS_H

#include "ledger/tree/tree.h"
#include "ledger/verify/verify.h"

struct consents;

/* NULL where memory lacks. */
struct consents *consents_new(void);
void consents_free(struct consents *consents);

/* Each record of the run, in order; leaf is its own. */
void consents_take(struct consents *consents, const struct record_line *record,
    const uint8_t leaf[TREE_HASH_LEN], uint64_t index);

/* A finding for each kind of contradiction. */
void consents_judge(const struct consents *consents, struct verify_result *result);

#endif
