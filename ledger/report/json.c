#include <stdlib.h>

#include "ledger/record/json_out.h"
#include "ledger/report/covered.h"
#include "ledger/report/presealed.h"
#include "ledger/report/report.h"
#include "ledger/scan/format/formats.h"
#include "ledger/scan/scan_report.h"

#define JSON_ROOM (16 * 1024 * 1024)	/* all streams and findings fit */

static void
json_statement(struct json_out *o, const char *name,
    const struct verify_statement *s)
{
	json_out_object(o, name);
	json_out_str(o, "verdict", verify_verdict_word(s->verdict));
	json_out_str(o, "text", s->text);
	json_out_object_end(o);
}

void
report_json_findings(const struct verify_result *r, struct json_out *o)
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
json_statements(struct json_out *o, const struct verify_statement s[REPORT_STATEMENTS])
{
	int i;

	json_out_object(o, "statements");
	for (i = 0; i < REPORT_STATEMENTS; i++)
		json_statement(o, report_statement_name(i), &s[i]);
	json_out_object_end(o);
}

static void
json_stream(struct json_out *o, const struct report *report, unsigned i, int64_t secrets)
{
	const struct verify_stream *s = &report->verify->stream[i];
	struct verify_statement statements[REPORT_STATEMENTS];

	report_stream(report, i, secrets, statements);
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
	json_statements(o, statements);
	json_out_object_end(o);
}

static void
json_streams(struct json_out *o, const struct report *report)
{
	int64_t *secrets = report_stream_secrets(report);
	unsigned i;

	json_out_array(o, "streams");
	for (i = 0; i < report->verify->streams; i++)
		json_stream(o, report, i, secrets != NULL ? secrets[i] : -1);
	json_out_array_end(o);
	free(secrets);
}

/* Those whom a trust policy names, and what they vouch for. */
static void
json_anchors(struct json_out *o, const struct verify_result *r)
{
	if (r->anchors == 0)
		return;
	json_out_uint(o, "anchored", r->anchored);
	if (r->anchored != 0)
		json_out_int(o, "anchored_unix", r->anchored_s);
	json_out_array(o, "anchors");
	for (unsigned i = 0; i < r->anchors; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "name", r->anchor[i].name);
		json_out_str(o, "kind", r->anchor[i].witness ? "witness" :
		    "authority");
		json_out_uint(o, "size", r->anchor[i].size);
		if (r->anchor[i].size != 0)
			json_out_int(o, "unix", r->anchor[i].time_s);
		json_out_object_end(o);
	}
	json_out_array_end(o);
}

/* Between which times the records were made, by the same. */
static void
json_interval(struct json_out *o, const struct verify_result *r)
{
	const struct verify_interval *in = &r->interval;

	if (in->text[0] == '\0')
		return;
	json_out_object(o, "interval");
	if (in->not_before_s > 0)
		json_out_int(o, "not_before_unix", in->not_before_s);
	if (in->not_after_s > 0)
		json_out_int(o, "not_after_unix", in->not_after_s);
	if (r->kind == VERIFY_LEDGER) {
		json_out_uint(o, "runs", in->openings);
		json_out_uint(o, "runs_behind_an_anchor", in->bound);
	}
	json_out_str(o, "text", in->text);
	json_out_object_end(o);
}

/* Files of a bundle for which its manifest alone speaks. */
static void
json_unvouched(struct json_out *o, const struct verify_result *r)
{
	unsigned i;

	if (r->kind != VERIFY_BUNDLE)
		return;
	json_out_array(o, "vouched_for_by_nobody");
	for (i = 0; i < r->unvouched_kept; i++)
		json_out_str(o, NULL, r->unvouched[i]);
	json_out_array_end(o);
	json_out_uint(o, "vouched_for_by_nobody_count", r->unvouched_count);
}

static void
json_scan(struct json_out *o, const struct scan_result *scan)
{
	static const char *const words[] = { "clean", "found", "incomplete" };
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
		scan_report_members(o, f, f->known ? "secret" : "format");
		json_out_object_end(o);
	}
	json_out_array_end(o);
	json_out_object_end(o);
}

static void
json_all(struct json_out *o, const struct report *report)
{
	const struct verify_result *r = report->verify;
	struct verify_statement whole[REPORT_STATEMENTS];

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
	if (report->trust != NULL)
		json_out_str(o, "trust_policy_sha256", report->trust);
	json_out_uint(o, "first", r->first);
	json_out_uint(o, "size", r->size);
	json_out_uint(o, "sealed", r->sealed);
	json_out_str(o, "root", r->root);
	json_out_uint(o, "bytes", r->bytes);
	json_out_str(o, "verdict", verify_verdict_word(report_verdict(report)));
	json_out_int(o, "status", (int)report_verdict(report));
	report_whole(report, whole);
	json_statements(o, whole);
	json_out_uint(o, "dropped", r->drops);
	json_out_uint(o, "lost", r->lost);
	json_out_uint(o, "counted_refusals", r->counted);
	json_out_bool(o, "counted_refusals_established",
	    r->unclosed == 0 && r->completeness.verdict == VERIFY_COMPLETE);
	report_json_findings(r, o);
	json_streams(o, report);
	json_anchors(o, r);
	json_interval(o, r);
	json_unvouched(o, r);
	covered_json(report->coverage, o);
	presealed_json(report, o);
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
