#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "ledger/output/shown.h"
#include "ledger/report/covered.h"
#include "ledger/report/presealed.h"
#include "ledger/report/report.h"

#define STREAMS_SHOWN 20

static const char *
said(enum verify_verdict verdict)
{
	return verdict == VERIFY_NOT_ESTABLISHED ? "not established" :
	    verify_verdict_word(verdict);
}

static const char *
paint(bool colour, enum verify_verdict verdict)
{
	static const char *const codes[] = { "\033[32m", "\033[1;31m", "\033[33m" };

	return colour ? codes[verdict] : "";
}

static const char *
plain(bool colour)
{
	return colour ? "\033[0m" : "";
}

/* Names and reasons may hold bytes of hostile files. */
static void
put_safe(const char *text, FILE *out)
{
	shown_put(out, text, SIZE_MAX);
}

/* "record 57 (stream broker, seq 57, use), line 46 of ledger/records.jsonl" */
static void
text_place(const struct verify_finding *f, FILE *out)
{
	const char *before = "";

	if (f->has_index && strcmp(f->code, "dropped") == 0)
		fprintf(out, "before record %" PRIu64, f->index);
	else if (f->has_index && f->count > 1)
		fprintf(out, "records %" PRIu64 " to %" PRIu64, f->index,
		    f->index + f->count - 1);
	else if (f->has_index)
		fprintf(out, "record %" PRIu64, f->index);
	if (f->stream[0] != '\0' && f->has_seq)
		fprintf(out, " (stream %s, seq %" PRIu64 "%s%s)", f->stream, f->seq,
		    f->type[0] != '\0' ? ", " : "", f->type);
	if (f->has_index)
		before = ", ";
	if (f->line != 0) {	/* what is of a whole file says of which by itself */
		fprintf(out, "%sline %" PRIu64 " of ", before, f->line);
		put_safe(f->file, out);
	}
	if (f->has_index || f->line != 0)
		fputs(": ", out);
}

static void
text_findings(const struct verify_result *r, bool colour, FILE *out)
{
	unsigned i;

	for (i = 0; i < r->findings; i++) {
		fprintf(out, "  %s%s%s: ", paint(colour, r->finding[i].verdict),
		    r->finding[i].code, plain(colour));
		text_place(&r->finding[i], out);
		put_safe(r->finding[i].what, out);
		putc('\n', out);
	}
	if (r->finding_count > r->findings)
		fprintf(out, "  and %" PRIu64 " more\n", r->finding_count - r->findings);
}

static void
text_secrets(const struct scan_result *scan, bool colour, FILE *out)
{
	const struct scan_finding *f;
	unsigned i;

	for (i = 0; scan != NULL && i < scan->findings; i++) {
		f = &scan->finding[i];
		fprintf(out, "  %ssecret%s: ", paint(colour, f->advisory || f->baseline ?
		    VERIFY_NOT_ESTABLISHED : VERIFY_GAP), plain(colour));
		put_safe(f->path, out);
		fprintf(out, ", line %" PRIu64 ", byte %" PRIu64 ": ", f->line, f->offset);
		put_safe(f->what, out);
		fprintf(out, f->known ? " (a known secret, %s)\n" : " (%s%s)\n", f->form,
		    f->advisory ? ", advisory" : "");
	}
	if (scan != NULL && scan->finding_count + scan->advisory_count > scan->findings)
		fprintf(out, "  and %" PRIu64 " more\n", scan->finding_count +
		    scan->advisory_count - scan->findings);
}

static void
text_statement(const char *name, const struct verify_statement *s, bool colour,
    FILE *out)
{
	fprintf(out, "  %-13s %s%-16s%s", name, paint(colour, s->verdict),
	    said(s->verdict), plain(colour));
	put_safe(s->text, out);
	putc('\n', out);
}

