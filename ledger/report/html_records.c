/* The records, one row each, which opens into all that the record says. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/report/html_escape.h"
#include "ledger/report/html_impl.h"

#define BODY_MAX 8192		/* bytes of a body that are laid out */
#define MARKED_MAX 3000		/* records of which bodies are marked up: a browser's time */
#define RAW_MAX 2048		/* of a line that is no record */
#define CHILDREN_SHOWN 40

struct rows {
	const struct html_data *data;
	FILE *out;
	const struct verify_finding *finding[VERIFY_FINDINGS_MAX];	/* by index */
	unsigned findings, told;
	char day[11];
	uint64_t cut;		/* records that are not shown, of these in a row */
	uint64_t cut_from;
};

static void
put_ref(struct rows *w, uint64_t index, const char *type)
{
	if (html_is_shown(w->data, index))
		fprintf(w->out, "<a href=\"#r%" PRIu64 "\">#%" PRIu64 " ", index, index);
	else
		fprintf(w->out, "#%" PRIu64 " ", index);
	html_str(w->out, type, 64);
	fputs(html_is_shown(w->data, index) ? "</a>" : " (not shown)", w->out);
}

void
html_place(const struct html_data *d, const struct verify_finding *f, FILE *out)
{
	const bool link = f->has_index && f->index >= d->first && f->index < d->last &&
	    html_is_shown(d, f->index);

	if (link)
		fprintf(out, "<a href=\"#r%" PRIu64 "\">", f->index);
	if (f->has_index && strcmp(f->code, "dropped") == 0)
		fprintf(out, "before record %" PRIu64, f->index);
	else if (f->has_index && f->count > 1)
		fprintf(out, "records %" PRIu64 " to %" PRIu64, f->index, f->index + f->count - 1);
	else if (f->has_index)
		fprintf(out, "record %" PRIu64, f->index);
	fputs(link ? "</a>" : "", out);
	if (f->stream[0] != '\0') {
		fputs(f->has_index ? ", stream " : "stream ", out);
		html_str(out, f->stream, 64);
	}
	if (f->has_seq)
		fprintf(out, ", seq %" PRIu64, f->seq);
	if (f->line != 0) {
		fprintf(out, "%sline %" PRIu64 " of ", f->has_index || f->stream[0] != '\0' ?
		    ", " : "", f->line);
		html_str(out, f->file, 80);
	}
}

/* ---- what is inside ---- */

static void
put_pair(FILE *out, const char *name, const char *text)
{
	fprintf(out, "<dt>%s</dt><dd class=\"m\">", name);
	html_str(out, text, FACTS_TEXT_MAX);
	fputs("</dd>", out);
}

static void
put_parent(struct rows *w, const struct facts *f)
{
	const struct html_link *parent = NULL;
	uint8_t key[HTML_KEY];

	if (f->parent[0] == '\0')
		return;
	if (html_key_of(f->parent, key))
		parent = html_find(w->data, key);
	fputs("<dt>admitted by</dt><dd>", w->out);
	if (parent != NULL) {
		put_ref(w, parent->index, parent->type);
	} else {
		fputs("<span class=\"m\">", w->out);
		html_str(w->out, f->parent, 64);
		fputs("</span>, which is not among these records", w->out);
	}
	fputs("</dd>", w->out);
}

static void
put_children(struct rows *w, const uint8_t leaf[TREE_HASH_LEN])
{
	const struct html_link *child;
	size_t n, i;

	child = html_children(w->data, leaf, &n);
	if (n == 0)
		return;
	fputs("<dt>led to</dt><dd>", w->out);
	for (i = 0; i < n && i < CHILDREN_SHOWN; i++) {
		fputs(i > 0 ? ", " : "", w->out);
		put_ref(w, child[i].index, child[i].type);
	}
	if (n > i)
		fprintf(w->out, " and %zu more", n - i);
	fputs("</dd>", w->out);
}

static void
put_hex(FILE *out, const char *name, const uint8_t *hash)
{
	unsigned i;

	fprintf(out, "<dt>%s</dt><dd class=\"m\">", name);
	for (i = 0; i < TREE_HASH_LEN; i++)
		fprintf(out, "%02x", hash[i]);
	fputs("</dd>", out);
}

