/*
 * What a run may use.  Everything a run uses is booked to its parents too, so
 * that children can only share what the parent has.  Every limit counts: the
 * run's own, each parent's, and the pack's (data.limits) for each of them.
 */
#ifndef BROKER_GATE_BUDGET_H
#define BROKER_GATE_BUDGET_H

#include "gate/impl.h"

enum budget_kind { BUDGET_REQUESTS, BUDGET_BYTES_OUT, BUDGET_COST };

/* Book n (>= 0), or book nothing and return false where a limit is in the way. */
bool budget_spend(struct run *run, const struct policy_budget *pack,
    enum budget_kind kind, int64_t n);
void budget_return(struct run *run, enum budget_kind kind, int64_t n);

/* Would n fit now?  Books nothing. */
bool budget_fits(struct run *run, const struct policy_budget *pack,
    enum budget_kind kind, int64_t n);

/* Is there time left, of the delegation too?  How much: below 0 none, INT64_MAX where
 * there is no limit. */
int64_t budget_wall_left_ms(const struct run *run,
    const struct policy_budget *pack);
bool budget_wall_ok(const struct run *run, const struct policy_budget *pack);

void budget_used(const struct run *run, struct policy_budget *out);
/* The same a moment later: all but the time. */
void budget_used_again(const struct run *run, struct policy_budget *out);

/* The narrower of each, -1 meaning no limit. */
struct policy_budget budget_narrow(const struct policy_budget *a,
    const struct policy_budget *b);

#endif
