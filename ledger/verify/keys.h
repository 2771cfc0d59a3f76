/*
 * The log's keys and what others vouch for, in the verifier: epochs.h and
 * anchor.h put to the records.  Private to verify.
 */
#ifndef LEDGER_VERIFY_KEYS_H
#define LEDGER_VERIFY_KEYS_H

#include "ledger/verify/pass.h"

/* The pinned key, and those that follow from it by the file `epochs`; what is
 * wrong with it becomes findings, the last checkpoint of each epoch a seal.  Of a
 * bundle also by the file that the options name.  0, or -1 with a message. */
int keys_load(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len);

/* Read the file once more: there may be new epochs.  0, or -1. */
int keys_follow(struct load *load);

/* The sizes of what others signed join the seals, which are sorted: the records
 * tell which of them are of this history.  0, or -1 where memory lacks. */
int keys_take_others(struct load *load);

/* Are the `key` records those that the epochs begin with, and no others? */
void keys_judge(struct pass *pass);

/* The statement on anchoring, and its part of the whole where the policy
 * demands one.  0, or -1 where memory lacks. */
int keys_anchoring(struct pass *pass);

#endif