static void
put_inside(struct rows *w, const struct reader_line *line, const struct facts *f)
{
	uint8_t leaf[TREE_HASH_LEN];

	tree_leaf(line->text, line->len, leaf);
	fprintf(w->out, "<div class=\"in\" id=\"r%" PRIu64 "\"><dl>", line->index);
	put_parent(w, f);
	put_children(w, leaf);
	put_pair(w->out, "time", f->time);
	fprintf(w->out, "<dt>place</dt><dd>stream ");
	html_str(w->out, f->stream, 64);
	fprintf(w->out, ", seq %" PRIu64 "; record %" PRIu64 "; line %" PRIu64 " of ", f->seq,
	    line->index, line->line);
	html_str(w->out, line->file, 80);
	fputs("</dd>", w->out);
	if (f->run[0] != '\0')
		put_pair(w->out, "run", f->run);
	put_pair(w->out, "policy", f->policy);
	put_hex(w->out, "leaf hash", leaf);
	if (html_is_withheld(w->data, line)) {
		fputs("</dl><p class=\"note\">A secret was found in this record: what it says is "
		    "not repeated here.</p></div></details>\n", w->out);
		return;
	}
	fputs("</dl><pre>", w->out);
	html_json(w->out, line->record.body.ptr, line->record.body.len, BODY_MAX,
	    w->data->records <= MARKED_MAX);
	fputs("</pre></div></details>\n", w->out);
}

/* ---- rows ---- */

static bool
is_lifecycle(const struct facts *f)
{
	static const char *const types[] = { "run", "teardown", "grant", "open", "close",
	    "secret", "policy", "coverage", "loss", "key", "drop", "recover", "clock", "heads", "scan",
	    "anchor" };
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(f->type, types[i]) == 0)
			return true;
	return false;
}

static const char *
kind_class(enum facts_kind kind)
{
	static const char *const classes[] = { "", " a", " d", " f" };

	return classes[kind];
}

static void
put_day(struct rows *w, const char *time)
{
	if (strncmp(w->day, time, 10) == 0)
		return;
	snprintf(w->day, sizeof(w->day), "%.10s", time);
	fprintf(w->out, "<p class=\"day\">%s (UTC)</p>\n", w->day);
}

static void
put_summary(struct rows *w, const struct reader_line *line, const struct facts *f)
{
	char about[FACTS_TEXT_MAX * 2], person[FACTS_PERSON_MAX];

	fprintf(w->out, "<summary><time>%.12s</time><span class=\"k\">", f->time + 11);
	html_str(w->out, f->type, 20);
	if (html_is_withheld(w->data, line)) {
		fprintf(w->out, "</span><span class=\"w\">withheld: a secret was found in it</span>"
		    "<span class=\"ix\">#%" PRIu64 "</span></summary>", line->index);
		return;
	}
	fputs("</span><span class=\"w\"><bdi>", w->out);
	html_str(w->out, facts_about(f, about, sizeof(about)), 300);
	fputs("</bdi>", w->out);
	if (f->count > 1)
		fprintf(w->out, " <b>&times; %" PRIu64 "</b>", f->count);
	if (f->rule[0] != '\0') {
		fputs("<em><bdi>", w->out);
		html_str(w->out, f->rule, 80);
		if (f->reason[0] != '\0' && f->kind == FACTS_REFUSED) {
			fputs(": ", w->out);
			html_str(w->out, f->reason, 200);
		}
		if (facts_person(f, person, sizeof(person))[0] != '\0') {
			fputs(", ", w->out);
			html_str(w->out, person, sizeof(person));
		}
		fputs("</bdi></em>", w->out);
	}
	fprintf(w->out, "</span><span class=\"ix\">#%" PRIu64 "</span></summary>", line->index);
}

static void
put_broken(struct rows *w, const struct reader_line *line)
{
	fprintf(w->out, "<details class=\"r x\"><summary><time></time><span class=\"k\">unreadable"
	    "</span><span class=\"w\">%s</span><span class=\"ix\">#%" PRIu64 "</span></summary>"
	    "<div class=\"in\" id=\"r%" PRIu64 "\"><p class=\"note\">line %" PRIu64 " of ",
	    line->rule, line->index, line->index, line->line);
	html_str(w->out, line->file, 80);
	if (html_is_withheld(w->data, line)) {
		fputs(": withheld, a secret was found in it</p></div></details>\n", w->out);
		return;
	}
	fprintf(w->out, ", %zu bytes</p><pre>", line->len);
	html_text(w->out, line->text, facts_cut(line->text, line->len, RAW_MAX));
	fputs(line->len > RAW_MAX ? "&hellip;</pre></div></details>\n" : "</pre></div></details>\n",
	    w->out);
}

