#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/report/covered.h"
#include "ledger/report/html.h"
#include "ledger/report/html_escape.h"
#include "ledger/report/html_impl.h"
#include "ledger/report/presealed.h"

#define ROWS_SHOWN 12		/* of a table of hosts or rules */
#define STREAMS_SHOWN 50

static const char *
word(enum verify_verdict verdict)
{
	static const char *const words[] = { "Complete", "Gap", "Not established" };

	return words[verdict];
}

/* Of a statement: what it says was shown, disproved, or neither. */
static const char *
statement_word(enum report_statement which, enum verify_verdict verdict)
{
	static const char *const good[] = { "Unaltered", "Complete", "Anchored", "Reconciled",
	    "None found" };
	static const char *const bad[] = { "Altered", "Gap", "Contradicted", "Uncovered",
	    "Found" };

	return verdict == VERIFY_COMPLETE ? good[which] :
	    verdict == VERIFY_GAP ? bad[which] : "Not established";
}

static const char *
sign(enum verify_verdict verdict)
{
	static const char *const signs[] = { "&#10003;", "&#10007;", "?" };

	return signs[verdict];
}

static void
put_head(const struct html_data *d, FILE *out)
{
	uint8_t hash[crypto_hash_sha256_BYTES];
	char base64[64];
	const char *style;
	size_t len;

	style = html_style(&len);
	crypto_hash_sha256(hash, (const uint8_t *)style, len);
	sodium_bin2base64(base64, sizeof(base64), hash, sizeof(hash),
	    sodium_base64_VARIANT_ORIGINAL);
	fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	    "style-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	    "<meta name=\"color-scheme\" content=\"light dark\">\n"
	    "<meta name=\"referrer\" content=\"no-referrer\">\n<title>", base64);
	fputs(word(report_verdict(d->report)), out);
	fputs(" &middot; ", out);
	html_str(out, d->report->verify->run[0] != '\0' ? d->report->verify->run :
	    d->report->verify->origin, 128);
	fputs("</title>\n<style>", out);
	fwrite(style, 1, len, out);
	fputs("</style></head>\n<body>\n", out);
}

/* What the one word of the verdict does not say. */
static void
put_beside(const struct html_data *d, FILE *out)
{
	const bool anchored = d->report->verify->anchoring.verdict == VERIFY_COMPLETE;
	const bool covered = d->report->verify->coverage.verdict == VERIFY_COMPLETE;
	const bool refuted = d->report->verify->coverage.verdict == VERIFY_GAP;

	if (anchored && covered)
		return;
	fprintf(out, "<p class=\"be\">%s%s%s</p>", anchored ? "" : "not anchored",
	    anchored || covered ? "" : ", ", covered ? "" : refuted ? "coverage refuted" :
	    "coverage not established");
}

static void
put_title(const struct html_data *d, FILE *out)
{
	const struct verify_result *r = d->report->verify;
	const enum verify_verdict verdict = report_verdict(d->report);

	fputs("<header><div class=\"top\"><div><p class=\"brand\">Evidence report</p><h1><bdi>", out);
	if (r->run[0] != '\0')
		html_str(out, r->run, 128);
	else
		html_str(out, r->origin[0] != '\0' ? r->origin : d->report->path, 256);
	fputs("</bdi></h1><p>", out);
	if (r->run[0] != '\0') {
		fputs("One run", out);
		if (d->agent[0] != '\0') {
			fputs(" of <bdi>", out);
			html_str(out, d->agent, 100);
			fputs("</bdi>", out);
		}
		fputs(", from the ledger <bdi>", out);
		html_str(out, r->origin, 256);
		fputs("</bdi>", out);
	} else {
		fputs(r->kind == VERIFY_LEDGER ? "A whole ledger" : "A bundle", out);
	}
	fprintf(out, "</p></div><div><div class=\"v c%d\"><b>%s</b>%s</div>",
	    (int)verdict, sign(verdict), word(verdict));
	put_beside(d, out);
	fputs("</div></div></header>\n<main>\n", out);
}

