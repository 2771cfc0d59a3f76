/*
 * A scratch ledger that must open, or hold together: else the cmocka test fails
 * with the reason.  Include it after cmocka.h.
 */
#ifndef TESTS_MUST_LEDGER_H
#define TESTS_MUST_LEDGER_H

#include "scratch_ledger.h"

static inline void
must_check(struct scratch *scratch, struct scratch_read *read)
{
	if (scratch_check(scratch, read) != 0) {
		print_error("%s\n", scratch->err);
		fail();
	}
}

static inline struct ledger *
must_open(struct scratch *scratch)
{
	struct ledger *ledger = scratch_open(scratch);

	if (ledger == NULL)
		print_error("%s\n", scratch->err);
	assert_non_null(ledger);
	return ledger;
}

#endif
