/*
 * Ground truth: what somebody who has nothing to do with the broker saw.  JSON
 * lines (truth.schema.json); the first says who, and what he sees at all:
 *
 *   {"v":1,"type":"countersign-truth","source":"nginx","instance":"api-1"?,
 *    "sees":[entries as in scope.h],"exhaustive":true,"from"?:time,"to"?:time,
 *    "resolution_ms"?:n,"left_out"?:n,"unread"?:n}
 *
 * exhaustive: between from and to, which is over, he misses nothing of what he sees.  Of what his
 * program wrote, left_out lines were left out on purpose (another client's) and
 * unread ones were not understood.  Then one line for each action:
 *
 *   {"t":"2026-11-30T01:02:21.454249Z","kind":"http","verb":"GET"?,
 *    "target":"https://api.example.com/repos/o/r","outcome"?:200,
 *    "record"?:"<64 hex>","grant"?:"g_...","id"?:"..."}
 *
 * record and grant: the ledger's record, or the grant, that he was told; id: his
 * own name for the action; two lines of one id are one action.
 */
#ifndef LEDGER_COVERAGE_TRUTH_H
#define LEDGER_COVERAGE_TRUTH_H

#include <stdint.h>

#include "ledger/coverage/claim.h"
#include "ledger/tree/tree.h"

#define TRUTH_TYPE "countersign-truth"
#define TRUTH_VERSION 1
#define TRUTH_BYTES_MAX (512u * 1024 * 1024)	/* of a file */
#define TRUTH_LINE_MAX 65535
#define TRUTH_SEEN_MAX 2000000		/* actions of a file */
#define TRUTH_ID_MAX 128
#define TRUTH_RESOLUTION_MAX_MS 60000

struct truth_seen {
	char *key;		/* act_key */
	int64_t time_us;	/* the earliest it can have been */
	uint64_t line;		/* in the file, from 1 */
	int outcome;		/* a status, 100 to 999; 0: not told */
	bool has_record;
	uint8_t record[TREE_HASH_LEN];
	char *grant, *id;	/* or NULL */
};

struct truth {
	char source[CLAIM_NAME_MAX + 1], instance[CLAIM_NAME_MAX + 1];
	struct scope sees;
	bool exhaustive;
	int64_t from_us, to_us;		/* INT64_MIN and INT64_MAX where not told */
	int64_t resolution_us;		/* times are cut down to that */
	uint64_t left_out, unread;
	struct truth_seen *seen;
	size_t n;
	uint64_t bad;			/* lines that are no action */
	uint64_t bad_line;		/* the first of them */
	const char *bad_why;		/* static */
	uint64_t beyond;		/* actions that his own sees has not */
	uint64_t beyond_line;		/* the first of them */
	uint64_t looks;			/* left for scope_find; 0: not all was held against a list */
};

/*
 * Lines that are no action are counted, the rest is read; without a good first
 * line nothing is.  Signatures behind it (signed.h) are no lines of it.  0, or -1
 * with a message, which repeats nothing of the text; free in any case.
 */
int truth_parse(struct truth *truth, const char *text, size_t len, char *err,
    size_t err_len);
void truth_free(struct truth *truth);

/* The first line and one action's, with LF, into buf: for those who import. */
struct truth_line {
	const struct act *act;
	int64_t time_us;
	int outcome;		/* 0: none */
	const char *id;		/* or NULL */
};
int truth_line_format(const struct truth_line *line, char *buf, size_t cap);

#endif
