#include <inttypes.h>
#include <stdlib.h>
#include <string.h>


#include "ledger/output/sarif_parts.h"
#include "ledger/record/json_out.h"
#include "ledger/scan/scan_report.h"
#include "ledger/utf8.h"

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"
#define RULES_MAX 512
#define PIECE 4096	/* bytes of one finding's JSON */

static const char *const confidence[] = { "low", "medium", "high" };
static const char *const verdict[] = { "clean", "found", "incomplete" };

int
scan_report_status(const struct scan_report *report)
{
	if (report->result->finding_count > 0)
		return 1;
	return report->why != NULL || report->result->incomplete_count > 0 ? 2 : 0;
}

static const char *
verdict_word(const struct scan_report *report)
{
	int status = scan_report_status(report);

	return status == 2 && report->why != NULL ? "not_established" : verdict[status];
}

/* ---- text ---- */

/* Names of files are others' text: nothing of it reaches the terminal raw. */
static void
put_name(const char *name, FILE *out)
{
	const char *const end = name + strlen(name);
	uint32_t c;
	size_t n;

	for (; name < end; name += n) {
		n = utf8_next(name, (size_t)(end - name), &c);
		if (!utf8_is_odd(c)) {
			fwrite(name, 1, n, out);
			continue;
		}
		for (size_t i = 0; i < n; i++)
			fprintf(out, "\\x%02x", (unsigned char)name[i]);
	}
}

void
scan_report_finding(const struct scan_report *report,
    const struct scan_finding *f, FILE *out)
{
	const char *colour = f->baseline || f->advisory ? "\033[2m" : "\033[1;31m";

	if ((f->advisory || f->baseline) && !report->advisory)
		return;
	put_name(f->path, out);
	fprintf(out, ":%" PRIu64 ": %s", f->line, report->colour ? colour : "");
	put_name(f->what, out);
	fprintf(out, "%s, %s, %s confidence (byte %" PRIu64 ", %" PRIu64 " long)%s%s\n",
	    report->colour ? "\033[0m" : "", f->form, confidence[f->confidence], f->offset,
	    f->len, f->known ? ", a known secret" : "", f->baseline ? ", in the baseline" :
	    f->advisory ? ", advisory" : "");
}

/* Each kind of what was not looked at, and where that was first. */
static void
text_reasons(const struct scan_result *r, FILE *out)
{
	const struct scan_reason *reason;
	unsigned i;

	for (i = 0; i < r->reasons; i++) {
		reason = &r->reason[i];
		fputs("not looked at: ", out);
		put_name(reason->path, out);
		fprintf(out, "%s%s%s", reason->path[0] != '\0' ? ": " : "", reason->form,
		    reason->form[0] != '\0' ? ": " : "");
		put_name(reason->why, out);
		if (reason->count > 1)
			fprintf(out, "; and %" PRIu64 " more of this kind", reason->count - 1);
		fputc('\n', out);
	}
	if (scan_result_unkept(r) > 0)
		fprintf(out, "not looked at: %" PRIu64 " of other kinds\n", scan_result_unkept(r));
}

void
scan_report_text(const struct scan_report *report, FILE *out)
{
	const struct scan_result *r = report->result;

	if (report->why != NULL) {
		fprintf(out, "not established: %s\n", report->why);
		return;
	}
	fprintf(out, "%s: %" PRIu64 " found", verdict_word(report), r->finding_count);
	if (r->advisory_count > 0)
		fprintf(out, ", %" PRIu64 " advisory%s", r->advisory_count,
		    report->advisory ? "" : " (--advisory shows them)");
	if (r->baseline_count > 0)
		fprintf(out, ", %" PRIu64 " in the baseline", r->baseline_count);
	fprintf(out, "; %" PRIu64 " files, %.1f MB, %u formats (table %s)", r->files,
	    (double)r->bytes / 1e6, scan_formats_count(), SCAN_TABLE_VERSION);
	if (r->secrets > 0)
		fprintf(out, ", %u known secret%s", r->secrets, r->secrets == 1 ? "" : "s");
	if (r->tags > 0)
		fprintf(out, ", %u tags with padding", r->tags);
	if (r->links > 0)
		fprintf(out, "; %" PRIu64 " links not followed", r->links);
	if (r->special > 0)
		fprintf(out, "; %" PRIu64 " special files not opened", r->special);
	fputc('\n', out);
	text_reasons(r, out);
}

/* ---- JSON ---- */

static void
put_json(struct json_out *o, FILE *out)
{
	int n = json_out_end(o);

	if (n > 0)
		fwrite(o->buf, 1, (size_t)n, out);
}

