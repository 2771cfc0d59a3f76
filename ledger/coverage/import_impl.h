/* What the readers of logs share.  Private to import*.c. */
#ifndef LEDGER_COVERAGE_IMPORT_IMPL_H
#define LEDGER_COVERAGE_IMPORT_IMPL_H

#include "ledger/coverage/import.h"

#define IMPORT_ORIGINS_MAX 64

struct import_line {
	char *text;
	size_t len;
	int64_t time_us;
	int outcome;
	char kind[ACT_KIND_MAX + 1], verb[ACT_VERB_MAX + 1];
	char target[ACT_TARGET_MAX + 1], id[TRUTH_ID_MAX + 1];
};

struct import {
	const struct import_options *options;
	struct import_result *result;
	struct import_line line;
	struct act act;
	FILE *body;
	char *origin[IMPORT_ORIGINS_MAX];	/* that were seen, with "/" and a star behind */
	size_t origins;
	bool more_origins;
	char kind[IMPORT_PROTOCOLS_MAX][ACT_KIND_MAX + 1];	/* networks: that are seen */
	size_t kinds;
	int64_t grain_us;		/* that all times are multiples of */
};

/* Of a line that is no action, or another client's: no fault. */
extern const char import_left_out[];

/* The next field, as text in place, past which *at goes; quotes and brackets off,
 * escapes read.  NULL where there is none. */
char *import_next(char **at);

/* ---- import_time.c: false where it is none, or no time that a record can have ---- */

bool import_digits(const char *text, size_t n, int *value);
bool import_in_range(int64_t time_us);
bool import_rfc3339(const char *text, int64_t *time_us);	/* 2026-11-30T01:02:21[.454249](Z|+01:00) */
bool import_seconds(const char *text, int64_t *time_us);	/* since 1970, with a fraction */
bool import_clf_time(const char *text, int64_t *time_us);	/* 30/Nov/2026:01:02:21 +0000 */
bool import_ctime(const char *text, int64_t *time_us);		/* Mon Nov 30 01:02:21 2026, in UTC */

/* ---- import_net.c ---- */

/* Whether the caller wants that client's lines. */
bool import_is_wanted(const struct import *import, const char *client);
/* The name that the caller knows an address by. */
const char *import_resolve(const struct import *import, const char *host);

/* Note that it is seen.  NULL, or why the line cannot be taken. */
const char *import_note_kind(struct import *import, const char *kind);

/* Readers of a line: NULL, or what it should be. */
const char *import_egress(struct import *import);
const char *import_conntrack(struct import *import);

#endif
