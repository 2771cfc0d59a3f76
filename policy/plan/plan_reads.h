/*
 * What each function of a plan looks at in the input document, found without
 * running it: its value depends on nothing else but its further arguments and
 * the pack's data.  Never too little; too much only costs speed.
 */
#ifndef POLICY_PLAN_PLAN_READS_H
#define POLICY_PLAN_PLAN_READS_H

#include "policy/plan/plan.h"

/*
 * Fill in the reads of functions and entry points, and what each statement
 * does with numbers that move: a number is taken out of the input under a
 * constant name, goes from local to local, and is compared; any other use of
 * it, and any use of what it lies in as a whole, looks at the number.
 * The arena must be armed.
 */
void plan_find_reads(struct arena *arena, struct plan *plan);

#endif