void
scan_report_members(struct json_out *o, const struct scan_finding *f, const char *what)
{
	json_out_str(o, "path", f->path);
	json_out_uint(o, "line", f->line);
	json_out_uint(o, "offset", f->offset);
	json_out_uint(o, "length", f->len);
	json_out_str(o, what, f->what);
	json_out_str(o, "form", f->form);
	json_out_str(o, "confidence", confidence[f->confidence]);
}

static void
json_finding(const struct scan_finding *f, FILE *out)
{
	static const uint8_t none[SCAN_MARK_LEN];
	char buf[PIECE];
	struct json_out o;

	json_out_begin(&o, buf, sizeof(buf));
	json_out_object(&o, NULL);
	scan_report_members(&o, f, "rule");
	json_out_bool(&o, "known", f->known);
	json_out_bool(&o, "advisory", f->advisory);
	json_out_bool(&o, "baseline", f->baseline);
	if (memcmp(f->mark, none, sizeof(none)) != 0)
		json_out_hex(&o, "mark", f->mark, sizeof(f->mark));
	json_out_object_end(&o);
	put_json(&o, out);
}

/* The members that sum up, from the second on: what begins is the caller's. */
static void
json_sums(struct json_out *o, const struct scan_report *report)
{
	const struct scan_result *r = report->result;

	json_out_str(o, "verdict", verdict_word(report));
	json_out_str(o, "table", SCAN_TABLE_VERSION);
	json_out_uint(o, "formats", scan_formats_count());
	json_out_uint(o, "files", r->files);
	json_out_uint(o, "bytes", r->bytes);
	json_out_uint(o, "links", r->links);
	json_out_uint(o, "special", r->special);
	json_out_uint(o, "found", r->finding_count);
	json_out_uint(o, "advisory", r->advisory_count);
	json_out_uint(o, "baseline", r->baseline_count);
	json_out_uint(o, "known_secrets", r->secrets);
	json_out_uint(o, "short_secrets", r->short_secrets);
	json_out_uint(o, "tags", r->tags);
	if (report->commitment != NULL)
		json_out_str(o, "tags_commitment", report->commitment);
	json_out_uint(o, "not_scanned", r->incomplete_count);
	if (r->incomplete[0] != '\0')
		json_out_str(o, "incomplete", r->incomplete);
	if (report->why != NULL)
		json_out_str(o, "why", report->why);
}

static void
json_reasons(const struct scan_result *r, FILE *out)
{
	char buf[PIECE];
	struct json_out o;
	unsigned i;

	fputs(",\"reasons\":[", out);
	for (i = 0; i < r->reasons; i++) {
		json_out_begin(&o, buf, sizeof(buf));
		json_out_object(&o, NULL);
		json_out_str(&o, "why", r->reason[i].why);
		json_out_str(&o, "path", r->reason[i].path);
		json_out_str(&o, "form", r->reason[i].form);
		json_out_uint(&o, "count", r->reason[i].count);
		json_out_object_end(&o);
		fputs(i > 0 ? ",\n" : "\n", out);
		put_json(&o, out);
	}
	fputs("]", out);
}

void
scan_report_json(const struct scan_report *report, FILE *out)
{
	char buf[PIECE];
	struct json_out o;
	size_t i;

	json_out_begin(&o, buf, sizeof(buf));
	json_out_object(&o, NULL);
	json_out_uint(&o, "v", 1);
	json_sums(&o, report);
	json_out_object_end(&o);
	if (json_out_end(&o) > 0)	/* the findings come before its end */
		fwrite(buf, 1, o.len - 1, out);
	json_reasons(report->result, out);
	fputs(",\"findings\":[", out);
	for (i = 0; i < report->findings; i++) {
		fputs(i > 0 ? ",\n" : "\n", out);
		json_finding(&report->finding[i], out);
	}
	fputs("\n]}\n", out);
}

/* ---- SARIF ---- */

struct rules {
	const char *id[RULES_MAX];
	size_t n;
};

static size_t
rule_of(struct rules *rules, const char *id)
{
	size_t i;

	for (i = 0; i < rules->n; i++)
		if (strcmp(rules->id[i], id) == 0)
			return i;
	if (rules->n < RULES_MAX)
		rules->id[rules->n++] = id;
	return i < RULES_MAX ? i : RULES_MAX - 1;
}

static void
sarif_rules(const struct scan_report *report, struct rules *rules, FILE *out)
{
	char buf[PIECE], text[160];
	struct json_out o;
	size_t i;

	for (i = 0; i < report->findings; i++)
		rule_of(rules, report->finding[i].what);
	for (i = 0; i < rules->n; i++) {
		json_out_begin(&o, buf, sizeof(buf));
		json_out_object(&o, NULL);
		json_out_str(&o, "id", rules->id[i]);
		snprintf(text, sizeof(text), "A secret, or what looks like one (%.96s).",
		    rules->id[i]);
		sarif_text(&o, "shortDescription", text);
		json_out_object_end(&o);
		fputs(i > 0 ? "," : "", out);
		put_json(&o, out);
	}
}