static void
put_statements(const struct html_data *d, FILE *out)
{
	struct verify_statement whole[REPORT_STATEMENTS];
	const char *name;
	int i;

	report_whole(d->report, whole);
	fputs("<section class=\"st\">", out);
	for (i = 0; i < REPORT_STATEMENTS; i++) {
		name = report_statement_name(i);
		fprintf(out, "<div class=\"card s%d\"><h3>%c%s</h3><strong>%s</strong><p>",
		    (int)whole[i].verdict, name[0] - 'a' + 'A', name + 1,
		    statement_word(i, whole[i].verdict));
		html_str(out, whole[i].text, 320);
		fputs("</p></div>", out);
	}
	fputs("</section>\n", out);
}

static void
put_duration(int64_t us, FILE *out)
{
	const int64_t s = us / 1000000;

	if (s < 60)
		fprintf(out, "%.1f s", (double)us / 1e6);
	else if (s < 3600)
		fprintf(out, "%" PRId64 "&thinsp;m %02" PRId64 "&thinsp;s", s / 60, s % 60);
	else
		fprintf(out, "%" PRId64 "&thinsp;h %02" PRId64 "&thinsp;m", s / 3600, s / 60 % 60);
}

static void
put_numbers(const struct html_data *d, FILE *out)
{
	fprintf(out, "<section class=\"card n\"><div class=\"a\"><b>%" PRIu64 "</b><span>allowed"
	    "</span></div><div class=\"d\"><b>%" PRIu64 "</b><span>refused</span></div>"
	    "<div class=\"f\"><b>%" PRIu64 "</b><span>failed upstream</span></div><div><b>%" PRIu64
	    "</b><span>grants</span></div><div><b>", d->allowed, d->refused, d->failed, d->grants);
	put_duration(d->end_us - d->begin_us, out);
	fprintf(out, "</b><span>from first to last</span></div><div><b>%" PRIu64
	    "</b><span>records</span></div></section>\n", d->ours);
}

static void
put_findings(const struct html_data *d, FILE *out)
{
	const struct verify_result *r = d->report->verify;
	unsigned i;

	if (r->finding_count == 0)
		return;
	fprintf(out, "<h2>Problems<small>%" PRIu64 "</small></h2><ul class=\"card probs scroll\">",
	    r->finding_count);
	for (i = 0; i < r->findings; i++) {
		fprintf(out, "<li class=\"p%d\"><b>%s</b>", (int)r->finding[i].verdict,
		    r->finding[i].code);
		html_str(out, r->finding[i].what, 320);
		fputs(" <small>", out);
		html_place(d, &r->finding[i], out);
		fputs("</small></li>", out);
	}
	if (r->finding_count > r->findings)
		fprintf(out, "<li class=\"p2\">and %" PRIu64 " more</li>",
		    r->finding_count - r->findings);
	fputs("</ul>\n", out);
}

static void
put_secrets(const struct html_data *d, FILE *out)
{
	const struct scan_result *scan = d->report->scan;
	const struct scan_finding *f;
	unsigned i;

	if (scan == NULL || scan->findings == 0)
		return;
	fputs("<h2>Secrets<small>where and what kind; never the value</small></h2>"
	    "<ul class=\"card probs scroll\">", out);
	for (i = 0; i < scan->findings; i++) {
		f = &scan->finding[i];
		fprintf(out, "<li class=\"p%d\"><b>", f->advisory || f->baseline ? 2 : 1);
		html_str(out, f->what, 96);
		fputs("</b>", out);
		html_str(out, f->path, 256);
		fprintf(out, " <small>line %" PRIu64 ", byte %" PRIu64 ", %s</small></li>", f->line,
		    f->offset, f->known ? "a known secret" : f->form);
	}
	if (scan->finding_count + scan->advisory_count > scan->findings)
		fprintf(out, "<li class=\"p2\">and %" PRIu64 " more</li>", scan->finding_count +
		    scan->advisory_count - scan->findings);
	fputs("</ul>\n", out);
}

