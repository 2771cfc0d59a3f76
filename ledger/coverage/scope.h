/*
 * What somebody says to see, or not to see: entries of kind, verbs and targets,
 * as JSON
 *
 *   {"kind":"http","verbs":["GET","POST"],"targets":["https://api.example.com/repos*"],"what":"..."}
 *
 * kind and verbs name one, or all with "*"; verbs and targets that are not there
 * mean all.  In targets '*' stands for any bytes, also none, also '/'; nothing
 * else has a meaning of its own, and they are in the spelling of act.h.
 */
#ifndef LEDGER_COVERAGE_SCOPE_H
#define LEDGER_COVERAGE_SCOPE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/coverage/act.h"

#define SCOPE_ENTRIES_MAX 64
#define SCOPE_LIST_MAX 256	/* verbs or targets of an entry */
#define SCOPE_TARGET_MAX 1024	/* bytes of one */
#define SCOPE_TEXT_MAX 256	/* bytes of what */

struct scope_entry {
	char kind[ACT_KIND_MAX + 1];
	json_t *verbs, *targets;	/* arrays of strings; NULL: all; borrowed */
	const char *what;		/* "" where nothing is said; borrowed */
};

struct scope {
	json_t *array;			/* owns what the entries borrow */
	struct scope_entry one[SCOPE_ENTRIES_MAX];
	size_t n;
};

/* From an array (NULL: none, no entries), strictly; where names it in messages.
 * 0, or -1 with a message; free in any case. */
int scope_read(struct scope *scope, json_t *array, const char *where, char *err,
    size_t err_len);
void scope_free(struct scope *scope);

/* What comparing is worth for a file of that many bytes: some hundred times what an
 * honest one takes, so that lists made for it do not hold up whoever verifies. */
#define SCOPE_LOOKS(bytes) (UINT64_C(100000000) + UINT64_C(100) * (bytes))

/* The first entry that covers the action, or NULL.  What was compared is taken off
 * *looks; once that is 0 nothing is found any more. */
const struct scope_entry *scope_find(const struct scope *scope,
    const struct act *act, uint64_t *looks);

#endif
