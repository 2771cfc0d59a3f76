/*
 * Checking many objects that are alike, one after the other: the bodies of a
 * ledger's records, most of which differ from one a few records back in a time
 * and a number or two.
 *
 * Of the last few shapes an object is kept, with the places of its strings,
 * numbers and words.  An object that is the same but for the content of such
 * places, each of which is checked, has the same names, nesting and
 * punctuation, and is as good as the one that is kept.
 *
 * The answer is json_scan_object's or json_scan_member's, always: what is not
 * recognised is given to it.
 */
#ifndef LEDGER_RECORD_JSON_MEMO_H
#define LEDGER_RECORD_JSON_MEMO_H

#include "ledger/record/json_scan.h"

#define JSON_MEMO_SHAPES 8
#define JSON_MEMO_TEXT 1024	/* bytes of an object that is kept, at most */
#define JSON_MEMO_PLACES 64	/* of values in it, at most */

/* Zeroed before the first use, and used with one wanted name only, or none;
 * belongs to one thread. */
struct json_memo {
	struct json_memo_shape {
		uint16_t len;		/* 0: nothing yet */
		uint16_t count;		/* of places, in the order of the text */
		uint16_t want_at, want_len;	/* the wanted value; 0: none */
		struct json_memo_place {
			uint16_t at, end;
		} place[JSON_MEMO_PLACES];
		char text[JSON_MEMO_TEXT];
	} shape[JSON_MEMO_SHAPES];
	unsigned latest, next;		/* tried first; replaced next */
	unsigned missed;		/* while all are taken */
	struct json_scan scratch;
};

const char *json_memo_object(struct json_memo *memo, const char *text,
    size_t len);
const char *json_memo_member(struct json_memo *memo, const char *text,
    size_t len, const char *name, const char **value, size_t *value_len);

#endif
