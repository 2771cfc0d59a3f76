/*
 * One verification in a test: its directory, its result, and what it finds.
 * Failures to verify at all end the test.
 */
#ifndef TESTS_VERIFY_CASE_H
#define TESTS_VERIFY_CASE_H

#include "ledger/verify/verify.h"
#include "ledger_maker.h"

struct verify_case {
	char base[64];			/* a directory for whatever the test needs */
	struct verify_options options;	/* key and threads are set */
	struct verify_result result;	/* of the last one */
	char err[512];
};

/* The key is pinned; it must live as long. */
void case_init(struct verify_case *c, const struct note_key *key);
void case_free(struct verify_case *c);

/* Verify a directory. */
enum verify_verdict case_verify(struct verify_case *c, const char *dir);

/* Write the maker's lines as they are into one segment, afresh, and verify;
 * dir (96 bytes) gets the directory where it is not NULL. */
enum verify_verdict case_verify_maker(struct verify_case *c,
    const struct maker *maker, char *dir);

/* The first finding with that code, or NULL. */
const struct verify_finding *case_find(const struct verify_case *c, const char *code);

/* All findings, on standard error. */
void case_say(const struct verify_case *c);

#endif
