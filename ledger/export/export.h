/*
 * Records in the forms of others.  Each is one-way: what is exported is read by
 * tools that collect events, and proved by none of them; `leaf` and `index` lead
 * back to the record, which is.  Bodies go out only in the fields that are named
 * in EXPORTS.md; nothing in a ledger is a secret to begin with.
 *
 * A formatter writes one line without LF into buf and returns its length, 0
 * where the record has no place in that form, or -1 where cap is too small
 * (EXPORT_LINE_MAX always suffices).
 */
#ifndef LEDGER_EXPORT_H
#define LEDGER_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/evidence/facts.h"
#include "ledger/evidence/reader.h"
#include "ledger/tree/tree.h"

#define EXPORT_LINE_MAX (128 * 1024)
#define EXPORT_STREAMS_MAX 64	/* whose sequence is followed */

struct export_item {
	uint64_t index;
	const char *broken;	/* the line is no record, by this rule; facts is NULL */
	const struct facts *facts;
	uint8_t leaf[TREE_HASH_LEN];
	char prev[65];		/* hex of the stream's previous leaf */
	/* records of the stream that are missing before this one and that no
	 * drop record declares: [from, from + missing) */
	uint64_t missing, missing_from;
};

/* What is due in each stream, so that holes are told. */
struct export_seqs {
	struct { char name[RECORD_NAME_MAX + 1]; uint64_t next; } stream[EXPORT_STREAMS_MAX];
	unsigned count;
};

/* facts as facts_read has filled them in; not read where the line is no record. */
void export_item_init(struct export_item *item, const struct reader_line *line,
    const struct facts *facts, struct export_seqs *seqs);

/* ---- OCSF 1.8, JSON ---- */

struct ocsf_options {
	const char *hostname;	/* of this machine, or NULL */
	const char *origin;	/* the ledger's, or NULL */
	bool integrity;		/* attestation of the 1.9 profile record_integrity */
};

/* One event. */
int ocsf_format(const struct export_item *item, const struct ocsf_options *options,
    char *buf, size_t cap);
/* The event for item->missing, which stands before that of the record. */
int ocsf_gap(const struct export_item *item, const struct ocsf_options *options,
    char *buf, size_t cap);

/* ---- OTLP logs, the JSON encoding: one logRecord ---- */

int otlp_format(const struct export_item *item, char *buf, size_t cap);
int otlp_gap(const struct export_item *item, char *buf, size_t cap);
/* What stands before and behind a request's logRecords. */
int otlp_begin(const char *hostname, const char *origin, char *buf, size_t cap);
extern const char otlp_end[];

/* ---- CEF in RFC 5424 ---- */

int cef_format(const struct export_item *item, const char *hostname, char *buf, size_t cap);
int cef_gap(const struct export_item *item, const char *hostname, char *buf, size_t cap);

#endif
