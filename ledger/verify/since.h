/*
 * Verifying only what is new since a head that the verifier saved: the cost of
 * a day is that of a day, however long the ledger is.
 *
 * Reading begins with the last segment that begins before the head and whose
 * first record is a table of heads.  What is taken on trust there is confirmed
 * before anything is said: the roots of the segments before it stand beside
 * them (hashes-*), and together with the records up to the head they must give
 * the root that the pinned key signed and the verifier saved.  If they do not,
 * or anything is missing, all is read.
 */
#ifndef LEDGER_VERIFY_SINCE_H
#define LEDGER_VERIFY_SINCE_H

#include "ledger/verify/chain.h"
#include "ledger/verify/load.h"

/* Leave out the segments before, and tell the chain how the streams stand.
 * False where all must be read; then load and chain are of no more use. */
bool since_begin(struct load *load, struct chain *chain);

/* The chain, made anew, as since_begin left it.  0, or -1. */
int since_again(const struct load *load, struct chain *chain);

/* After the pass: was the head's root reproduced? */
bool since_confirmed(const struct load *load);

#endif
