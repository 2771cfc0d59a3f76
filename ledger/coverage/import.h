/*
 * Logs that services and networks keep anyway, as ground truth (truth.h):
 *
 *   combined  the common and the combined log format (nginx, Apache, ...): requests,
 *             to one service, whose base URL has to be given
 *   json      one JSON object a line, members named by the caller: access logs of
 *             nginx (escape=json), Caddy, and others; audit lines of forges
 *   egress    "time host port [protocol]": connections that left a machine, tcp where
 *             none is named
 *   conntrack what conntrack(8) writes: events (-E -o timestamp), of which the new
 *             connections are taken, or its table (-L -o ktimestamp, with TZ=UTC);
 *             with or without -o extended.  The client is who opened it
 *
 * What is seen is of a network the protocols that the caller names, or else tcp (of
 * conntrack udp, too) and each that a line has; of a service its base, and each host
 * that a line has.
 *
 * Queries and fragments are dropped: they may hold secrets.  Nothing of a line
 * that was not understood is repeated anywhere.
 */
#ifndef LEDGER_COVERAGE_IMPORT_H
#define LEDGER_COVERAGE_IMPORT_H

#include <stdio.h>

#include "ledger/coverage/truth.h"

#define IMPORT_LIST_MAX 64
#define IMPORT_PROTOCOLS_MAX 32

/* Those of services first, then those of networks. */
enum import_format { IMPORT_COMBINED, IMPORT_JSON, IMPORT_EGRESS, IMPORT_CONNTRACK,
	IMPORT_FORMATS };

/* Members of a JSON line; a '.' leads into an object within. */
enum import_field {
	IMPORT_TIME, IMPORT_VERB, IMPORT_TARGET, IMPORT_HOST, IMPORT_OUTCOME, IMPORT_CLIENT,
	IMPORT_ID, IMPORT_FIELDS
};
/* "time", "verb", ... */
const char *import_field_name(enum import_field field);

struct import_options {
	enum import_format format;
	const char *source, *instance;	/* instance NULL: none */
	const char *base;		/* "https://api.example.com"; NULL: none */
	const char *field[IMPORT_FIELDS];	/* json; NULL: the default */
	const char *client[IMPORT_LIST_MAX];	/* take these clients' lines only */
	size_t clients;
	const char *resolve[IMPORT_LIST_MAX];	/* "192.0.2.1=api.example.com" */
	size_t resolves;
	const char *protocol[IMPORT_PROTOCOLS_MAX];	/* networks: take these only; none: all */
	size_t protocols;
	bool exhaustive;
	const char *from, *to;		/* as in the first line; NULL: not told */
};

struct import_result {
	uint64_t taken, left_out, unread;
	uint64_t first_unread;		/* line */
	const char *why;		/* static; of the first */
};

/* 0, or -1 with a message; out is written at the end. */
int import_run(FILE *in, const struct import_options *options, FILE *out,
    struct import_result *result, char *err, size_t err_len);

#endif
