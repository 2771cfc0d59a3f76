/* What a page is about, gathered from the records before it is written. */
#ifndef LEDGER_REPORT_HTML_DATA_H
#define LEDGER_REPORT_HTML_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/evidence/facts.h"
#include "ledger/evidence/reader.h"
#include "ledger/report/report.h"
#include "ledger/tree/tree.h"

#define HTML_BINS 150
#define HTML_TALLY_MAX 200	/* names that are told apart */
#define HTML_OTHERS 255
#define HTML_LINKS_MAX 500000	/* records whose parents can be followed */
#define HTML_SHOWN_MAX 10000	/* records with all they say; half from either end */
#define HTML_KEY 16		/* bytes of a leaf that stand for it */

struct html_count {
	char name[160];
	uint64_t allowed, refused;
};

struct html_tally {
	struct html_count one[HTML_TALLY_MAX];
	unsigned count;
	uint64_t others;	/* counted of those there was no room for */
};

/* A record and the one it was admitted under. */
struct html_link {
	uint8_t leaf[HTML_KEY], parent[HTML_KEY];
	uint64_t index;
	char type[12];
	/* where it is counted as allowed: place in hosts and rules, from 1; 0: not,
	 * HTML_OTHERS: among those there was no room for */
	uint8_t host, rule;
	bool withdrawn;		/* an outcome: its parent was not carried out */
};

struct html_bin {
	uint64_t allowed, refused, failed, neutral;
	uint64_t index;		/* of its first record that counts, UINT64_MAX: none */
};

struct html_data {
	const struct report *report;
	uint64_t records;	/* all that were read */
	uint64_t ours;		/* of the run; of a ledger: all */
	uint64_t allowed, refused, failed, grants;
	uint64_t first, last;	/* indices of what was read; last is one past */
	int64_t begin_us, end_us;	/* of ours */
	char agent[128];
	struct html_tally hosts, rules;
	struct html_bin bin[HTML_BINS];
	struct html_link *link;		/* by leaf */
	struct html_link *child;	/* by parent, then index */
	size_t links;
	char err[256];		/* why not all could be read, or "" */
};

/* NULL where memory lacks. */
struct html_data *html_data_read(const struct report *report);
void html_data_free(struct html_data *data);

/* Of the run that the page is about. */
bool html_is_ours(const struct html_data *data, const struct record_line *record);
/* A secret was found in this line: nothing that it says is repeated. */
bool html_is_withheld(const struct html_data *data, const struct reader_line *line);
/* Whether all that record index says is shown. */
bool html_is_shown(const struct html_data *data, uint64_t index);
unsigned html_bin_of(const struct html_data *data, int64_t time_us);

/* The record with that leaf, or NULL. */
const struct html_link *html_find(const struct html_data *data,
    const uint8_t leaf[HTML_KEY]);
/* Those admitted under it: the first, and how many there are. */
const struct html_link *html_children(const struct html_data *data,
    const uint8_t leaf[HTML_KEY], size_t *count);
/* 64 hexadecimal digits; false where they are none. */
bool html_key_of(const char *hex, uint8_t key[HTML_KEY]);

#endif