static void
put_record(struct rows *w, const struct reader_line *line, bool marked)
{
	struct facts f;

	if (line->rule != NULL) {
		put_broken(w, line);
		return;
	}
	facts_read(&f, &line->record);
	put_day(w, f.time);
	fprintf(w->out, "<details class=\"r%s%s%s%s\">", kind_class(f.kind),
	    is_lifecycle(&f) ? " l" : "", html_is_ours(w->data, &line->record) ? "" : " o",
	    marked ? " x" : "");
	put_summary(w, line, &f);
	put_inside(w, line, &f);
	facts_free(&f);
}

/* What was found wrong up to here; whether it concerns this very record. */
static bool
put_findings(struct rows *w, uint64_t index)
{
	const struct verify_finding *f;
	bool here = false;

	for (; w->told < w->findings && w->finding[w->told]->index <= index; w->told++) {
		f = w->finding[w->told];
		here = here || f->index == index;
		fprintf(w->out, "<p class=\"gap\"><b>%s</b>", f->code);
		html_str(w->out, f->what, 320);
		fputs(" <small>(", w->out);
		html_place(w->data, f, w->out);
		fputs(")</small></p>\n", w->out);
	}
	return here;
}

static void
end_cut(struct rows *w)
{
	if (w->cut > 0)
		fprintf(w->out, "<p class=\"cut\">%" PRIu64 " records, #%" PRIu64 " to #%" PRIu64
		    ", are counted above but not shown here: see <code>countersign ledger query"
		    "</code></p>\n", w->cut, w->cut_from, w->cut_from + w->cut - 1);
	w->cut = 0;
}

static int
by_index(const void *a, const void *b)
{
	const struct verify_finding *const *x = a, *const *y = b;

	return ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

static void
gather_findings(struct rows *w)
{
	const struct verify_result *r = w->data->report->verify;
	unsigned i;

	for (i = 0; i < r->findings; i++)
		if (r->finding[i].has_index)
			w->finding[w->findings++] = &r->finding[i];
	qsort(w->finding, w->findings, sizeof(w->finding[0]), by_index);
}

static void
put_rows(struct rows *w, struct reader *reader)
{
	struct reader_line line;
	char err[256];
	bool marked;

	while (reader_next(reader, &line, err, sizeof(err)) == 1 && line.index < w->data->last) {
		marked = w->told < w->findings && w->finding[w->told]->index <= line.index;
		if (!html_is_shown(w->data, line.index) && !marked) {
			if (w->cut++ == 0)
				w->cut_from = line.index;
			continue;
		}
		end_cut(w);
		if (marked)
			marked = put_findings(w, line.index);
		put_record(w, &line, marked);
	}
	end_cut(w);
	put_findings(w, UINT64_MAX);
}

static void
put_filters(const struct html_data *d, FILE *out)
{
	static const struct { const char *id, *text; } filters[] = {
		{ "fz", "All" }, { "fa", "Allowed" }, { "fd", "Refused" }, { "ff", "Failed" },
		{ "fl", "Grants and lifecycle" },
	};
	const bool whole = d->report->verify->run[0] == '\0';
	size_t i;

	fputs("<div class=\"fil\">", out);
	for (i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		fprintf(out, "<input type=\"radio\" name=\"f\" id=\"%s\"%s><label for=\"%s\">%s</label>",
		    filters[i].id, i == 0 ? " checked" : "", filters[i].id, filters[i].text);
	if (!whole && d->ours < d->records)
		fputs("<input type=\"checkbox\" id=\"fo\"><label for=\"fo\">Records between, of "
		    "others</label>", out);
	else if (whole)
		fputs("<input type=\"checkbox\" id=\"fo\" checked hidden>", out);
	fputs("</div>", out);
}

void
html_records(const struct html_data *d, FILE *out)
{
	struct rows w = { .data = d, .out = out };
	struct reader *reader;
	char err[256] = "";

	if (d->records == 0)
		return;
	fprintf(out, "<h2 id=\"records\">Records<small>%" PRIu64 " in all", d->records);
	if (d->records > HTML_SHOWN_MAX)
		fprintf(out, "; the first and the last %d are shown", HTML_SHOWN_MAX / 2);
	if (d->ours != d->records)
		fprintf(out, "; %" PRIu64 " of this run", d->ours);
	fputs("</small></h2>", out);
	put_filters(d, out);
	gather_findings(&w);
	fputs("<div class=\"card recs\">\n", out);
	reader = reader_open(d->report->dir, err, sizeof(err));
	if (reader != NULL)
		put_rows(&w, reader);
	reader_close(reader);
	if (err[0] != '\0') {
		fputs("<p class=\"gap\"><b>unreadable</b>", out);
		html_str(out, err, 256);
		fputs("</p>", out);
	}
	fputs("</div>\n", out);
}
