/*
 * What each function of a plan looks at in the input document, found without
 * running it: its value depends on nothing else but its further arguments and
 * the pack's data.  Never too little; too much only costs speed.
 */
#ifndef POLICY_PLAN_READS_H
#define POLICY_PLAN_READS_H

#include "policy/plan.h"

/* Fill in plan->funcs[].reads.  The arena must be armed. */
void plan_find_reads(struct arena *arena, struct plan *plan);

#endif
