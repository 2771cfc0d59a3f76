/*
 * SARIF 2.1.0 (OASIS), one run: each finding of the verification and of the
 * scan is a result, with the rule's words of FORMAT.md; so is each statement that
 * is not established where nothing else says why not all is well.  Never a value.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/output/sarif_parts.h"
#include "ledger/record/json_out.h"
#include "ledger/report/report.h"

#define ROOM (4 * 1024 * 1024)
#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"
#define RULES_MAX (2 * VERIFY_FINDINGS_MAX + SCAN_FINDINGS_MAX + REPORT_STATEMENTS)

static const struct { const char *code, *text; } words[] = {
	{ "altered", "A record is not the one that was signed." },
	{ "missing", "Signed records are not there." },
	{ "inserted", "Records are there that were not signed." },
	{ "reordered", "Records are not in the order in which they were signed." },
	{ "cut", "A file ends before its record does." },
	{ "chain", "A record does not continue its stream." },
	{ "limit", "More was let through than the run or the grant was for." },
	{ "policy", "A record names a policy pack that no record before it brings into force." },
	{ "dropped", "The recorder declared records as dropped." },
	{ "lost", "An adapter declared records of the run as lost." },
	{ "fork", "Two histories were signed." },
	{ "anchor", "What is recorded as said by others before is not what they said." },
	{ "clock", "Times contradict each other." },
	{ "interval", "Between which times the records were made is not established, or longer than wanted." },
	{ "rollback", "A head that was signed before is gone." },
	{ "no_teardown", "How a run ended is not recorded." },
	{ "unsealed", "Records are not signed yet." },
	{ "unknown_key", "The checkpoint is not signed by the pinned key." },
	{ "unrecorded", "An independent observer saw an action that no record lets through." },
	{ "unobserved", "A recorded action was not seen by an observer who sees all of these." },
	{ "unsettled", "Only a record that does not tell what became of it is left for an action that was seen." },
	{ "in_tunnel", "An action that was seen may have gone through a tunnel, which is not recorded." },
	{ "edge", "It cannot be told whether an action that was seen was within the run." },
	{ "observer", "An observation is signed in the name of a pinned observer, and not by his key." },
	{ "archive", "The bundle's file is damaged or not in the form of one." },
	{ "secret", "A secret, or what looks like one, stands in the evidence." },
	{ "integrity", "That the records are those that were signed is not established." },
	{ "completeness", "That no record is missing is not established." },
	{ "anchoring", "Those whom the policy names do not vouch for all of this history." },
	{ "coverage", "That all that happened was recorded is not established." },
	{ "secrets", "That no secret stands in the evidence is not established." },
};

struct sarif {
	struct json_out out;
	const struct report *report;
	const char *rule[RULES_MAX];
	unsigned rules;
};

static const char *
text_of(const char *code)
{
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].code, code) == 0)
			return words[i].text;
	return "The evidence is not as the format says (ledger/FORMAT.md, Verdict).";
}

static unsigned
rule_index(struct sarif *s, const char *code)
{
	unsigned i;

	for (i = 0; i < s->rules; i++)
		if (strcmp(s->rule[i], code) == 0)
			return i;
	s->rule[s->rules] = code;
	return s->rules++;
}

/* Bad, though no finding says so: then the statements that are not established are
 * results, since no results would be read as none to be had. */
static bool
is_silent(const struct report *report)
{
	const struct scan_result *scan = report->scan;

	return report_verdict(report) != VERIFY_COMPLETE && report->verify->findings == 0 &&
	    (scan == NULL || scan->finding_count == 0);
}

static void
collect_rules(struct sarif *s)
{
	struct verify_statement whole[REPORT_STATEMENTS];
	unsigned i;

	for (i = 0; i < s->report->verify->findings; i++)
		rule_index(s, s->report->verify->finding[i].code);
	if (s->report->scan != NULL && s->report->scan->findings > 0)
		rule_index(s, "secret");
	report_whole(s->report, whole);
	for (i = 0; is_silent(s->report) && i < REPORT_STATEMENTS; i++)
		if (whole[i].verdict != VERIFY_COMPLETE)
			rule_index(s, report_statement_name(i));
}

static void
put_driver(struct sarif *s)
{
	struct json_out *o = &s->out;
	unsigned i;

	json_out_object(o, "tool");
	json_out_object(o, "driver");
	json_out_str(o, "name", "countersign-verify");
	json_out_str(o, "version", COUNTERSIGN_VERSION);
	json_out_str(o, "semanticVersion", COUNTERSIGN_VERSION);
	json_out_array(o, "rules");
	for (i = 0; i < s->rules; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "id", s->rule[i]);
		sarif_text(o, "shortDescription", text_of(s->rule[i]));
		json_out_object_end(o);
	}
	json_out_array_end(o);
	json_out_object_end(o);
	json_out_object_end(o);
}

/* Line 0: all of the file; no file: all of the evidence.  Those who show results leave
 * out what stands nowhere. */
static void
begin_location(struct json_out *o, const char *file, uint64_t line)
{
	json_out_array(o, "locations");
	json_out_object(o, NULL);
	json_out_object(o, "physicalLocation");
	sarif_uri(o, file[0] != '\0' ? file : "./", "EVIDENCE");
	if (line > 0) {
		json_out_object(o, "region");
		json_out_uint(o, "startLine", line);
	}
}

static void
end_location(struct json_out *o, uint64_t line)
{
	if (line > 0)
		json_out_object_end(o);
	json_out_object_end(o);
	json_out_object_end(o);
	json_out_array_end(o);
}

static void
begin_result(struct sarif *s, const char *code, const char *level, const char *text)
{
	json_out_object(&s->out, NULL);
	json_out_str(&s->out, "ruleId", code);
	json_out_uint(&s->out, "ruleIndex", rule_index(s, code));
	json_out_str(&s->out, "level", level);
	sarif_text(&s->out, "message", text);
}

