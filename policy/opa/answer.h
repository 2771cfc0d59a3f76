/* What OPA answers, made a decision: pure, and fuzzed. */
#ifndef POLICY_OPA_ANSWER_H
#define POLICY_OPA_ANSWER_H

#include "policy/policy.h"
#include "policy/value/arena.h"

/* status is HTTP's; text is the whole body.  The arena must be armed. */
void opa_answer(struct arena *arena, long status, const char *text,
    size_t len, struct policy_decision *out);

#endif
