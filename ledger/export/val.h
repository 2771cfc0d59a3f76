/*
 * A VAL v0.1 projection: who was let do what, as rows that chain.
 *
 *   a run's opening    ASSIGNMENT (of what the run may do: its limits)
 *   a grant            ASSIGNMENT under its run's
 *   a use              ACCESS under its grant's, else its run's
 *
 * Refusals have no row in VAL, and are not here, nor what was refused after it
 * had been allowed (the outcome of such a use says so); nor has any row a human
 * signature: lineage ends at the run's opening, which says so
 * (human_attestation.method "none").  Each row's details carry the leaf and the
 * index of its record.
 */
#ifndef LEDGER_EXPORT_VAL_H
#define LEDGER_EXPORT_VAL_H

#include <stdio.h>

#include "ledger/export/export.h"

#define VAL_PARENTS_MAX 65536	/* assignments that rows can be under */

struct val;

/* scope_key: whose chain it is, such as the ledger's origin.  NULL where memory
 * lacks. */
struct val *val_begin(const char *scope_key, FILE *out);
/* The record of this leaf (hex) allowed what was refused after all: no ACCESS.
 * All of them before the first val_add.  0, or -1 where memory lacks. */
int val_withdrawn(struct val *val, const char *leaf);
/* 0; or -1: it cannot be written, or there are more assignments than that. */
int val_add(struct val *val, const struct export_item *item);
/* Records that are ACCESS but whose assignment is not among the rows (it lies
 * before the part that was exported): they are left out, and counted here. */
uint64_t val_orphans(const struct val *val);
void val_free(struct val *val);

#endif