/* Of all of a file where there is no finding. */
static void
sarif_location(struct json_out *o, const char *path, const struct scan_finding *f)
{
	json_out_array(o, "locations");
	json_out_object(o, NULL);
	json_out_object(o, "physicalLocation");
	sarif_uri(o, path, NULL);
	if (f != NULL) {
		json_out_object(o, "region");
		json_out_uint(o, "startLine", f->line);
		json_out_uint(o, "byteOffset", f->offset);
		json_out_uint(o, "byteLength", f->len);
		json_out_object_end(o);
	}
	json_out_object_end(o);
	json_out_object_end(o);
	json_out_array_end(o);
}

static void
sarif_result(const struct scan_finding *f, struct rules *rules, FILE *out)
{
	static const uint8_t none[SCAN_MARK_LEN];
	char buf[PIECE], text[256];
	struct json_out o;

	snprintf(text, sizeof(text), "%s (%s), %s confidence", f->what, f->form,
	    confidence[f->confidence]);
	json_out_begin(&o, buf, sizeof(buf));
	json_out_object(&o, NULL);
	json_out_str(&o, "ruleId", f->what);
	json_out_uint(&o, "ruleIndex", rule_of(rules, f->what));
	json_out_str(&o, "level", f->advisory ? "note" :
	    f->confidence == SCAN_HIGH ? "error" : "warning");
	sarif_text(&o, "message", text);
	if (f->baseline)
		json_out_str(&o, "baselineState", "unchanged");
	sarif_location(&o, f->path, f);
	if (memcmp(f->mark, none, sizeof(none)) != 0) {
		json_out_object(&o, "partialFingerprints");
		json_out_hex(&o, "countersignMark/v1", f->mark, sizeof(f->mark));
		json_out_object_end(&o);
	}
	json_out_object_end(&o);
	put_json(&o, out);
}

static void
sarif_notification(const char *why, const struct scan_reason *reason, FILE *out)
{
	char buf[PIECE], text[420];
	struct json_out o;

	snprintf(text, sizeof(text), "%.250s", why);
	if (reason != NULL)
		snprintf(text, sizeof(text), "%s%s%s (%" PRIu64 " in all)", reason->form,
		    reason->form[0] != '\0' ? ": " : "", reason->why, reason->count);
	json_out_begin(&o, buf, sizeof(buf));
	json_out_object(&o, NULL);
	json_out_str(&o, "level", "error");
	sarif_text(&o, "message", text);
	if (reason != NULL && reason->path[0] != '\0')
		sarif_location(&o, reason->path, NULL);
	json_out_object_end(&o);
	put_json(&o, out);
}

static void
sarif_notifications(const struct scan_report *report, FILE *out)
{
	const struct scan_result *r = report->result;
	unsigned i;

	fputs(",\"toolExecutionNotifications\":[", out);
	if (report->why != NULL)
		sarif_notification(report->why, NULL, out);
	for (i = 0; report->why == NULL && i < r->reasons; i++) {
		fputs(i > 0 ? ",\n" : "\n", out);
		sarif_notification(NULL, &r->reason[i], out);
	}
	fputs("]", out);
}

static void
sarif_end(const struct scan_report *report, FILE *out)
{
	char buf[PIECE];
	struct json_out o;

	fprintf(out, "\"invocations\":[{\"executionSuccessful\":%s,\"exitCode\":%d",
	    report->why == NULL ? "true" : "false", scan_report_status(report));
	if (report->result->reasons > 0 || report->why != NULL)
		sarif_notifications(report, out);
	fputs("}],", out);
	json_out_begin(&o, buf, sizeof(buf));
	json_out_object(&o, NULL);
	json_out_str(&o, "columnKind", "utf16CodeUnits");
	json_out_object(&o, "properties");
	json_sums(&o, report);
	json_out_object_end(&o);
	json_out_object_end(&o);
	if (json_out_end(&o) > 1)
		fwrite(buf + 1, 1, o.len - 1, out);	/* goes on an object */
}

void
scan_report_sarif(const struct scan_report *report, FILE *out)
{
	struct rules rules = { { NULL }, 0 };
	size_t i;

	fputs("{\"$schema\":\"" SCHEMA "\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":"
	    "{\"driver\":{\"name\":\"countersign scan\",\"version\":\"" COUNTERSIGN_VERSION
	    "\",\"semanticVersion\":\"" COUNTERSIGN_VERSION "\",\"rules\":[", out);
	sarif_rules(report, &rules, out);
	fputs("]}},\"results\":[", out);
	for (i = 0; i < report->findings; i++) {
		fputs(i > 0 ? ",\n" : "\n", out);
		sarif_result(&report->finding[i], &rules, out);
	}
	fputs("\n],", out);
	sarif_end(report, out);
	fputs("]}\n", out);
}