static void
text_streams(const struct verify_result *r, bool colour, FILE *out)
{
	const struct verify_stream *s;
	unsigned i;

	for (i = 0; i < r->streams && i < STREAMS_SHOWN; i++) {
		s = &r->stream[i];
		fprintf(out, "  stream %s: seq %" PRIu64 " to %" PRIu64 ", %" PRIu64
		    " records: %s%s%s%s%s\n", s->name, s->first_seq, s->last_seq,
		    s->records, paint(colour, s->verdict), said(s->verdict),
		    plain(colour), s->why[0] != '\0' ? ": " : "", s->why);
	}
	if (r->streams > STREAMS_SHOWN)
		fprintf(out, "  and %u more streams\n", r->streams - STREAMS_SHOWN);
}

/* The manifest, which lists them, is signed by nobody. */
static void
text_unvouched(const struct verify_result *r, FILE *out)
{
	unsigned i;

	for (i = 0; i < r->unvouched_kept; i++) {
		fputs("  vouched for by nobody: ", out);
		put_safe(r->unvouched[i], out);
		putc('\n', out);
	}
	if (r->unvouched_count > r->unvouched_kept)
		fprintf(out, "  and %" PRIu64 " files more that nobody vouches for\n",
		    r->unvouched_count - r->unvouched_kept);
}

/* Where the ledger alone would have had a better one, why. */
static void
text_verdict(const struct report *report, bool colour, FILE *out)
{
	const enum verify_verdict verdict = report_verdict(report);

	fprintf(out, "verdict: %s%s%s%s\n", paint(colour, verdict), said(verdict),
	    plain(colour), verdict == report->verify->verdict ? "" :
	    verdict == VERIFY_GAP ? ", since a secret was found" :
	    ", since not all could be scanned");
}

/* A broker tells what it only counts every few seconds, and at its end. */
static void
text_counted(const struct verify_result *r, FILE *out)
{
	if (r->counted_records > 0)
		fprintf(out, "  %" PRIu64 " refusals are told by number, in %" PRIu64 " records: "
		    "more than are written one by one\n", r->counted, r->counted_records);
	if (r->unclosed > 0)
		fprintf(out, "  how many refusals were only counted is not established: %" PRIu64
		    " session%s without a close did not tell the last of %s\n", r->unclosed,
		    r->unclosed == 1 ? "" : "s", r->unclosed == 1 ? "its own" : "theirs");
}

/* By the anchors before and behind them. */
static void
text_interval(const struct verify_result *r, FILE *out)
{
	if (r->interval.text[0] == '\0')
		return;
	fputs("  when recorded ", out);
	put_safe(r->interval.text, out);
	putc('\n', out);
}

int
report_text(const struct report *report, bool colour, FILE *out)
{
	const struct verify_result *r = report->verify;
	struct verify_statement whole[REPORT_STATEMENTS];
	int i;

	text_verdict(report, colour, out);
	text_findings(r, colour, out);
	text_secrets(report->scan, colour, out);
	report_whole(report, whole);
	for (i = 0; i < REPORT_STATEMENTS; i++)
		text_statement(report_statement_name(i), &whole[i], colour, out);
	text_interval(r, out);
	covered_text(report->coverage, out);
	presealed_text(report, out);
	text_unvouched(r, out);
	text_counted(r, out);
	text_streams(r, colour, out);
	if (report->trust != NULL)
		fprintf(out, "  trust policy with SHA-256 %s\n", report->trust);
	fputs(r->kind == VERIFY_BUNDLE ? "  bundle " : "  ledger ", out);
	put_safe(report->path, out);
	if (r->run[0] != '\0')
		fputs(" of run ", out);
	put_safe(r->run, out);
	fputs(", origin ", out);
	put_safe(r->origin, out);
	if (r->size > r->first)
		fprintf(out, ", records %" PRIu64 " to %" PRIu64, r->first, r->size - 1);
	else
		fputs(", no records", out);
	fprintf(out, ", %" PRIu64 " signed (%.2f s)\n", r->sealed, report->seconds);
	return ferror(out) ? -1 : 0;
}
