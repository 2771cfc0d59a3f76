/* Two decisions that must be the same in all that a caller sees.  Included after cmocka.h. */
#ifndef TESTS_SAME_DECISION_H
#define TESTS_SAME_DECISION_H

#include "policy/policy.h"

static inline void
assert_same_decision(const struct policy_decision *a, const struct policy_decision *b)
{
	assert_string_equal(a->rule, b->rule);
	assert_string_equal(a->reason, b->reason);
	assert_int_equal(a->verdict, b->verdict);
	assert_int_equal(a->redact, b->redact);
	assert_int_equal(a->max_bytes, b->max_bytes);
	assert_int_equal(a->cost, b->cost);
	assert_int_equal(a->ttl_s, b->ttl_s);
	assert_int_equal(a->uses, b->uses);
}

#endif