static void
put_table(const struct html_tally *t, const char *title, FILE *out)
{
	uint64_t rest = t->others;
	unsigned i;

	fprintf(out, "<div class=\"card scroll\"><table><thead><tr><th>%s<th class=\"num\">allowed"
	    "<th class=\"num\">refused<tbody>", title);
	for (i = 0; i < t->count; i++) {
		if (t->one[i].allowed + t->one[i].refused == 0)
			continue;	/* all of it was taken back */
		if (i >= ROWS_SHOWN) {
			rest += t->one[i].allowed + t->one[i].refused;
			continue;
		}
		fputs("<tr><td class=\"w\"><bdi>", out);
		html_str(out, t->one[i].name, 120);
		fprintf(out, "</bdi><td class=\"num\">%" PRIu64 "<td class=\"num\">%" PRIu64,
		    t->one[i].allowed, t->one[i].refused);
	}
	if (rest > 0)
		fprintf(out, "<tr><td>others<td class=\"num\"><td class=\"num\">%" PRIu64, rest);
	fputs("</table></div>", out);
}

static void
put_tables(const struct html_data *d, FILE *out)
{
	if (d->hosts.count == 0 && d->rules.count == 0)
		return;
	fputs("<h2>Where to, and by which rule</h2><section class=\"two\">", out);
	if (d->hosts.count > 0)
		put_table(&d->hosts, "host", out);
	put_table(&d->rules, "rule", out);
	fputs("</section>\n", out);
}

static void
put_streams(const struct html_data *d, FILE *out)
{
	const struct verify_result *r = d->report->verify;
	struct verify_statement s[REPORT_STATEMENTS];
	int64_t *secrets;
	unsigned i;
	int k;

	if (r->streams == 0)
		return;
	secrets = report_stream_secrets(d->report);
	fputs("<h2>Streams<small>each emitter of records by itself</small></h2><div class=\"card "
	    "scroll\"><table><thead><tr><th>stream<th class=\"num\">seq<th class=\"num\">records"
	    "<th>integrity<th>completeness<th>anchoring<th>coverage<th>secrets<tbody>", out);
	for (i = 0; i < r->streams && i < STREAMS_SHOWN; i++) {
		report_stream(d->report, i, secrets != NULL ? secrets[i] : -1, s);
		fputs("<tr><td class=\"w\"><bdi>", out);
		html_str(out, r->stream[i].name, 64);
		fprintf(out, "</bdi><td class=\"num\">%" PRIu64 "&ndash;%" PRIu64 "<td class=\"num\">%"
		    PRIu64, r->stream[i].first_seq, r->stream[i].last_seq, r->stream[i].records);
		for (k = 0; k < REPORT_STATEMENTS; k++) {
			fprintf(out, "<td class=\"s%d\" title=\"", (int)s[k].verdict);
			html_attr(out, s[k].text, strlen(s[k].text));
			fprintf(out, "\">%s %s", sign(s[k].verdict), statement_word(k, s[k].verdict));
		}
	}
	if (r->streams > STREAMS_SHOWN)
		fprintf(out, "<tr><td colspan=\"8\">and %u more", r->streams - STREAMS_SHOWN);
	fputs("</table></div>\n", out);
	free(secrets);
}

/* Those whom the auditor's policy names, and what each vouches for. */
static void
put_anchors(const struct html_data *d, FILE *out)
{
	const struct verify_result *r = d->report->verify;
	char time[RECORD_TIME_LEN + 1] = "";
	unsigned i;

	if (r->anchors == 0)
		return;
	fputs("<h2>Anchors<small>others whom the trust policy names</small></h2><div class=\"card "
	    "scroll\"><table><thead><tr><th>who<th>what<th class=\"num\">vouches for size"
	    "<th>since<tbody>", out);
	for (i = 0; i < r->anchors; i++) {
		fputs("<tr><td class=\"w\"><bdi>", out);
		html_str(out, r->anchor[i].name, 128);
		fprintf(out, "</bdi><td>%s<td class=\"num\">", r->anchor[i].witness ? "witness" :
		    "time stamping authority");
		if (r->anchor[i].size == 0 || r->anchor[i].time_s < 0 ||
		    r->anchor[i].time_s > RECORD_TIME_MAX / 1000000) {
			fputs("nothing<td>", out);
			continue;
		}
		record_time_format(time, r->anchor[i].time_s * 1000000);
		fprintf(out, "%" PRIu64 "<td class=\"num\">%.10s %.8s", r->anchor[i].size, time,
		    time + 11);
	}
	fputs("</table>", out);
	if (r->interval.text[0] != '\0') {
		fputs("<p>When recorded: ", out);
		html_str(out, r->interval.text, VERIFY_INTERVAL_MAX);
		fputs("</p>", out);
	}
	fputs("</div>\n", out);
}

