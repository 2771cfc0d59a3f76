#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/json_out.h"
#include "ledger/report/report.h"
#include "ledger/scan/formats.h"

#define JSON_ROOM (4 * 1024 * 1024)	/* all streams and findings fit */
#define STREAMS_SHOWN 20

int
report_status(const struct report *report)
{
	const struct scan_result *scan = report->scan;

	if (report->verify->verdict == VERIFY_GAP ||
	    (scan != NULL && scan->verdict == SCAN_FOUND))
		return VERIFY_GAP;
	if (scan != NULL && scan->verdict == SCAN_INCOMPLETE)
		return VERIFY_NOT_ESTABLISHED;
	return (int)report->verify->verdict;
}

/* ---- text ---- */

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

/* Names and reasons may hold bytes of hostile files: no terminal controls. */
static void
put_safe(const char *text, FILE *out)
{
	const unsigned char *p = (const unsigned char *)text;

	for (; *p != '\0'; p++) {
		if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p++;
		else if (*p >= 0x20 && *p != 0x7f) {
			putc(*p, out);
			continue;
		}
		putc('?', out);
	}
}

/* "record 57 (stream broker, seq 57, use), line 46 of ledger/records.jsonl" */
static void
text_place(const struct verify_finding *f, FILE *out)
{
	const char *before = "";

	if (f->has_index && f->count > 1)
		fprintf(out, "records %" PRIu64 " to %" PRIu64, f->index,
		    f->index + f->count - 1);
	else if (f->has_index)
		fprintf(out, "record %" PRIu64, f->index);
	if (f->stream[0] != '\0' && f->has_seq)
		fprintf(out, " (stream %s, seq %" PRIu64 "%s%s)", f->stream, f->seq,
		    f->type[0] != '\0' ? ", " : "", f->type);
	if (f->has_index)
		before = ", ";
	if (f->line != 0)
		fprintf(out, "%sline %" PRIu64 " of %s", before, f->line, f->file);
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
		fprintf(out, "  %ssecret%s: ", paint(colour, f->confidence == SCAN_LOW ?
		    VERIFY_NOT_ESTABLISHED : VERIFY_GAP), plain(colour));
		put_safe(f->path, out);
		fprintf(out, ", line %" PRIu64 ", byte %" PRIu64 ": ", f->line, f->offset);
		put_safe(f->what, out);
		fprintf(out, f->known ? " (a known secret, %s)\n" : " (%s%s)\n", f->form,
		    f->confidence == SCAN_LOW ? ", advisory" : "");
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

static struct verify_statement
secrets_statement(const struct scan_result *scan)
{
	struct verify_statement s = { VERIFY_NOT_ESTABLISHED, "not scanned" };

	if (scan == NULL)
		return s;
	if (scan->verdict == SCAN_INCOMPLETE) {
		snprintf(s.text, sizeof(s.text), "not all could be scanned: %s",
		    scan->incomplete);
		return s;
	}
	if (scan->verdict == SCAN_FOUND) {
		s.verdict = VERIFY_GAP;
		snprintf(s.text, sizeof(s.text), "%" PRIu64 " found", scan->finding_count);
		return s;
	}
	s.verdict = VERIFY_COMPLETE;
	snprintf(s.text, sizeof(s.text), "none found in %" PRIu64 " files, %" PRIu64
	    " bytes, by %u token formats (%s) and %u known secrets in all their "
	    "forms", scan->files, scan->bytes, scan_formats_count(),
	    SCAN_TABLE_VERSION, scan->secrets);
	return s;
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

int
report_text(const struct report *report, bool colour, FILE *out)
{
	const struct verify_result *r = report->verify;
	const struct verify_statement secrets = secrets_statement(report->scan);

	fprintf(out, "verdict: %s%s%s\n", paint(colour, r->verdict), said(r->verdict),
	    plain(colour));
	text_findings(r, colour, out);
	text_secrets(report->scan, colour, out);
	text_statement("integrity", &r->integrity, colour, out);
	text_statement("completeness", &r->completeness, colour, out);
	text_statement("anchoring", &r->anchoring, colour, out);
	text_statement("coverage", &r->coverage, colour, out);
	text_statement("secrets", &secrets, colour, out);
	if (r->counted_records > 0)
		fprintf(out, "  %" PRIu64 " refusals of callers without a run are told by "
		    "number, in %" PRIu64 " records\n", r->counted, r->counted_records);
	text_streams(r, colour, out);
	fputs(r->kind == VERIFY_BUNDLE ? "  bundle " : "  ledger ", out);
	put_safe(report->path, out);
	if (r->run[0] != '\0')
		fprintf(out, " of run %s", r->run);
	fputs(", origin ", out);
	put_safe(r->origin, out);
	fprintf(out, ", records %" PRIu64 " to %" PRIu64 ", signed up to %" PRIu64
	    " (%.2f s)\n", r->first, r->size, r->sealed, report->seconds);
	return ferror(out) ? -1 : 0;
}

/* ---- JSON ---- */

static void
json_statement(struct json_out *o, const char *name,
    const struct verify_statement *s)
{
	json_out_object(o, name);
	json_out_str(o, "verdict", verify_verdict_word(s->verdict));
	json_out_str(o, "text", s->text);
	json_out_object_end(o);
}

static void
json_findings(struct json_out *o, const struct verify_result *r)
{
	const struct verify_finding *f;
	unsigned i;

	json_out_array(o, "findings");
	for (i = 0; i < r->findings; i++) {
		f = &r->finding[i];
		json_out_object(o, NULL);
		json_out_str(o, "verdict", verify_verdict_word(f->verdict));
		json_out_str(o, "code", f->code);
		if (f->has_index) {
			json_out_uint(o, "index", f->index);
			json_out_uint(o, "count", f->count);
		}
		if (f->stream[0] != '\0')
			json_out_str(o, "stream", f->stream);
		if (f->has_seq)
			json_out_uint(o, "seq", f->seq);
		if (f->type[0] != '\0')
			json_out_str(o, "type", f->type);
		if (f->line != 0) {
			json_out_str(o, "file", f->file);
			json_out_uint(o, "line", f->line);
		}
		json_out_str(o, "what", f->what);
		json_out_object_end(o);
	}
	json_out_array_end(o);
	json_out_uint(o, "finding_count", r->finding_count);
}

static void
json_streams(struct json_out *o, const struct verify_result *r)
{
	const struct verify_stream *s;
	unsigned i;

	json_out_array(o, "streams");
	for (i = 0; i < r->streams; i++) {
		s = &r->stream[i];
		json_out_object(o, NULL);
		json_out_str(o, "name", s->name);
		json_out_str(o, "verdict", verify_verdict_word(s->verdict));
		if (s->why[0] != '\0')
			json_out_str(o, "why", s->why);
		json_out_uint(o, "first_seq", s->first_seq);
		json_out_uint(o, "last_seq", s->last_seq);
		json_out_uint(o, "first_index", s->first_index);
		json_out_uint(o, "last_index", s->last_index);
		json_out_uint(o, "records", s->records);
		json_out_uint(o, "dropped", s->dropped);
		json_out_object_end(o);
	}
	json_out_array_end(o);
}

static void
json_scan(struct json_out *o, const struct scan_result *scan)
{
	static const char *const words[] = { "clean", "found", "incomplete" };
	static const char *const levels[] = { "low", "medium", "high" };
	const struct scan_finding *f;
	unsigned i;

	json_out_object(o, "scan");
	json_out_str(o, "verdict", words[scan->verdict]);
	json_out_str(o, "table", SCAN_TABLE_VERSION);
	json_out_uint(o, "formats", scan_formats_count());
	json_out_uint(o, "known_secrets", scan->secrets);
	json_out_uint(o, "short_secrets", scan->short_secrets);
	json_out_uint(o, "files", scan->files);
	json_out_uint(o, "bytes", scan->bytes);
	json_out_uint(o, "found", scan->finding_count);
	json_out_uint(o, "advisory", scan->advisory_count);
	if (scan->incomplete[0] != '\0')
		json_out_str(o, "incomplete", scan->incomplete);
	json_out_array(o, "findings");
	for (i = 0; i < scan->findings; i++) {
		f = &scan->finding[i];
		json_out_object(o, NULL);
		json_out_str(o, "path", f->path);
		json_out_uint(o, "line", f->line);
		json_out_uint(o, "offset", f->offset);
		json_out_uint(o, "length", f->len);
		json_out_str(o, f->known ? "secret" : "format", f->what);
		json_out_str(o, "form", f->form);
		json_out_str(o, "confidence", levels[f->confidence]);
		json_out_object_end(o);
	}
	json_out_array_end(o);
	json_out_object_end(o);
}

static void
json_all(struct json_out *o, const struct report *report)
{
	const struct verify_result *r = report->verify;
	const struct verify_statement secrets = secrets_statement(report->scan);

	json_out_object(o, NULL);
	json_out_uint(o, "v", REPORT_VERSION);
	json_out_str(o, "tool", "countersign-verify " COUNTERSIGN_VERSION);
	json_out_str(o, "path", report->path);
	json_out_str(o, "kind", r->kind == VERIFY_BUNDLE ? "bundle" : "ledger");
	json_out_str(o, "origin", r->origin);
	if (r->run[0] != '\0')
		json_out_str(o, "run", r->run);
	if (report->key != NULL)
		json_out_str(o, "pinned_key", report->key);
	else
		json_out_null(o, "pinned_key");
	json_out_uint(o, "first", r->first);
	json_out_uint(o, "size", r->size);
	json_out_uint(o, "sealed", r->sealed);
	json_out_str(o, "root", r->root);
	json_out_uint(o, "bytes", r->bytes);
	json_out_str(o, "verdict", verify_verdict_word(r->verdict));
	json_out_int(o, "status", report_status(report));
	json_out_object(o, "statements");
	json_statement(o, "integrity", &r->integrity);
	json_statement(o, "completeness", &r->completeness);
	json_statement(o, "anchoring", &r->anchoring);
	json_statement(o, "coverage", &r->coverage);
	json_statement(o, "secrets", &secrets);
	json_out_object_end(o);
	json_out_uint(o, "dropped", r->drops);
	json_out_uint(o, "counted_refusals", r->counted);
	json_findings(o, r);
	json_streams(o, r);
	if (report->scan != NULL)
		json_scan(o, report->scan);
	json_out_object_end(o);
}

int
report_json(const struct report *report, FILE *out)
{
	struct json_out o;
	char *buf = malloc(JSON_ROOM);
	int len = -1;

	if (buf == NULL)
		return -1;
	json_out_begin(&o, buf, JSON_ROOM);
	json_all(&o, report);
	if ((len = json_out_end(&o)) > 0) {
		fwrite(buf, 1, (size_t)len, out);
		putc('\n', out);
	}
	free(buf);
	return len < 0 || ferror(out) ? -1 : 0;
}
