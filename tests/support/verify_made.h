/*
 * A ledger that a test makes record by record in one stream, and its verification.
 * Include it after cmocka.h; setup and teardown are of each test or of a group.
 */
#ifndef TESTS_VERIFY_MADE_H
#define TESTS_VERIFY_MADE_H

#include "verify_case.h"

static struct maker m;
static struct verify_case c;

static inline int
setup(void **state)
{
	maker_init(&m);
	case_init(&c, &m.key);
	return 0;
}

static inline int
teardown(void **state)
{
	maker_free(&m);
	case_free(&c);
	return 0;
}

static inline void
restart(void)
{
	maker_free(&m);
	maker_init(&m);
	maker_add(&m, "s", "open", NULL, "{}");
}

static inline enum verify_verdict
close_and_verify(void)
{
	maker_add(&m, "s", "close", NULL, "{}");
	maker_seal(&m);
	return case_verify_maker(&c, &m, NULL);
}

#endif
