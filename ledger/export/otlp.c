/* OTLP logs in its JSON encoding: opentelemetry-proto, logs/v1. 64-bit integers
 * are strings there. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger/export/export.h"
#include "ledger/record/json_out.h"

enum { INFO = 9, WARN = 13, ERROR = 17 };

const char otlp_end[] = "]}]}]}";

static void
attr_text(struct json_out *o, const char *key, const char *value)
{
	if (value[0] == '\0')
		return;
	json_out_object(o, NULL);
	json_out_str(o, "key", key);
	json_out_object(o, "value");
	json_out_str(o, "stringValue", value);
	json_out_object_end(o);
	json_out_object_end(o);
}

static void
attr_number(struct json_out *o, const char *key, int64_t value)
{
	char text[24];

	if (value < 0)
		return;
	snprintf(text, sizeof(text), "%" PRId64, value);
	json_out_object(o, NULL);
	json_out_str(o, "key", key);
	json_out_object(o, "value");
	json_out_str(o, "intValue", text);
	json_out_object_end(o);
	json_out_object_end(o);
}

static void
attr_leaf(struct json_out *o, const uint8_t leaf[TREE_HASH_LEN])
{
	char hex[65];
	unsigned i;

	for (i = 0; i < TREE_HASH_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", leaf[i]);
	attr_text(o, "countersign.leaf", hex);
}

static void
begin(struct json_out *o, int64_t time_us, int severity, const char *body, char *buf,
    size_t cap)
{
	const uint64_t us = (uint64_t)time_us;
	char time[32];

	/* 64 bits of nanoseconds end in 2554, records may say up to 9999 */
	snprintf(time, sizeof(time), "%" PRIu64, us <= UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX);
	json_out_begin(o, buf, cap);
	json_out_object(o, NULL);
	json_out_str(o, "timeUnixNano", time);
	json_out_str(o, "observedTimeUnixNano", time);
	json_out_int(o, "severityNumber", severity);
	json_out_str(o, "severityText", severity == INFO ? "INFO" : severity == WARN ? "WARN" :
	    "ERROR");
	json_out_object(o, "body");
	json_out_str(o, "stringValue", body);
	json_out_object_end(o);
	json_out_array(o, "attributes");
}

static int
end(struct json_out *o)
{
	json_out_array_end(o);
	json_out_object_end(o);
	return json_out_end(o);
}

static void
put_attributes(struct json_out *o, const struct export_item *item)
{
	const struct facts *f = item->facts;
	const struct { const char *key, *value; } texts[] = {
		{ "event.name", f->type }, { "countersign.stream", f->stream },
		{ "countersign.run", f->run }, { "countersign.decision", f->decision },
		{ "countersign.rule", f->rule }, { "countersign.reason", f->reason },
		{ "countersign.grant", f->grant }, { "countersign.secret", f->secret },
		{ "countersign.parent", f->parent }, { "countersign.policy", f->policy },
		{ "countersign.state", f->state }, { "error.type", f->error },
		{ "http.request.method", f->verb }, { "url.scheme", f->scheme },
		{ "server.address", f->host }, { "url.path", f->path },
		{ "countersign.by", f->by }, { "countersign.question", f->question },
		{ "countersign.good_for", f->good_for },
		{ "gen_ai.tool.name", f->tool }, { "gen_ai.agent.name", f->agent },
	};
	size_t i;

	attr_number(o, "countersign.index", (int64_t)item->index);
	attr_number(o, "countersign.seq", (int64_t)f->seq);
	attr_leaf(o, item->leaf);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		attr_text(o, texts[i].key, texts[i].value);
	attr_number(o, "server.port", f->port);
	attr_number(o, strcmp(f->type, "outcome") == 0 ? "http.response.status_code" :
	    "countersign.refusal_status", f->status);
	attr_number(o, "http.request.body.size", f->bytes_out);
	attr_number(o, "http.response.body.size", f->bytes_in);
	attr_number(o, "countersign.duration_us", f->duration_us);
	attr_number(o, "countersign.redactions", f->redactions);
	if (f->count > 1)
		attr_number(o, "countersign.count", (int64_t)f->count);
}

static int
severity_of(const struct facts *f)
{
	if (strcmp(f->type, "scan") == 0 && strcmp(f->event, "found") == 0)
		return ERROR;
	return facts_tells_loss(f) || f->kind == FACTS_REFUSED ||
	    f->kind == FACTS_FAILED ? WARN : INFO;
}

int
otlp_format(const struct export_item *item, char *buf, size_t cap)
{
	const struct facts *f = item->facts;
	char about[2048], body[2304];
	struct json_out o;
	bool dropped;

	if (item->broken != NULL) {
		begin(&o, 0, ERROR, "a line of the ledger is no record", buf, cap);
		attr_text(&o, "event.name", "telemetry_gap");
		attr_number(&o, "countersign.index", (int64_t)item->index);
		attr_text(&o, "countersign.rule", item->broken);
		return end(&o);
	}
	dropped = facts_tells_loss(f);
	facts_about(f, about, sizeof(about));
	snprintf(body, sizeof(body), "%s%s%s", f->type, about[0] != '\0' ? " " : "", about);
	begin(&o, f->time_us, severity_of(f), body, buf, cap);
	put_attributes(&o, item);
	if (dropped)
		attr_number(&o, "dropped", (int64_t)f->count);
	return end(&o);
}

int
otlp_gap(const struct export_item *item, char *buf, size_t cap)
{
	struct json_out o;

	if (item->missing == 0)
		return 0;
	begin(&o, item->facts->time_us, WARN, "telemetry_gap", buf, cap);
	attr_text(&o, "event.name", "telemetry_gap");
	attr_text(&o, "countersign.stream", item->facts->stream);
	attr_number(&o, "countersign.index", (int64_t)item->index);
	attr_number(&o, "dropped", (int64_t)item->missing);
	attr_number(&o, "dropped.from_seq", (int64_t)item->missing_from);
	return end(&o);
}

/* Up to the first logRecord; otlp_end closes what is open here. */
int
otlp_begin(const char *hostname, const char *origin, char *buf, size_t cap)
{
	struct json_out o;
	int n;

	json_out_begin(&o, buf, cap);
	json_out_object(&o, NULL);
	json_out_array(&o, "resourceLogs");
	json_out_object(&o, NULL);
	json_out_object(&o, "resource");
	json_out_array(&o, "attributes");
	attr_text(&o, "service.name", "countersign");
	attr_text(&o, "service.version", COUNTERSIGN_VERSION);
	if (hostname != NULL)
		attr_text(&o, "host.name", hostname);
	if (origin != NULL)
		attr_text(&o, "countersign.origin", origin);
	json_out_array_end(&o);
	json_out_object_end(&o);
	json_out_array(&o, "scopeLogs");
	json_out_object(&o, NULL);
	json_out_object(&o, "scope");
	json_out_str(&o, "name", "countersign.ledger");
	json_out_str(&o, "version", COUNTERSIGN_VERSION);
	json_out_object_end(&o);
	json_out_array(&o, "logRecords");
	n = json_out_end(&o);
	return n;
}
