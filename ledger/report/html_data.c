#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/report/html_data.h"

bool
html_is_ours(const struct html_data *d, const struct record_line *record)
{
	const char *run = d->report->verify->run;

	return run[0] == '\0' || record_slice_is(record->run, run);
}

bool
html_is_shown(const struct html_data *d, uint64_t index)
{
	return d->records <= HTML_SHOWN_MAX || index < d->first + HTML_SHOWN_MAX / 2 ||
	    index + HTML_SHOWN_MAX / 2 >= d->last;
}

unsigned
html_bin_of(const struct html_data *d, int64_t time_us)
{
	const double span = (double)(d->end_us - d->begin_us) + 1;
	double at = (double)(time_us - d->begin_us) / span * HTML_BINS;

	return at < 0 ? 0 : at >= HTML_BINS ? HTML_BINS - 1 : (unsigned)at;
}

bool
html_key_of(const char *hex, uint8_t key[HTML_KEY])
{
	uint8_t all[TREE_HASH_LEN];
	size_t n;

	if (strlen(hex) != 64 || sodium_hex2bin(all, sizeof(all), hex, 64, NULL, &n, NULL) != 0 ||
	    n != sizeof(all))
		return false;
	memcpy(key, all, HTML_KEY);
	return true;
}

/* Where it was counted: as in html_link. */
static uint8_t
tally(struct html_tally *t, const char *name, bool refused, uint64_t n)
{
	unsigned i;

	if (name[0] == '\0')
		return 0;
	for (i = 0; i < t->count && strcmp(t->one[i].name, name) != 0; i++)
		;
	if (i == HTML_TALLY_MAX) {
		t->others += n;
		return HTML_OTHERS;
	}
	if (i == t->count) {
		memcpy(t->one[i].name, name, strlen(name) + 1);
		t->count++;
	}
	*(refused ? &t->one[i].refused : &t->one[i].allowed) += n;
	return (uint8_t)(i + 1);
}

/* One that was counted as allowed was refused after all, or reached nobody. */
static void
take_back(struct html_tally *t, uint8_t at)
{
	if (at == HTML_OTHERS && t->others > 0)
		t->others--;
	else if (at > 0 && at != HTML_OTHERS && t->one[at - 1].allowed > 0)
		t->one[at - 1].allowed--;
}

/* Each request once, as in the numbers of the whole: the record that allowed it
 * may stand anywhere before. */
static void
take_back_withdrawn(struct html_data *d)
{
	const struct html_link *allowed;

	for (size_t i = 0; i < d->links; i++) {
		if (!d->link[i].withdrawn ||
		    (allowed = html_find(d, d->link[i].parent)) == NULL)
			continue;
		take_back(&d->hosts, allowed->host);
		take_back(&d->rules, allowed->rule);
	}
}

