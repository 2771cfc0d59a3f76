/*
 * One record of the ledger: a line of JSON in one fixed form (FORMAT.md).
 *
 *   {"v":1,"prev":"<64 hex>","stream":"…","seq":N,"t":"…Z","type":"…",
 *    "run":"…","policy":"sha256:…","body":{…}}
 *
 * The form is exact to the byte (no white space, names in this order, `run`
 * absent where there is none), so the envelope is read without a JSON parser.
 * The leaf is hashed over the line without its LF.  All pure, any thread.
 */
#ifndef LEDGER_RECORD_RECORD_H
#define LEDGER_RECORD_RECORD_H

#include "ledger/record/json_scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_LINE_MAX 65535		/* bytes of a line without its LF */
#define RECORD_PREV_AT 15		/* where the 64 digits of prev start */
#define RECORD_HASH_LEN 32
#define RECORD_TIME_LEN 27		/* 2026-11-29T15:36:01.123456Z */
#define RECORD_NAME_MAX 64		/* bytes of a stream's name or a run's id */
#define RECORD_POLICY_LEN 71		/* "sha256:" and 64 hex digits */
#define RECORD_ENVELOPE_MAX 480		/* everything but the body */
#define RECORD_SEQ_MAX JSON_INT_MAX
#define RECORD_TIME_MAX INT64_C(253402300799999999) /* the year 9999's last */

/* A view into the line it was parsed from. */
struct record_slice {
	const char *ptr;
	size_t len;
};

/* Is it there, and that text?  Inline: the length of a text that stands in the call
 * is known to the compiler. */
static inline bool
record_slice_is(struct record_slice slice, const char *text)
{
	return slice.ptr != NULL && slice.len == strlen(text) &&
	    memcmp(slice.ptr, text, slice.len) == 0;
}

struct record_line {
	struct record_slice prev;	/* 64 lowercase hex digits */
	struct record_slice stream;
	struct record_slice t;		/* RECORD_TIME_LEN bytes */
	struct record_slice type;
	struct record_slice run;	/* ptr NULL where there is none */
	struct record_slice policy;
	struct record_slice body;	/* one object, not looked into yet */
	struct record_slice parent;	/* its member `parent`, a JSON value, by
					 * record_check; ptr NULL: none */
	uint64_t seq;
	int64_t time_us;		/* t, since 1970 */
	uint32_t alike;			/* by record_memo; 0: nothing is known */
};

/*
 * Read the envelope of line[0..len), LF excluded.  NULL, or the rule that the
 * line breaks, as static text.  The body is only delimited: record_check reads
 * it too.  A type not known here is accepted if it is a word (record_type_known
 * tells): a later version may have added it.
 */
const char *record_parse(const char *line, size_t len, struct record_line *out);

/* The same, and the body by the rules of json_scan.h, which finds `parent`. */
const char *record_check(struct json_scan *scratch, const char *line,
    size_t len, struct record_line *out);

/* The rule that a line of another version breaks: what it says a later reader knows. */
extern const char record_other_version[];

bool record_type_known(const char *type, size_t len);

/* The known ones from 0 on; NULL behind the last. */
const char *record_type_at(size_t i);

/* 1 to RECORD_NAME_MAX letters, digits and -._:/@+, none but the first two
 * in front: a stream or a run that needs no escape in JSON, path or report. */
bool record_name_valid(const char *name, size_t len);

/* "sha256:" and 64 lowercase hexadecimal digits. */
bool record_policy_valid(const char *policy, size_t len);

/* What a new line is made of; run.ptr is NULL where there is none. */
struct record_parts {
	const uint8_t *prev;		/* RECORD_HASH_LEN bytes */
	struct record_slice stream, type, run, policy, body;
	uint64_t seq;
	int64_t time_us;		/* 0 to RECORD_TIME_MAX */
	const char *time;		/* the same as text, or NULL */
};

/*
 * Compose the line, without LF, in out[0..cap).  Its length, or 0 where it
 * would be longer than cap or RECORD_LINE_MAX.  The parts must be valid: what
 * came from outside has been checked by the caller.
 */
size_t record_compose(char *out, size_t cap, const struct record_parts *parts);

/* time_us as RECORD_TIME_LEN bytes, without NUL. */
void record_time_format(char out[RECORD_TIME_LEN], int64_t time_us);

/* Where text is a time within the same second: only what is behind it. */
void record_time_micros(char text[RECORD_TIME_LEN], int64_t time_us);

/* 0, or -1 where text is not exactly such a time. */
int record_time_parse(const char text[RECORD_TIME_LEN], int64_t *time_us);

#endif
