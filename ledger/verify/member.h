/*
 * A member of a record's body, where the body was found good already: without
 * white space, each name once, names without escapes.
 */
#ifndef LEDGER_VERIFY_MEMBER_H
#define LEDGER_VERIFY_MEMBER_H

#include <stdbool.h>

#include "ledger/record/record.h"

/* Of the object itself, not of what lies in it.  False: it has none. */
bool member_find(struct record_slice body, const char *name, struct record_slice *value);

/* Is it that string? */
bool member_is(struct record_slice body, const char *name, const char *text);

/* Is it there, and no integer from 0 on? */
bool member_no_number(struct record_slice body, const char *name);

/* An integer from 0 on.  False: it is none. */
bool member_number(struct record_slice body, const char *name, uint64_t *number);

#endif
