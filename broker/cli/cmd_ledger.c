/* countersign ledger tail, query, stats: records, readable.  They show, they
 * prove nothing: that is `countersign verify`. */
#include "cli/cmd.h"
#include "cli/ledger_args.h"
#include "ledger/export/show.h"
#include "ledger/output/shown.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAIL_MAX 100000

const struct opt cmd_ledger_opts[] = {
	{ "lines", 'n', "N", false, "how many records; default 20" },
	{ "follow", 'f', NULL, false, "go on as records are written" },
	LEDGER_FILTER_OPTS,
	{ "json", 0, NULL, false, "print the records as they stand in the ledger" },
	{ "ledger", 0, "DIR", false, "a ledger's or bundle's directory, or a bundle's file; default this home's" },
	{ NULL, 0, NULL, false, NULL }
};

const struct opt cmd_query_opts[] = {
	LEDGER_FILTER_OPTS,
	{ "from", 0, "INDEX", false, "begin at the record with this index" },
	{ "limit", 0, "N", false, "end after so many" },
	{ "count", 0, NULL, false, "print how many there are, and none of them" },
	{ "json", 0, NULL, false, "print the records as they stand in the ledger" },
	{ "ledger", 0, "DIR", false, "a ledger's or bundle's directory, or a bundle's file; default this home's" },
	{ NULL, 0, NULL, false, NULL }
};

const char cmd_query_details[] =
"TIME is 2026-11-29, 2026-11-29T15:36:01Z, or how long ago: 90s, 10m, 2h, 7d.\n"
"Exit status: 0, also where nothing matches, which standard error tells; 3 trouble.";

const struct opt cmd_stats_opts[] = {
	{ "json", 0, NULL, false, "print JSON" },
	{ "ledger", 0, "DIR", false, "a ledger's or bundle's directory, or a bundle's file; default this home's" },
	{ NULL, 0, NULL, false, NULL }
};

struct printer {
	struct filter filter;
	bool json, colour, terminal;
};

/* Its bytes, which give its leaf; people see what they are. */
static void
print_json(const struct printer *p, const struct reader_line *line)
{
	if (p->terminal)
		shown_json(stdout, line->text, line->len);
	else
		fwrite(line->text, 1, line->len, stdout);
	putchar('\n');
}

/* Prints a match; whether it was one. */
static bool
print_match(const struct printer *p, const struct reader_line *line)
{
	struct facts facts;

	if (p->json ? !filter_hits(&p->filter, line) : !filter_match(&p->filter, line, &facts))
		return false;
	if (p->json) {
		print_json(p, line);
		return true;
	}
	show_record(line, &facts, p->colour, stdout);
	if (line->rule == NULL)
		facts_free(&facts);
	return true;
}

static int
printer_init(struct printer *p, const struct opts *opts)
{
	p->json = opt_flag(opts, "json");
	p->terminal = isatty(STDOUT_FILENO);
	p->colour = cli_colour(stdout, CLI_GREEN)[0] != '\0';
	return ledger_args_filter(opts, &p->filter);
}

/* ---- tail ---- */

/* The indices of the last max matches before end, in a ring; how many there were
 * in all, or -1. */
static ptrdiff_t
find_last(struct reader *reader, const struct printer *p, uint64_t end, uint64_t *ring,
    size_t max, char *err)
{
	struct reader_line line;
	ptrdiff_t seen = 0;
	int n;

	while ((n = reader_next(reader, &line, err, CLI_ERR_MAX)) == 1 && line.index < end)
		if (filter_hits(&p->filter, &line))
			ring[(size_t)seen++ % max] = line.index;
	return n < 0 ? -1 : seen;
}

/* Where the last max matches begin: file after file, from the last one on back, each
 * read once.  Where there is none: where the last file begins. */
static int
find_begin(struct reader *reader, const struct printer *p, size_t max, uint64_t *begin,
    char *err)
{
	uint64_t end = UINT64_MAX, first, *ring = calloc(max, sizeof(*ring));
	ptrdiff_t seen;
	int rc = ring != NULL ? 0 : -1;

	if (ring == NULL)
		snprintf(err, CLI_ERR_MAX, "out of memory");
	while (rc == 0 && max > 0 &&
	    (rc = reader_seek_before(reader, end, &first, err, CLI_ERR_MAX)) == 1) {
		seen = find_last(reader, p, end, ring, max, err);
		if (end == UINT64_MAX)
			*begin = first;
		if (seen > 0)
			*begin = ring[(size_t)seen >= max ? (size_t)seen % max : 0];
		max -= seen > 0 && (size_t)seen < max ? (size_t)seen : seen > 0 ? max : 0;
		end = first;
		rc = seen < 0 ? -1 : 0;
	}
	free(ring);
	return rc;
}