static void
put_finding(struct sarif *s, const struct verify_finding *f)
{
	struct json_out *o = &s->out;

	begin_result(s, f->code, f->verdict == VERIFY_GAP ? "error" : "warning", f->what);
	begin_location(o, f->file, f->line);
	end_location(o, f->line);
	json_out_object(o, "properties");
	json_out_str(o, "verdict", verify_verdict_word(f->verdict));
	if (f->has_index) {
		json_out_uint(o, "index", f->index);
		json_out_uint(o, "count", f->count);
	}
	if (f->stream[0] != '\0')
		json_out_str(o, "stream", f->stream);
	if (f->has_seq)
		json_out_uint(o, "seq", f->seq);
	json_out_object_end(o);
	json_out_object_end(o);
}

static void
put_secret(struct sarif *s, const struct scan_finding *f)
{
	struct json_out *o = &s->out;
	char text[256];

	snprintf(text, sizeof(text), "%s (%s), %" PRIu64 " bytes at byte %" PRIu64, f->what,
	    f->known ? "a known secret" : f->form, f->len, f->offset);
	begin_result(s, "secret", f->advisory || f->baseline ? "note" : "error", text);
	begin_location(o, f->path, f->line);
	json_out_uint(o, "byteOffset", f->offset);
	json_out_uint(o, "byteLength", f->len);
	end_location(o, f->line);
	json_out_object_end(o);
}

static void
put_statements(struct sarif *s)
{
	struct verify_statement whole[REPORT_STATEMENTS];
	unsigned i;

	report_whole(s->report, whole);
	for (i = 0; i < REPORT_STATEMENTS; i++) {
		if (whole[i].verdict == VERIFY_COMPLETE)
			continue;
		begin_result(s, report_statement_name(i), whole[i].verdict == VERIFY_GAP ?
		    "error" : "warning", whole[i].text);
		begin_location(&s->out, "", 0);
		end_location(&s->out, 0);
		json_out_object(&s->out, "properties");
		json_out_str(&s->out, "verdict", verify_verdict_word(whole[i].verdict));
		json_out_object_end(&s->out);
		json_out_object_end(&s->out);
	}
}

/* Files of a bundle for which its manifest alone speaks. */
static void
put_unvouched(struct sarif *s)
{
	const struct verify_result *r = s->report->verify;

	if (r->kind != VERIFY_BUNDLE)
		return;
	json_out_array(&s->out, "vouchedForByNobody");
	for (unsigned i = 0; i < r->unvouched_kept; i++)
		json_out_str(&s->out, NULL, r->unvouched[i]);
	json_out_array_end(&s->out);
	json_out_uint(&s->out, "vouchedForByNobodyCount", r->unvouched_count);
}

static void
put_properties(struct sarif *s)
{
	struct verify_statement whole[REPORT_STATEMENTS];
	struct json_out *o = &s->out;
	int i;

	report_whole(s->report, whole);
	json_out_object(o, "properties");
	json_out_str(o, "verdict", verify_verdict_word(report_verdict(s->report)));
	for (i = 0; i < REPORT_STATEMENTS; i++)
		json_out_str(o, report_statement_name(i), verify_verdict_word(whole[i].verdict));
	json_out_uint(o, "findingCount", s->report->verify->finding_count +
	    (s->report->scan != NULL ? s->report->scan->finding_count +
	    s->report->scan->advisory_count : 0));
	if (s->report->trust != NULL)
		json_out_str(o, "trustPolicySha256", s->report->trust);
	put_unvouched(s);
	json_out_object_end(o);
}

static void
put_run(struct sarif *s)
{
	const struct verify_result *r = s->report->verify;
	const struct scan_result *scan = s->report->scan;
	struct json_out *o = &s->out;
	unsigned i;

	json_out_object(o, NULL);
	put_driver(s);
	json_out_array(o, "invocations");
	json_out_object(o, NULL);
	json_out_bool(o, "executionSuccessful", true);
	json_out_int(o, "exitCode", (int)report_verdict(s->report));
	json_out_object_end(o);
	json_out_array_end(o);
	json_out_object(o, "originalUriBaseIds");
	json_out_object(o, "EVIDENCE");
	sarif_text(o, "description", "the bundle or the ledger that was verified");
	json_out_object_end(o);
	json_out_object_end(o);
	json_out_str(o, "columnKind", "utf16CodeUnits");
	json_out_array(o, "results");
	for (i = 0; i < r->findings; i++)
		put_finding(s, &r->finding[i]);
	for (i = 0; scan != NULL && i < scan->findings; i++)
		put_secret(s, &scan->finding[i]);
	if (is_silent(s->report))
		put_statements(s);
	json_out_array_end(o);
	put_properties(s);
	json_out_object_end(o);
}

int
report_sarif(const struct report *report, FILE *out)
{
	struct sarif *s = calloc(1, sizeof(*s));
	char *buf = malloc(ROOM);
	int len = -1;

	if (s == NULL || buf == NULL)
		goto out;
	s->report = report;
	collect_rules(s);
	json_out_begin(&s->out, buf, ROOM);
	json_out_object(&s->out, NULL);
	json_out_str(&s->out, "$schema", SCHEMA);
	json_out_str(&s->out, "version", "2.1.0");
	json_out_array(&s->out, "runs");
	put_run(s);
	json_out_array_end(&s->out);
	json_out_object_end(&s->out);
	if ((len = json_out_end(&s->out)) > 0) {
		fwrite(buf, 1, (size_t)len, out);
		putc('\n', out);
	}
out:
	free(buf);
	free(s);
	return len < 0 || ferror(out) ? -1 : 0;
}
