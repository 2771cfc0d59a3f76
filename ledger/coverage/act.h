/*
 * One action in one spelling, so that what the ledger has and what somebody else
 * saw can be compared byte by byte:
 *
 *   kind    http, connect, tcp, tool, file, dns, ...
 *   verb    GET, CONNECT, Bash, ...; of a kind without verbs "*"
 *   target  http: scheme://host[:port]/path, the default port implied, escapes
 *           as RFC 3986 wants them, no query and no fragment (they may hold
 *           secrets, and the ledger has none); connect and tcp: host:port;
 *           of other kinds the text as it is
 *
 * Pure, any thread.
 */
#ifndef LEDGER_COVERAGE_ACT_H
#define LEDGER_COVERAGE_ACT_H

#include <stdbool.h>
#include <stddef.h>

#define ACT_KIND_MAX 32
#define ACT_VERB_MAX 128
#define ACT_HOST_MAX 255
#define ACT_PATH_MAX 8192
#define ACT_TARGET_MAX (ACT_PATH_MAX + ACT_HOST_MAX + 32)

struct act {
	char kind[ACT_KIND_MAX + 1];
	char verb[ACT_VERB_MAX + 1];
	char target[ACT_TARGET_MAX + 1];
};

/* NULL, or the rule that is broken: static text that repeats nothing of the
 * input.  Applied to its own output it changes nothing. */
const char *act_set(struct act *act, const char *kind, const char *verb,
    const char *target);

/* Lower case, digits, '_' and '-'; of 1 to ACT_KIND_MAX bytes. */
bool act_kind_valid(const char *kind);

/* "kind LF verb LF target", to be freed, by which actions compare; NULL where
 * memory lacks.  And back, from what it made. */
char *act_key(const struct act *act);
void act_of_key(struct act *act, const char *key);

/* The value of a hexadecimal digit in either case; -1: it is none. */
int act_hex(char c);

/* The part of an http target before its path: bytes; of others 0. */
size_t act_origin_len(const struct act *act);

/* "host:port" of an http, connect or tcp target into out[0..cap); false where
 * the kind has none or it does not fit. */
bool act_host_port(const struct act *act, char *out, size_t cap);

#endif
