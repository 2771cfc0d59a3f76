#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/evidence/reader.h"
#include "ledger/report/report.h"
#include "ledger/scan/format/formats.h"

/* Nobody looked here, and the broker's signed word is that there is one. */
static bool
found_before(const struct report *report)
{
	return report->scan == NULL && report->verify->scans_found > 0 &&
	    report->verify->integrity.verdict == VERIFY_COMPLETE;
}

enum verify_verdict
report_verdict(const struct report *report)
{
	const struct scan_result *scan = report->scan;

	if (report->verify->verdict == VERIFY_GAP || found_before(report) ||
	    (scan != NULL && scan->verdict == SCAN_FOUND))
		return VERIFY_GAP;
	if (scan != NULL && scan->verdict == SCAN_INCOMPLETE)
		return VERIFY_NOT_ESTABLISHED;
	return report->verify->verdict;
}

const char *
report_statement_name(enum report_statement which)
{
	static const char *const names[] = { "integrity", "completeness", "anchoring",
	    "coverage", "secrets" };

	return names[which];
}

/* What was looked for besides formats, or who did so. */
static void
by_what(const struct scan_result *scan, char *buf, size_t cap)
{
	if (scan->secrets > 0)
		snprintf(buf, cap, " and %u known secret%s in all %s forms", scan->secrets,
		    scan->secrets == 1 ? "" : "s", scan->secrets == 1 ? "its" : "their");
	else if (scan->tags > 0)
		snprintf(buf, cap, " and the tags of the broker's secrets");
	else if (scan->sealed > 0)
		snprintf(buf, cap, "; for its secrets the broker looked before sealing, and %u "
		    "signed scan record%s none", scan->sealed, scan->sealed == 1 ? " says" :
		    "s say");
	else
		snprintf(buf, cap, " alone: no known secrets and no tags were there, "
		    "and no scan records of all of it");
}

static struct verify_statement
secrets_statement(const struct report *report)
{
	const struct scan_result *scan = report->scan;
	struct verify_statement s = { VERIFY_NOT_ESTABLISHED, "not scanned" };
	char what[160];

	if (found_before(report)) {
		s.verdict = VERIFY_GAP;
		snprintf(s.text, sizeof(s.text), "not scanned, but record %" PRIu64 ", the "
		    "broker's own signed scan record, says that a secret of its vault stands "
		    "in these records", report->verify->scan_found);
	}
	if (scan == NULL)
		return s;
	if (scan->verdict == SCAN_INCOMPLETE) {
		snprintf(s.text, sizeof(s.text), "not all could be scanned: %s%s",
		    scan->incomplete, scan->incomplete_count > 1 ? "; and more" : "");
		return s;
	}
	if (scan->verdict == SCAN_FOUND) {
		s.verdict = VERIFY_GAP;
		snprintf(s.text, sizeof(s.text), "%" PRIu64 " found%s", scan->finding_count,
		    scan->sealed_found > 0 ? "; the broker's own signed scan record says that a "
		    "secret of its vault stands in these records" : "");
		return s;
	}
	s.verdict = VERIFY_COMPLETE;
	by_what(scan, what, sizeof(what));
	snprintf(s.text, sizeof(s.text), "none found in %" PRIu64 " files, %" PRIu64
	    " bytes, by %u token formats (%s)%s", scan->files, scan->bytes,
	    scan_formats_count(), SCAN_TABLE_VERSION, what);
	return s;
}

void
report_whole(const struct report *report, struct verify_statement out[REPORT_STATEMENTS])
{
	out[REPORT_INTEGRITY] = report->verify->integrity;
	out[REPORT_COMPLETENESS] = report->verify->completeness;
	out[REPORT_ANCHORING] = report->verify->anchoring;
	out[REPORT_COVERAGE] = report->verify->coverage;
	out[REPORT_SECRETS] = secrets_statement(report);
}

/* ---- of each stream ---- */