/* The largest first; those of one size by name, so that pages do not differ. */
static int
more_of(const void *a, const void *b)
{
	const struct html_count *x = a, *y = b;
	const uint64_t m = x->allowed + x->refused, n = y->allowed + y->refused;

	return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

static int
by_leaf(const void *a, const void *b)
{
	return memcmp(((const struct html_link *)a)->leaf,
	    ((const struct html_link *)b)->leaf, HTML_KEY);
}

static int
by_parent(const void *a, const void *b)
{
	const struct html_link *x = a, *y = b;
	const int order = memcmp(x->parent, y->parent, HTML_KEY);

	return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static int
add_link(struct html_data *d, const struct reader_line *line, const struct facts *f)
{
	uint8_t leaf[TREE_HASH_LEN];
	struct html_link *more;

	if (d->links == HTML_LINKS_MAX)
		return 0;
	if ((d->links & (d->links + 1)) == 0) {
		more = realloc(d->link, (2 * d->links + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		d->link = more;
	}
	more = &d->link[d->links++];
	memset(more, 0, sizeof(*more));
	tree_leaf(line->text, line->len, leaf);
	memcpy(more->leaf, leaf, HTML_KEY);
	(void)html_key_of(f->parent, more->parent);
	more->index = line->index;
	memcpy(more->type, f->type, facts_cut(f->type, strlen(f->type), sizeof(more->type) - 1));
	return 0;
}

bool
html_is_withheld(const struct html_data *d, const struct reader_line *line)
{
	const struct scan_result *scan = d->report->scan;

	if (scan == NULL)
		return false;
	for (unsigned i = 0; i < scan->findings; i++)
		if (!scan->finding[i].advisory && scan->finding[i].line == line->line &&
		    strcmp(scan->finding[i].path, line->file) == 0)
			return true;
	/* the others are not known one by one */
	return scan->finding_count + scan->advisory_count > scan->findings;
}

/* link is its own, or NULL where there is no room for more. */
static void
count(struct html_data *d, const struct facts *f, struct html_link *link)
{
	const bool refused = f->kind == FACTS_REFUSED;
	char name[sizeof(d->hosts.one[0].name)];
	uint8_t host, rule;
	size_t len;

	if (d->ours++ == 0 || f->time_us < d->begin_us)
		d->begin_us = f->time_us;
	if (f->time_us > d->end_us)
		d->end_us = f->time_us;
	d->allowed += f->kind == FACTS_ALLOWED && strcmp(f->type, "grant") != 0;
	d->refused += f->kind == FACTS_REFUSED ? f->count : 0;
	/* each request once: where a part begins, its decision may lie before it */
	d->allowed -= f->ended != FACTS_CARRIED_OUT && d->allowed > 0;
	d->failed += f->ended == FACTS_UNREACHED;
	d->grants += strcmp(f->type, "grant") == 0 && f->kind == FACTS_ALLOWED;
	if (d->agent[0] == '\0' && strcmp(f->type, "run") == 0)
		memcpy(d->agent, f->agent, sizeof(d->agent));
	if (link != NULL)
		link->withdrawn = f->ended != FACTS_CARRIED_OUT;
	/* a grant is no request; its use will be */
	if ((f->kind != FACTS_ALLOWED && !refused) || strcmp(f->type, "grant") == 0)
		return;
	len = facts_cut(f->host, strlen(f->host), sizeof(name) - 1);
	memcpy(name, f->host, len);
	name[len] = '\0';
	host = tally(&d->hosts, name, refused, f->count);
	rule = tally(&d->rules, f->rule, refused, f->count);
	if (link != NULL && !refused) {
		link->host = host;
		link->rule = rule;
	}
}

static int
first_pass(struct html_data *d, struct reader *reader)
{
	struct reader_line line;
	struct facts f;
	size_t before;
	int bad;

	d->first = reader_first(reader);
	while (reader_next(reader, &line, d->err, sizeof(d->err)) == 1) {
		d->records++;
		d->last = line.index + 1;
		if (line.rule != NULL)
			continue;
		facts_read(&f, &line.record);
		if (html_is_withheld(d, &line))
			f.host[0] = f.agent[0] = f.rule[0] = '\0';
		before = d->links;
		bad = add_link(d, &line, &f);
		if (!bad && html_is_ours(d, &line.record))
			count(d, &f, d->links > before ? &d->link[before] : NULL);
		facts_free(&f);
		if (bad)
			return -1;
	}
	return 0;
}

static void
second_pass(struct html_data *d, struct reader *reader)
{
	struct reader_line line;
	struct html_bin *bin;
	struct facts f;
	unsigned i;

	for (i = 0; i < HTML_BINS; i++)
		d->bin[i].index = UINT64_MAX;
	while (reader_next(reader, &line, d->err, sizeof(d->err)) == 1) {
		if (line.rule != NULL || line.index >= d->last ||
		    !html_is_ours(d, &line.record))
			continue;
		facts_read(&f, &line.record);
		bin = &d->bin[html_bin_of(d, f.time_us)];
		bin->allowed += f.kind == FACTS_ALLOWED;
		bin->refused += f.kind == FACTS_REFUSED;
		bin->failed += f.kind == FACTS_FAILED;
		bin->neutral += f.kind == FACTS_NEUTRAL;
		if (bin->index == UINT64_MAX && f.kind != FACTS_NEUTRAL)
			bin->index = line.index;
		facts_free(&f);
	}
}

static int
sort_links(struct html_data *d)
{
	if (d->links == 0)
		return 0;
	if ((d->child = malloc(d->links * sizeof(*d->child))) == NULL)
		return -1;
	memcpy(d->child, d->link, d->links * sizeof(*d->child));
	qsort(d->link, d->links, sizeof(*d->link), by_leaf);
	qsort(d->child, d->links, sizeof(*d->child), by_parent);
	return 0;
}

struct html_data *
html_data_read(const struct report *report)
{
	struct html_data *d = calloc(1, sizeof(*d));
	struct reader *reader;
	int bad;

	if (d == NULL)
		return NULL;
	d->report = report;
	d->begin_us = d->end_us = 0;
	if (report->dir == NULL || report->dir[0] == '\0' ||
	    (reader = reader_open(report->dir, d->err, sizeof(d->err))) == NULL)
		return d;
	bad = first_pass(d, reader) != 0 || sort_links(d) != 0;
	if (!bad && reader_seek(reader, d->first, d->err, sizeof(d->err)) == 0)
		second_pass(d, reader);
	reader_close(reader);
	if (!bad)
		take_back_withdrawn(d);
	qsort(d->hosts.one, d->hosts.count, sizeof(d->hosts.one[0]), more_of);
	qsort(d->rules.one, d->rules.count, sizeof(d->rules.one[0]), more_of);
	if (bad) {
		html_data_free(d);
		return NULL;
	}
	return d;
}

void
html_data_free(struct html_data *d)
{
	if (d == NULL)
		return;
	free(d->link);
	free(d->child);
	free(d);
}

const struct html_link *
html_find(const struct html_data *d, const uint8_t leaf[HTML_KEY])
{
	struct html_link wanted;

	memcpy(wanted.leaf, leaf, HTML_KEY);
	return d->links == 0 ? NULL :
	    bsearch(&wanted, d->link, d->links, sizeof(wanted), by_leaf);
}

const struct html_link *
html_children(const struct html_data *d, const uint8_t leaf[HTML_KEY], size_t *count)
{
	size_t low = 0, high = d->links, middle, end;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (memcmp(d->child[middle].parent, leaf, HTML_KEY) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < d->links &&
	    memcmp(d->child[end].parent, leaf, HTML_KEY) == 0; end++)
		;
	*count = end - low;
	return *count > 0 ? &d->child[low] : NULL;
}
