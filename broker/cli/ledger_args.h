/* What the commands of `countersign ledger` have in common on their command
 * lines. */
#ifndef BROKER_CLI_LEDGER_ARGS_H
#define BROKER_CLI_LEDGER_ARGS_H

#include "cli/cli.h"
#include "ledger/evidence/reader.h"
#include "ledger/export/filter.h"

#include <limits.h>

#define LEDGER_FILTER_OPTS \
	{ "run", 0, "ID", false, "only records of this run, or of those whose id begins so" }, \
	{ "type", 0, "TYPE", false, "only records of this type, such as refusal" }, \
	{ "stream", 0, "NAME", false, "only records of this stream" }, \
	{ "target", 0, "TEXT", false, "only records about a target that holds this text" }, \
	{ "decision", 0, "WORD", false, "only what was decided so: allow, deny, ask; or failed" }, \
	{ "since", 0, "TIME", false, "not before: 2026-11-29T15:36:01Z, a date, or 10m, 2h, 7d ago" }, \
	{ "until", 0, "TIME", false, "not after" }

/* 0, or the status to leave with, and the reason is said. */
int ledger_args_filter(const struct opts *opts, struct filter *filter);
/* --ledger, or the home's. */
int ledger_args_dir(const struct opts *opts, char *dir, size_t cap);
int ledger_args_open(const struct opts *opts, struct reader **reader);

/* For who follows a ledger and is at its end: wait a moment.  1: read on; 2:
 * read on, nothing will come behind that; -1: it was put aside, with a message. */
int ledger_args_wait(const struct reader *reader, bool last, char *err, size_t err_len);

/* Say that nothing was found: a mistyped run would look like one that did nothing.
 * It is no failure. */
void ledger_args_none(void);

#endif