static int
stream_named(const struct verify_result *r, const char *name, size_t len)
{
	unsigned i;

	for (i = 0; i < r->streams; i++)
		if (strlen(r->stream[i].name) == len && memcmp(r->stream[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

/* A finding of the scan that counts, in that line of that file. */
static unsigned
found_there(const struct scan_result *scan, const struct reader_line *line)
{
	unsigned i, n = 0;

	for (i = 0; i < scan->findings; i++)
		n += !scan->finding[i].advisory && !scan->finding[i].baseline &&
		    scan->finding[i].line == line->line &&
		    strcmp(scan->finding[i].path, line->file) == 0;
	return n;
}

/* What the scan found stands in lines: say whose records these are. */
static int
attribute(const struct report *report, int64_t *secrets)
{
	const struct verify_result *r = report->verify;
	struct reader *reader;
	struct reader_line line;
	char err[256];
	int n, at;

	if ((reader = reader_open(report->dir, err, sizeof(err))) == NULL)
		return -1;
	while ((n = reader_next(reader, &line, err, sizeof(err))) == 1) {
		if (line.rule != NULL || line.index >= r->size)
			continue;
		at = stream_named(r, line.record.stream.ptr, line.record.stream.len);
		if (at >= 0)
			secrets[at] += found_there(report->scan, &line);
	}
	reader_close(reader);
	return n;
}

int64_t *
report_stream_secrets(const struct report *report)
{
	const struct scan_result *scan = report->scan;
	int64_t *secrets = calloc(report->verify->streams + 1, sizeof(*secrets));
	bool known;
	unsigned i;

	if (secrets == NULL)
		return NULL;
	known = scan != NULL && scan->verdict != SCAN_INCOMPLETE &&
	    scan->finding_count + scan->advisory_count <= SCAN_FINDINGS_MAX;
	if (known && scan->finding_count > 0)
		known = attribute(report, secrets) == 0;
	for (i = 0; !known && i < report->verify->streams; i++)
		secrets[i] = -1;
	return secrets;
}

static bool
has_finding(const struct verify_result *r, const struct verify_stream *s)
{
	unsigned i;

	for (i = 0; i < r->findings; i++)
		if (r->finding[i].verdict == VERIFY_GAP &&
		    strcmp(r->finding[i].stream, s->name) == 0)
			return true;
	return false;
}

static void
say(struct verify_statement *s, enum verify_verdict verdict, const char *text)
{
	s->verdict = verdict;
	snprintf(s->text, sizeof(s->text), "%s", text);
}

void
report_stream(const struct report *report, unsigned stream, int64_t secrets,
    struct verify_statement out[REPORT_STATEMENTS])
{
	const struct verify_result *r = report->verify;
	const struct verify_stream *s = &r->stream[stream];

	memset(out, 0, REPORT_STATEMENTS * sizeof(*out));
	if (r->integrity.verdict == VERIFY_COMPLETE && s->last_index >= r->sealed)
		say(&out[REPORT_INTEGRITY], VERIFY_NOT_ESTABLISHED,
		    "its last records are not signed yet");
	else if (r->integrity.verdict != VERIFY_GAP)
		out[REPORT_INTEGRITY] = r->integrity;
	else if (has_finding(r, s))
		say(&out[REPORT_INTEGRITY], VERIFY_GAP, "see the findings");
	else
		say(&out[REPORT_INTEGRITY], VERIFY_NOT_ESTABLISHED, "the records do not give "
		    "the signed root; no finding names this stream");
	say(&out[REPORT_COMPLETENESS], s->verdict, s->why[0] != '\0' ? s->why :
	    "every record from its first to its last here follows the one before");
	out[REPORT_ANCHORING] = r->anchoring;
	if (s->last_index >= r->sealed)
		say(&out[REPORT_ANCHORING], VERIFY_NOT_ESTABLISHED,
		    "its last records lie behind every head that could be anchored");
	out[REPORT_COVERAGE] = r->coverage;
	if (secrets > 0) {
		out[REPORT_SECRETS].verdict = VERIFY_GAP;
		snprintf(out[REPORT_SECRETS].text, sizeof(out->text), "%" PRId64
		    " found in its records", secrets);
	} else if (secrets == 0) {
		say(&out[REPORT_SECRETS], VERIFY_COMPLETE, "none found in its records");
	} else {
		say(&out[REPORT_SECRETS], VERIFY_NOT_ESTABLISHED, report->scan == NULL ?
		    "not scanned" : "not told apart by stream");
	}
}
