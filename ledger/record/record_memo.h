/*
 * Reading many records of the same ledger, one after the other.  Most of an
 * envelope stands in the line before it too, or in one a few lines back: what
 * was found good once is compared and not read again.
 *
 * The answer is record_check's, always: what is not recognised is given to it.
 */
#ifndef LEDGER_RECORD_RECORD_MEMO_H
#define LEDGER_RECORD_RECORD_MEMO_H

#include "ledger/record/json_memo.h"
#include "ledger/record/record.h"

#define RECORD_MEMO_WAYS 16	/* streams, and pairs of run and policy, kept */
#define RECORD_MEMO_PART_MAX 192
#define RECORD_MEMO_ALIKE_MAX INT32_MAX
#define RECORD_MEMO_MINUTE_LEN 23	/* `,"t":"2026-11-29T15:36:` */

/* Zeroed before the first use; belongs to one thread. */
struct record_memo {
	struct record_memo_ways {
		struct record_memo_part {
			uint8_t len;		/* 0: nothing yet */
			uint8_t name_at, name_len;	/* the stream or run in it; 0: none */
			uint32_t number;	/* since when it is kept */
			char text[RECORD_MEMO_PART_MAX];
		} part[RECORD_MEMO_WAYS];
		uint8_t last;		/* the one that was found last */
	} place,			/* `","stream":"<name>","seq":` */
	    matter;			/* `","run":"<name>","policy":"…","body":` */
	uint8_t digits, letters;	/* of the last seq; of the last type */
	char minute[RECORD_MEMO_MINUTE_LEN];
	int64_t minute_us;		/* its beginning */
	bool minute_known;
	uint32_t kept;			/* number of the part that was kept last */
	struct json_memo bodies;
};

/* As record_check.  prev is decoded too, where the answer is NULL; and lines with
 * the same number in `alike`, from 1 to RECORD_MEMO_ALIKE_MAX, have one run and one
 * policy, if no more than that many lie between. */
const char *record_memo_check(struct record_memo *memo, const char *line,
    size_t len, struct record_line *out, uint8_t prev[RECORD_HASH_LEN]);

/* 64 lowercase hexadecimal digits, without NUL.  False: they are none. */
bool record_hash_decode(const char hex[2 * RECORD_HASH_LEN], uint8_t hash[RECORD_HASH_LEN]);

#endif