/* *shown: how many matched. */
static int
print_from_here(struct reader *reader, const struct printer *p, bool follow,
    uint64_t *shown, char *err)
{
	struct reader_line line;
	int n, wait = 1;

	for (;;) {
		while ((n = reader_next(reader, &line, err, CLI_ERR_MAX)) == 1)
			*shown += print_match(p, &line);
		if (n != 0 || !follow)
			return n;
		if (fflush(stdout) != 0)
			return 0;	/* nobody reads it any more */
		if ((wait = ledger_args_wait(reader, wait == 2, err, CLI_ERR_MAX)) == -1)
			return -1;
	}
}

int
cmd_ledger(const struct opts *opts)
{
	struct printer p;
	struct reader *reader;
	char err[CLI_ERR_MAX] = "";
	long long lines = 20;
	uint64_t begin = 0, shown = 0;
	int rc;

	if (opt_number(opts, "lines", 1, TAIL_MAX, &lines, err, sizeof(err)) != 0)
		return cli_usage("%s", err);
	if ((rc = printer_init(&p, opts)) != 0 || (rc = ledger_args_open(opts, &reader)) != 0)
		return rc;
	rc = find_begin(reader, &p, (size_t)lines, &begin, err);
	if (rc == 0)
		rc = reader_seek(reader, begin, err, sizeof(err));
	if (rc == 0)
		rc = print_from_here(reader, &p, opt_flag(opts, "follow"), &shown, err);
	if (rc != 0)
		cli_err("%s", cli_clean(err));
	else if (shown == 0)
		ledger_args_none();
	reader_close(reader);
	return rc == 0 ? CLI_OK : CLI_USAGE;
}

/* ---- query ---- */

static int
query(struct reader *reader, const struct printer *p, bool count, uint64_t limit,
    uint64_t *found, char *err)
{
	struct reader_line line;
	int n = 0;

	while (*found < limit && (n = reader_next(reader, &line, err, CLI_ERR_MAX)) == 1) {
		*found += count ? filter_hits(&p->filter, &line) : print_match(p, &line);
		if (ferror(stdout))
			break;
	}
	return n < 0 ? -1 : 0;
}

int
cmd_query(const struct opts *opts)
{
	struct printer p;
	struct reader *reader;
	char err[CLI_ERR_MAX] = "";
	long long from = -1, limit = -1;
	uint64_t found = 0;
	int rc;

	if (opt_number(opts, "from", 0, (1LL << 53) - 1, &from, err, sizeof(err)) != 0 ||
	    opt_number(opts, "limit", 1, (1LL << 53) - 1, &limit, err, sizeof(err)) != 0)
		return cli_usage("%s", err);
	if ((rc = printer_init(&p, opts)) != 0 || (rc = ledger_args_open(opts, &reader)) != 0)
		return rc;
	if (from >= 0)
		rc = reader_seek(reader, (uint64_t)from, err, sizeof(err));
	if (rc == 0)
		rc = query(reader, &p, opt_flag(opts, "count"), limit > 0 ? (uint64_t)limit :
		    UINT64_MAX, &found, err);
	if (rc != 0)
		cli_err("%s", cli_clean(err));
	else if (opt_flag(opts, "count"))
		printf("%llu\n", (unsigned long long)found);
	else if (found == 0)
		ledger_args_none();
	reader_close(reader);
	return rc == 0 ? CLI_OK : CLI_USAGE;
}

/* ---- stats ---- */

int
cmd_stats(const struct opts *opts)
{
	struct stats *stats = calloc(1, sizeof(*stats));
	char dir[PATH_MAX], err[CLI_ERR_MAX] = "out of memory";
	int rc;

	if ((rc = ledger_args_dir(opts, dir, sizeof(dir))) != 0) {
		free(stats);
		return rc;
	}
	if (stats == NULL || stats_read(stats, dir, err, sizeof(err)) != 0) {
		cli_err("%s", cli_clean(err));
		rc = CLI_USAGE;
	} else if (!opt_flag(opts, "json")) {
		stats_text(stats, stdout);
	} else if (stats_json(stats, stdout) != 0) {
		cli_err("out of memory");
		rc = CLI_USAGE;
	}
	free(stats);
	return rc;
}
