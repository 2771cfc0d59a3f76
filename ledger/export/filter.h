/*
 * Which records somebody wants to see.  What can be told from the envelope is
 * told first, so that most records of a long ledger cost no parsing of bodies.
 */
#ifndef LEDGER_EXPORT_FILTER_H
#define LEDGER_EXPORT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/evidence/facts.h"
#include "ledger/evidence/reader.h"

struct filter {
	/* NULL: any */
	const char *run;	/* its id, or the beginning of it, as it is shown */
	const char *type, *stream;
	const char *target;	/* a part of what facts_about says, case ignored */
	const char *decision;	/* "allow", "deny", "ask", or "failed" */
	int64_t since_us, until_us;	/* INT64_MIN, INT64_MAX: no bound; both inclusive */
};

void filter_init(struct filter *filter);

/* A line that is no record matches only where nothing is asked for.  On a match
 * *facts is filled in, to be freed, unless the line is no record. */
bool filter_match(const struct filter *filter, const struct reader_line *line,
    struct facts *facts);

/* The same for who wants no facts: bodies are parsed only where the filter asks for
 * what stands in them. */
bool filter_hits(const struct filter *filter, const struct reader_line *line);

/* The same where the facts are there already (not read where the line is no
 * record). */
bool filter_matches(const struct filter *filter, const struct reader_line *line,
    const struct facts *facts);

/*
 * A moment: 2026-11-29T15:36:01Z (with fraction, or without seconds), a date,
 * or how long ago from now_us: 90s, 10m, 2h, 7d.  0, or -1.
 */
int filter_time(const char *text, int64_t now_us, int64_t *time_us);

#endif