static void
put_unvouched(const struct html_data *d, FILE *out)
{
	const struct verify_result *r = d->report->verify;
	unsigned i;

	if (r->unvouched_count == 0)
		return;
	fputs("<h2>Vouched for by nobody<small>files that the manifest lists, which is not signed"
	    "</small></h2><div class=\"card scroll\"><table><tbody>", out);
	for (i = 0; i < r->unvouched_kept; i++) {
		fputs("<tr><td class=\"m\"><bdi>", out);
		html_str(out, r->unvouched[i], 256);
		fputs("</bdi>", out);
	}
	if (r->unvouched_count > r->unvouched_kept)
		fprintf(out, "<tr><td>and %" PRIu64 " more", r->unvouched_count -
		    r->unvouched_kept);
	fputs("</table></div>\n", out);
}

static void
put_fact(FILE *out, const char *name, const char *text)
{
	fprintf(out, "<dt>%s</dt><dd class=\"m\"><bdi>", name);
	html_str(out, text, 512);
	fputs("</bdi></dd>", out);
}

static void
put_identity(const struct html_data *d, FILE *out)
{
	const struct verify_result *r = d->report->verify;

	fputs("<h2>What was verified, and how to do it again</h2><div class=\"card\"><dl>", out);
	put_fact(out, "evidence", d->report->path);
	put_fact(out, "origin", r->origin);
	put_fact(out, "pinned key", d->report->key != NULL ? d->report->key :
	    "none: nothing is established without a key of your own");
	if (d->report->trust != NULL)
		put_fact(out, "SHA-256 of the trust policy", d->report->trust);
	fprintf(out, "<dt>records</dt><dd>%" PRIu64 " to %" PRIu64 ", signed up to size %" PRIu64
	    "</dd>", r->first, r->size == r->first ? r->size : r->size - 1, r->sealed);
	put_fact(out, "signed root", r->root);
	put_fact(out, "tool", "countersign-verify " COUNTERSIGN_VERSION);
	fprintf(out, "</dl><pre>countersign-verify %s EVIDENCE</pre></div>\n",
	    d->report->trust != NULL ? "--trust POLICY" : "--key KEY");
	fputs("<div class=\"note\"><ul><li>This page shows a verdict; it does not prove one. Run the command with a key that "
	    "you have from somewhere else.</li>"
	    "<li>What was never recorded leaves no trace here: only reconciliation with an "
	    "independent observer (coverage) can tell.</li>"
	    "<li>Without an anchor (a witness, a time stamp, a head that you saved), whoever holds "
	    "the log&rsquo;s key could have signed another history.</li>"
	    "<li>Without an anchor that its opening names, a run can have been made up later, with "
	    "times of before.</li>"
	    "<li>Characters that are invisible or turn text around are shown by number, "
	    "<i>U+202E</i>.</li></ul></div>\n", out);
}

int
report_html(const struct report *report, FILE *out)
{
	struct html_data *d = html_data_read(report);

	if (d == NULL)
		return -1;
	put_head(d, out);
	put_title(d, out);
	put_statements(d, out);
	put_numbers(d, out);
	html_timeline(d, out);
	put_findings(d, out);
	put_secrets(d, out);
	presealed_html(report, out);
	put_tables(d, out);
	put_streams(d, out);
	covered_html(report->coverage, out);
	put_anchors(d, out);
	put_unvouched(d, out);
	html_records(d, out);
	put_identity(d, out);
	fputs("</main><footer>Made by countersign-verify " COUNTERSIGN_VERSION ". This page holds "
	    "no script and loads nothing.</footer>\n</body></html>\n", out);
	html_data_free(d);
	return ferror(out) ? -1 : 0;
}
