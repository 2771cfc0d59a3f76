/* A record on a line for people, and what a ledger holds in numbers. */
#ifndef LEDGER_EXPORT_SHOW_H
#define LEDGER_EXPORT_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "ledger/evidence/facts.h"
#include "ledger/evidence/reader.h"

/* facts is not read where the line is no record.  Outside text is made fit for
 * a terminal. */
void show_record(const struct reader_line *line, const struct facts *facts, bool colour,
    FILE *out);

#define STATS_NAMES_MAX 256

struct stats_name {
	char name[RECORD_NAME_MAX + 1];
	uint64_t records;
	uint64_t next_seq;	/* streams: what is due */
	uint64_t holes;		/* records missing by seq and not declared */
	uint64_t dropped;	/* declared */
};

struct stats {
	uint64_t first, next;	/* indices: records [first, next) */
	uint64_t records, bytes;	/* of lines, with their LF */
	uint64_t unreadable;	/* lines that are no records */
	uint64_t allowed, refused, failed, grants, runs, redactions;
	uint64_t bytes_out, bytes_in;
	int64_t begin_us, end_us;	/* earliest and latest */
	uint64_t last_hour;	/* records within the hour that ends with the latest */
	struct stats_name type[STATS_NAMES_MAX], stream[STATS_NAMES_MAX];
	unsigned types, streams;
	bool more;		/* names than there is room for */
	/* the latest checkpoint, as it says; not verified here */
	bool has_checkpoint;
	uint64_t sealed;
	/* what others are said to vouch for; not verified either */
	uint64_t cosigned, stamped;
	unsigned alarms;
};

/* Read all of it once.  0, or -1 with a message. */
int stats_read(struct stats *stats, const char *dir, char *err, size_t err_len);
void stats_text(const struct stats *stats, FILE *out);
/* 0, or -1 where memory lacks. */
int stats_json(const struct stats *stats, FILE *out);

#endif
